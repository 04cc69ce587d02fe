"""The slots of the scan equal the panes of the session operator, for any rows and watermarks."""

from __future__ import annotations

from itertools import accumulate
from math import log2
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.pipeline.model import Accumulation, Trigger, TriggerKind, Windows
from spark_jobs.replay.sessions.session_scan import TIMINGS, ScannedRow, scan
from spark_jobs.semantics.panes import triggers
from spark_jobs.semantics.rows.instants import MAX, MIN
from spark_jobs.semantics.sessions.session_operator import SessionOperator
from spark_jobs.semantics.spec import WindowKind
from spark_jobs.semantics.windows.lateness import Lateness

TRIGGERS = [Trigger(), Trigger(TriggerKind.CONTINUOUS, interval_ms=4), Trigger(TriggerKind.COUNT, n=3)]

steps = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), min_size=1, max_size=40)


def scanned_rows(drawn: list[tuple[int, int]]) -> list[ScannedRow]:
    """Rows at drawn event times, each after a rise of the watermark by a drawn step; the first sees none."""
    watermarks = [None, *accumulate((rise for _, rise in drawn[1:]), initial=-1)][: len(drawn)]
    return [
        ScannedRow(7, i + 1, ts, watermark, 1000 + i)
        for i, ((ts, _), watermark) in enumerate(zip(drawn, watermarks, strict=True))
    ]


def declared(lateness: int, *, discarding: bool, trigger: Trigger) -> Windows:
    return Windows(
        kind=WindowKind.SESSION,
        gap_ms=10,
        allowed_lateness_ms=lateness,
        accumulation=Accumulation.DISCARDING if discarding else Accumulation.ACCUMULATING,
        trigger=trigger,
    )


def by_slots(
    rows: list[ScannedRow], lateness: int, *, discarding: bool, trigger: Trigger
) -> tuple[list[Any], dict[int, Any], list[Any]]:
    """Panes with their rows' ranks, whether a pane shows a row and it is late, the panes that no other goes on from."""
    scan_rows: list[tuple[Any, ...]] = list(scan(rows, declared(lateness, discarding=discarding, trigger=trigger)))
    slot_of = {rank: slot for _, rank, slot, *_ in scan_rows if rank is not None and slot is not None}
    panes, latest = [], []
    for _, rank, slot, first, following, start, end, index, row_us, row_watermark, timing, _, _ in scan_rows:
        if rank is not None or first is None:
            continue
        ranks = sorted(r for r, s in slot_of.items() if (s == slot if discarding else first <= s <= slot))
        panes.append((start, end, index, row_us, row_watermark, TIMINGS[timing].value, ranks))
        if following is None:
            latest.append((start, end, index))
    fates = {rank: (slot is not None, is_late) for _, rank, slot, *_, is_late in scan_rows if rank is not None}
    return sorted(panes, key=str), fates, sorted(latest)


def by_operator(
    rows: list[ScannedRow], lateness: int, *, discarding: bool, trigger: Trigger
) -> tuple[list[Any], dict[int, Any], list[Any]]:
    """The same from the operator, which holds the rows of every pane itself."""
    sessions = SessionOperator[str, int](
        10, allowed_lateness_ms=lateness, discarding=discarding, trigger=triggers.trigger(trigger)
    )
    panes, fates, fired_ranks = [], {}, set()
    latest: dict[Any, Any] = {}

    def note(pane: Any, late: ScannedRow | None) -> None:
        fired = (None, None) if late is None else (late.clock_us, pane.watermark)
        panes.append((*pane.window, pane.index, *fired, pane.timing.value, sorted(pane.rows)))
        fired_ranks.update(pane.rows)
        for window in pane.replaces:
            latest.pop(window, None)
        latest[pane.window] = (*pane.window, pane.index)

    for row in rows:
        watermark = MIN if row.watermark is None else row.watermark
        for pane in sessions.on_watermark(watermark) if watermark > sessions.watermark else ():
            note(pane, None)
        (verdict,) = sessions.on_row("k", row.ts, row.rank)
        fates[row.rank] = {Lateness.TOO_LATE: None, Lateness.ON_TIME: 0, Lateness.LATE: 1}[verdict.lateness]
        if verdict.pane is not None:
            note(verdict.pane, row)
    for pane in sessions.on_watermark(MAX):
        note(pane, None)
    fates_by_rank = {rank: (rank in fired_ranks, is_late) for rank, is_late in fates.items()}
    return sorted(panes, key=str), fates_by_rank, sorted(latest.values())


@pytest.mark.parametrize("discarding", [False, True])
@pytest.mark.parametrize("trigger", TRIGGERS)
@given(drawn=steps, lateness=st.integers(0, 40))
def test_slots_hold_the_rows_of_every_pane(
    *, discarding: bool, trigger: Trigger, drawn: list[tuple[int, int]], lateness: int
) -> None:
    rows = scanned_rows(drawn)
    how: dict[str, Any] = {"discarding": discarding, "trigger": trigger}
    assert by_slots(rows, lateness, **how) == by_operator(rows, lateness, **how)


@pytest.mark.parametrize("trigger", TRIGGERS)
@given(drawn=steps, lateness=st.integers(0, 40))
def test_rows_enter_each_chain_at_its_first_pane_with_them(
    *, trigger: Trigger, drawn: list[tuple[int, int]], lateness: int
) -> None:
    scan_rows: list[tuple[Any, ...]] = list(
        scan(scanned_rows(drawn), declared(lateness, discarding=False, trigger=trigger))
    )
    panes = [(first, slot) for _, _, slot, first, *_ in scan_rows if first is not None]
    slots = {slot for _, rank, slot, *_ in scan_rows if rank is not None and slot is not None}
    entries = [(slot, at) for _, rank, slot, first, at, *_ in scan_rows if rank is None and first is None]
    expected: dict[tuple[int, int], int] = {}
    for first, slot in sorted(panes):
        for contained in slots & set(range(first, slot + 1)):
            expected.setdefault((contained, first), slot)
    of_others = {(contained, at) for (contained, _), at in expected.items() if at != contained}
    assert sorted(entries) == sorted(of_others)
    assert len(entries) <= len(slots) * log2(len(panes) or 1)


def test_bridge_over_two_fired_sessions_continues_both() -> None:
    rows = [
        ScannedRow(7, 1, 0, None, 1),
        ScannedRow(7, 2, 20, 5, 2),
        ScannedRow(7, 3, 10, 29, 3),
    ]
    scan_rows = list(scan(rows, declared(50, discarding=False, trigger=Trigger())))
    # component, rank, slot, first_slot, next_slot, start, end, index, clock and watermark of the row, timing, fires,
    # is_late
    assert scan_rows == [
        (7, None, 1, 1, 2, 0, 10, 0, None, None, 1, 9, None),
        (7, 1, 1, *[None] * 9, 0),
        (7, None, 0, 0, 2, 20, 30, 0, None, None, 1, 29, None),
        (7, 2, 0, *[None] * 9, 0),
        (7, None, 2, 0, None, 0, 30, 0, 3, 29, 2, None, None),
        (7, 3, 2, *[None] * 9, 1),
        # The rows of slot 1 enter the chain of the slots 0 and 2.
        (7, None, 1, None, 2, *[None] * 8),
    ]
