"""A joining job is a streaming job with two inputs: it runs sources and their watermarks into an interval join.

    one source      both inputs are rows of one source, split behind it; its watermark is that of both
    two sources     each has partitions, generators and idleness of its own; the join has the minimum over the sources
                    that are not idle, merged at once as partitions are merged

Rows of both inputs come in one arrival order. Emissions are of one clock, left before right. The end of the input is
the watermark MAX of every source. Rules 5, 17, 29, 39.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spark_jobs.semantics.clock import ArrivalClock
from spark_jobs.semantics.emission import emission_clock
from spark_jobs.semantics.instants import MAX
from spark_jobs.semantics.interval_join import IntervalJoin, JoinBounds, Pair, Side
from spark_jobs.semantics.merge import WatermarkMerge
from spark_jobs.semantics.partitions import SourcePartitions
from spark_jobs.semantics.source_output import SourceOutput
from spark_jobs.semantics.strategy import follows_clock, generator
from spark_jobs.semantics.watermark import WatermarkOutput

if TYPE_CHECKING:
    from spark_jobs.pipeline.model import Emit, Watermark

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Arrival:
    """A row of one input; `clock_us` is its arrival, in microseconds."""

    side: Side
    partition: str
    key: str
    ts: int
    clock_us: int
    row: Row


@dataclass(frozen=True)
class JoinSource:
    """How a source's watermark moves, and its partitions that exist from the beginning; the others join."""

    watermark: Watermark
    declared: tuple[str, ...] = ()


@dataclass
class Joined:
    """What came of a join, in order; each with the number of rows that had arrived."""

    pairs: list[tuple[int, Pair[Row]]] = field(default_factory=list)
    late: list[Arrival] = field(default_factory=list)
    watermarks: list[tuple[int, int]] = field(default_factory=list)


def join(
    arrivals: Iterable[Arrival],
    bounds: JoinBounds,
    emit: Emit,
    left: JoinSource,
    right: JoinSource | None = None,
    *,
    until_us: int | None = None,
) -> Joined:
    """Join rows in arrival order; without `right` both inputs are one source's.

    `until_us` is how far the arrival clock went, if further than the last row. Raises ValueError for what the
    strategies or the emission do not allow.
    """
    job = _JoiningJob(bounds, left, right)
    every_tick = any(follows_clock(source.watermark) for source in (left, right) if source is not None)
    emissions = emission_clock(emit, every_tick=every_tick)
    for arrival in arrivals:
        job.emit(emissions.before(arrival.clock_us))
        job.process(arrival)
        job.emit(emissions.after(arrival.clock_us))
    job.emit(emissions.at_end(until_us))
    job.end()
    return job.joined


class _JoiningJob:
    def __init__(self, bounds: JoinBounds, left: JoinSource, right: JoinSource | None) -> None:
        self.joined = Joined()
        self._arrived = 0
        self._clock = ArrivalClock()
        self._join: IntervalJoin[str, Row] = IntervalJoin(bounds)
        self._inputs = WatermarkMerge(self)
        for side in Side:
            self._inputs.register(side.value)
        if right is None:
            both = _Source(left, self._clock, _Both(tuple(self._inputs.immediate(side.value) for side in Side)))
            self._sources = {Side.LEFT: both, Side.RIGHT: both}
        else:
            self._sources = {
                Side.LEFT: _Source(left, self._clock, self._inputs.immediate(Side.LEFT.value)),
                Side.RIGHT: _Source(right, self._clock, self._inputs.immediate(Side.RIGHT.value)),
            }

    def process(self, arrival: Arrival) -> None:
        self._clock.advance_to(arrival.clock_us)
        self._arrived += 1
        found = self._join.on_row(arrival.side, arrival.key, arrival.ts, arrival.row)
        self.joined.pairs += [(self._arrived, pair) for pair in found.pairs]
        if found.is_late:
            self.joined.late.append(arrival)
        self._sources[arrival.side].on_event(arrival)

    def emit(self, clocks_us: Iterable[int]) -> None:
        for clock_us in clocks_us:
            self._clock.advance_to(clock_us)
            for source in dict.fromkeys(self._sources.values()):
                source.on_periodic_emit()

    def end(self) -> None:
        for side in Side:
            self._inputs.immediate(side.value).emit_watermark(MAX)

    def emit_watermark(self, watermark: int) -> None:
        self.joined.watermarks.append((self._arrived, watermark))
        self._join.on_watermark(watermark)

    def mark_idle(self) -> None:
        """Go on: what has arrived may join as ever."""

    def mark_active(self) -> None:
        """Go on."""


class _Source:
    def __init__(self, declared: JoinSource, clock: ArrivalClock, downstream: WatermarkOutput) -> None:
        output = SourceOutput(downstream)
        self._partitions = SourcePartitions(
            lambda: generator(declared.watermark, clock), declared=declared.declared, output=output.partitions
        )
        self._main, self._main_output = generator(declared.watermark, clock), output.main

    def on_event(self, arrival: Arrival) -> None:
        self._partitions.on_event(arrival.partition, arrival.row, arrival.ts)

    def on_periodic_emit(self) -> None:
        self._partitions.on_periodic_emit()
        self._main.on_periodic_emit(self._main_output)


@dataclass(frozen=True)
class _Both:
    """Both inputs of the join, told the same."""

    inputs: tuple[WatermarkOutput, ...]

    def emit_watermark(self, watermark: int) -> None:
        for one in self.inputs:
            one.emit_watermark(watermark)

    def mark_idle(self) -> None:
        for one in self.inputs:
            one.mark_idle()

    def mark_active(self) -> None:
        for one in self.inputs:
            one.mark_active()
