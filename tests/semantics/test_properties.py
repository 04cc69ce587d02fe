"""Properties of every replay: rows are conserved, watermarks never fall, what is fired on time stays as it was."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spark_jobs.pipeline.model import (
    Accumulation,
    EndOfInput,
    Order,
    Pipeline,
)
from spark_jobs.semantics.reference import replay
from tests.support.drawn_streams import Rows, pipelines, streams


def group(pane: dict[str, Any]) -> tuple[Any, ...]:
    return pane.get("key"), pane["window_start"]


@settings(max_examples=300, deadline=None)
@given(rows=streams(), pipeline=pipelines)
def test_rows_are_conserved(rows: Rows, pipeline: Pipeline) -> None:
    outcome = replay(rows, pipeline)
    counts = outcome.counts
    assert counts["rows_read"] == len(rows)
    fates = ("invalid", "filtered", "on_time", "late", "too_late")
    assert counts["rows_read"] == sum(counts[fate] for fate in fates)
    assert counts["invalid"] == len(outcome.invalid_events) == sum(row["ts"] is None for row in rows)
    assert counts["filtered"] == sum(row["ts"] is not None and not row["kept"] for row in rows)
    assert counts["too_late"] == len(outcome.late_events)
    panes = [pane for pane in outcome.panes if not pane.get("is_retraction")]
    assert counts["panes"] == len(panes)
    assert counts["late"] == counts["late_panes"] == sum(pane["timing"] == "late" for pane in panes)
    assert counts["windows"] == len({group(pane) for pane in panes})
    if pipeline.replay.end_of_input is EndOfInput.CLOSE:
        on_time = [pane for pane in panes if pane["timing"] == "on_time"]
        assert counts["on_time"] == sum(pane["row_count"] for pane in on_time)


@settings(max_examples=300, deadline=None)
@given(rows=streams(), pipeline=pipelines)
def test_every_kept_row_is_in_a_pane_once_or_too_late(rows: Rows, pipeline: Pipeline) -> None:
    assume(pipeline.replay.end_of_input is EndOfInput.CLOSE)
    closing = replay(rows, pipeline)
    id_counts = Counter(row["id"] for row in closing.late_events)
    if pipeline.windows.accumulation is Accumulation.DISCARDING:
        id_counts.update(number for pane in closing.panes for number in pane["ids"])
    else:
        latest = {group(pane): pane["ids"] for pane in closing.panes}
        id_counts.update(number for ids in latest.values() for number in ids)
    assert id_counts == Counter(row["id"] for row in rows if row["ts"] is not None and row["kept"])


@settings(max_examples=300, deadline=None)
@given(rows=streams(), pipeline=pipelines)
def test_the_watermark_never_falls(rows: Rows, pipeline: Pipeline) -> None:
    outcome = replay(rows, pipeline)
    for happenings in (outcome.panes, outcome.late_events):
        watermarks = [happening["watermark"] for happening in happenings]
        assert watermarks == sorted(watermarks)
    fired = [(w["fires_at"], w["watermark_at_fire"]) for w in outcome.watermarks if w["fires_at"] is not None]
    assert fired == sorted(fired)
    assert all(w["fires_at"] <= w["closes_at"] for w in outcome.watermarks if w["closes_at"] is not None)


@settings(max_examples=300, deadline=None)
@given(rows=streams(), pipeline=pipelines)
def test_no_pane_fires_before_its_watermark_and_indices_have_no_gap(rows: Rows, pipeline: Pipeline) -> None:
    firings: Counter[tuple[Any, ...]] = Counter()
    latest: dict[tuple[Any, ...], Any] = {}
    for pane in replay(rows, pipeline).panes:
        assert (pane["window_end"] - pane["watermark"]).total_seconds() <= 0.001
        if pane.get("is_retraction"):
            assert latest.pop(group(pane)) == (pane["pane_index"], pane["ids"])
            continue
        if pipeline.windows.accumulation is Accumulation.RETRACTING:
            assert group(pane) not in latest
            latest[group(pane)] = (pane["pane_index"], pane["ids"])
        assert pane["pane_index"] == firings[group(pane)]
        assert pane["timing"] == "late" or pane["pane_index"] == 0
        firings[group(pane)] += 1


@settings(max_examples=300, deadline=None)
@given(rows=streams(), pipeline=pipelines, cut=st.integers(0, 60))
def test_fired_panes_do_not_change_with_later_rows(rows: Rows, pipeline: Pipeline, cut: int) -> None:
    assume(pipeline.replay.order is Order.ARRIVAL and pipeline.replay.end_of_input is EndOfInput.KEEP_OPEN)
    # Rows of one arrival are ordered by their columns: a cut between two of them would not be one in arrival order.
    earlier, everything = replay([r for r in rows if r["arrival"] < cut], pipeline), replay(rows, pipeline)
    assert everything.panes[: len(earlier.panes)] == earlier.panes
    assert everything.late_events[: len(earlier.late_events)] == earlier.late_events
