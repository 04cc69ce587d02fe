"""Rounds: partitions are read by offset, side by side, at clocks that are made up; who is far ahead waits."""

from __future__ import annotations

import random
from typing import Any

import pytest

from spark_jobs.pipeline.model import Alignment, Order, Pipeline
from spark_jobs.semantics.reference import replay
from spark_jobs.semantics.rows.instants import MIN, table_time
from spark_jobs.semantics.watermark.rounds import simulated
from tests.support.rows_by_hand import Change, at, partitioned


def row(p: str, offset: int | None, happened: float) -> dict[str, Any]:
    return {"id": f"{p}{offset}", "p": p, "offset": offset, "happened": at(happened)}


def by_offset(changed: Change, rows_per_round: int = 1, *, drift_s: float | None = None, **source: Any) -> Pipeline:
    alignment = None if drift_s is None else Alignment(round(drift_s * 1000), update_interval_ms=500)
    return changed(
        source={"offset": "offset", "arrival_time": None, **partitioned("p"), **source},
        replay={"order": Order.OFFSET, "rows_per_round": rows_per_round},
        watermark={"alignment": alignment, "out_of_orderness_ms": 0},
        windows={"allowed_lateness_ms": 0},
    )


def read(rows: list[dict[str, Any]], pipeline: Pipeline) -> list[str]:
    """The ids in the order in which they are read: all in one window, which fires at the end."""
    [pane] = replay(rows, pipeline).panes
    ids: list[str] = pane["ids"]
    return ids


ROWS = [row("b", 1, 4), row("a", 9, 3), row("a", 2, 1), row("b", 0, 2), row("a", 3, 2)]


def test_partitions_read_by_offset_side_by_side(changed: Change) -> None:
    assert read(ROWS, by_offset(changed)) == ["a2", "b0", "a3", "b1", "a9"]
    assert read(ROWS, by_offset(changed, 2)) == ["a2", "a3", "b0", "b1", "a9"]


def test_a_partition_ahead_waits_until_the_slowest_is_near(changed: Change) -> None:
    rows = [*(row("slow", i, i) for i in range(4)), *(row("fast", i, 3 + 2 * i) for i in range(3))]
    assert read(rows, by_offset(changed)) == ["fast0", "slow0", "fast1", "slow1", "fast2", "slow2", "slow3"]
    aligned = by_offset(changed, drift_s=2)
    # Ahead by 3 s after its first row, it waits for the slow one to get to 1 s, and once more for its end.
    assert read(rows, aligned) == ["fast0", "slow0", "slow1", "fast1", "slow2", "slow3", "fast2"]
    fast, slow = replay(rows, aligned).drift
    assert fast == {"source_partition": "fast", "max_drift_ms": 3_000, "paused_rounds": 2, "rounds": 5}
    assert (slow["max_drift_ms"], slow["paused_rounds"], slow["rounds"]) == (0, 0, 4)


def test_rounds_are_the_clock_from_one_interval_on(changed: Change) -> None:
    rows = [row("a", 0, 1), row("a", 1, 12), row("a", 2, 3)]
    outcome = replay(rows, by_offset(changed))
    assert [pane["fired_at"] for pane in outcome.panes] == [table_time(2_000), table_time(3_000)]
    [late] = outcome.late_events
    assert (late["id"], late["arrival_time"]) == ("a2", None)
    aligned = replay(rows, by_offset(changed, drift_s=100))
    assert [pane["fired_at"] for pane in aligned.panes] == [table_time(1_000), table_time(1_500)]


def test_a_row_without_an_offset_is_invalid(changed: Change) -> None:
    [invalid] = replay([row("a", 0, 1), row("a", None, 2)], by_offset(changed)).invalid_events
    assert (invalid["id"], invalid["reason"]) == ("aNone", "offset_missing")


@pytest.mark.parametrize("offset", ["p", "happened"])
def test_an_offset_is_an_integer(changed: Change, offset: str) -> None:
    with pytest.raises(ValueError, match=r"source\.offset|reference does not read|SQLite"):
        replay(ROWS, by_offset(changed, offset=f"coalesce({offset}, 'x')"))


def test_offsets_are_declared(changed: Change) -> None:
    with pytest.raises(ValueError, match=r"found no source\.offset"):
        replay(ROWS, by_offset(changed, offset=None))


@pytest.mark.parametrize("seed", range(50))
def test_every_chunk_is_read_once_and_in_order(seed: int) -> None:
    draw = random.Random(seed)
    chunks = {p: [draw.choice([MIN, draw.randrange(100)]) for _ in range(draw.randrange(9))] for p in "abc"}
    reads, drift = simulated(chunks, draw.choice([None, 0, 10]))
    for partition, times in chunks.items():
        assert [chunk for p, chunk, _ in reads if p == partition] == list(range(len(times)))
    assert [number for *_, number in reads] == sorted(number for *_, number in reads)
    waited = {entry.source_partition: entry.rounds - entry.paused_rounds for entry in drift}
    assert waited == {partition: len(times) for partition, times in chunks.items() if times}


def test_chunk_with_a_lower_watermark_does_not_lower_its_partition() -> None:
    # Behind its second chunk the fast one is still at 5: the slow one, at 4, does not wait for it.
    read, _ = simulated({"fast": [5, 1, 9], "slow": [1, 4, 4, 6]}, 2)
    rounds = {number: {(p, chunk) for p, chunk, n in read if n == number} for *_, number in read}
    assert rounds == {
        1: {("fast", 0), ("slow", 0)},
        2: {("slow", 1)},
        3: {("fast", 1), ("slow", 2)},
        4: {("fast", 2), ("slow", 3)},
    }
