"""A joining job: the watermark of two sources is that of the slower one, and a source is more than its partitions."""

from __future__ import annotations

import pytest

from spark_jobs.pipeline.model import Emit, EmitKind, Strategy, Watermark
from spark_jobs.semantics.joins.interval_join import JoinBounds, Side
from spark_jobs.semantics.joins.joining_job import Arrival, Joined, JoinSource, join, join_as_of
from spark_jobs.semantics.rows.instants import MAX
from spark_jobs.semantics.watermark.source_output import SourceOutput
from tests.support.outputs import Output

LEFT, RIGHT = Side.LEFT, Side.RIGHT
PER_EVENT = Emit(EmitKind.PER_EVENT)
NEAR = JoinBounds(-5, 5)


def arrivals(*rows: tuple[Side, int]) -> list[Arrival]:
    """Rows of one key that arrive a millisecond apart."""
    return [Arrival(side, "p", "k", ts, place * 1000, {"ts": ts}) for place, (side, ts) in enumerate(rows)]


def idle(output: Output) -> bool:
    """Return whether `output` is idle now; mypy takes an attribute, not a call, to stay as the last assert left it."""
    return output.is_idle


def times(joined: Joined) -> list[tuple[int, int]]:
    return [(pair.left_ts, pair.right_ts) for _, pair in joined.pairs]


def test_a_row_behind_its_own_source_is_not_late_while_the_other_lags() -> None:
    rows = arrivals((LEFT, 100), (LEFT, 1), (RIGHT, 2))
    two = join(rows, NEAR, PER_EVENT, JoinSource(Watermark()), JoinSource(Watermark()))
    assert times(two) == [(1, 2)]
    assert two.late == []
    joined = join(rows, NEAR, PER_EVENT, JoinSource(Watermark()))
    assert times(joined) == []
    assert [arrival.ts for arrival in joined.late] == [1, 2]


@pytest.mark.parametrize("until_us", [None, 500_000])
def test_the_end_of_the_input_emits_rows_that_wait(until_us: int | None) -> None:
    rows = arrivals((RIGHT, 5), (LEFT, 100))
    every = Emit(EmitKind.EVERY, interval_ms=1000)
    joined = join_as_of(rows, every, JoinSource(Watermark()), until_us=until_us)
    assert [(each.match.right_ts, each.clock_us, each.watermark) for each in joined.emitted] == [
        (5, 1000 if until_us is None else until_us, MAX)
    ]
    assert join_as_of(rows, every, JoinSource(Watermark()), until_us=until_us, closes=False).emitted == []


def test_the_watermark_is_that_of_the_slower_source() -> None:
    rows = arrivals((LEFT, 100), (RIGHT, 50), (RIGHT, 120))
    joined = join(rows, NEAR, PER_EVENT, JoinSource(Watermark()), JoinSource(Watermark()))
    assert joined.watermarks == [(2, 49), (3, 99), (3, 119), (3, MAX)]


def test_source_without_rows_becomes_idle_and_the_other_advances() -> None:
    patient = JoinSource(Watermark(idle_timeout_ms=1))
    rows = arrivals((LEFT, 100), (LEFT, 200), (LEFT, 300))
    assert join(rows, NEAR, PER_EVENT, JoinSource(Watermark()), patient).watermarks == [(3, 299), (3, MAX)]


def test_source_that_follows_the_clock_emits_before_its_first_row() -> None:
    lagging = JoinSource(Watermark(Strategy.TIME_LAG, lag_ms=1))
    joined = join(arrivals((LEFT, 1), (LEFT, 2)), NEAR, PER_EVENT, lagging, lagging)
    assert joined.watermarks == [(1, -1), (2, 0), (2, MAX)]


def test_source_is_idle_if_its_main_output_is_and_no_partition_ever_emitted() -> None:
    downstream = Output()
    source = SourceOutput(downstream)
    source.main.mark_idle()
    assert idle(downstream)
    source.partitions.emit_watermark(5)
    assert not idle(downstream)
    source.main.mark_idle()
    assert not idle(downstream)
    source.partitions.mark_idle()
    assert idle(downstream)


def test_a_source_stays_idle_until_a_higher_watermark() -> None:
    downstream = Output()
    source = SourceOutput(downstream)
    source.partitions.emit_watermark(5)
    source.partitions.mark_idle()
    source.partitions.emit_watermark(5)
    assert (downstream, downstream.is_idle) == ([5], True)
    source.partitions.mark_active()
    assert not downstream.is_idle


def test_source_is_not_idle_while_its_main_output_is_active() -> None:
    downstream = Output()
    source = SourceOutput(downstream)
    source.main.emit_watermark(5)
    source.partitions.mark_idle()
    assert not idle(downstream)
    source.main.mark_idle()
    assert idle(downstream)
