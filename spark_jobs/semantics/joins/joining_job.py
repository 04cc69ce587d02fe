"""A joining job is a streaming job with two inputs: it runs sources and their watermarks into a join or co-group.

    one source      both inputs are rows of one source, split behind it; its watermark is that of both
    two sources     each has its own partitions, generators and idleness; the join has the minimum over the sources
                    that are not idle

A join by interval or as of merges two sources as a source merges partitions. A co-group is one input behind a union of
both sources, whose channels are merged by a valve (rules 35-38). Rows of both inputs come in one arrival order.
Emissions have one clock, left before right.

At the end of the input every source emits the watermark MAX. For a join the left source does so first, and for a moment
the join has the watermark of the right one. An as-of join may then emit its last rows in two steps. For a co-group both
do at once. Rules 5, 17, 29, 35-39.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from spark_jobs.semantics.joins.as_of_join import AsOfJoin, Match
from spark_jobs.semantics.joins.interval_join import IntervalJoin, JoinBounds, Pair, Side
from spark_jobs.semantics.joins.window_join import CoGroup, Group
from spark_jobs.semantics.rows.clock import ArrivalClock
from spark_jobs.semantics.rows.emission import emission_clock
from spark_jobs.semantics.rows.instants import MAX
from spark_jobs.semantics.spec import Emit, Watermark
from spark_jobs.semantics.watermark.generators import WatermarkOutput
from spark_jobs.semantics.watermark.source import WatermarkedSource
from spark_jobs.semantics.watermark.union import Reader, inputs, union
from spark_jobs.semantics.windows.lateness import Lateness

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
    """The results of a join, in order; each with the number of rows that had arrived."""

    pairs: list[tuple[int, Pair[Row]]] = field(default_factory=list)
    late: list[Arrival] = field(default_factory=list)
    watermarks: list[tuple[int, int]] = field(default_factory=list)


class Fired(NamedTuple):
    """A group, the number of rows that had arrived, and the clock."""

    arrived: int
    group: Group[str, Row]
    clock_us: int


class Judged(NamedTuple):
    """A row of a co-group, the watermark before it, and its fate; None if it has no window (rule 53)."""

    arrival: Arrival
    watermark: int
    fate: Lateness | None


class Emitted(NamedTuple):
    """A left row with its version, the number of rows that had arrived, the clock, and the watermark.

    At the end of the input the watermark is MAX, also where the end of the left input alone emits the row.
    """

    arrived: int
    match: Match[Arrival]
    clock_us: int
    watermark: int


class LateArrival(NamedTuple):
    """A late row of an as-of join, and the watermark before it."""

    arrival: Arrival
    watermark: int


@dataclass
class Versioned:
    """The results of an as-of join, in order; watermarks with the number of rows that had arrived.

    `emitted` has every left row that the watermark has passed, with or without a version.
    """

    emitted: list[Emitted] = field(default_factory=list)
    late: list[LateArrival] = field(default_factory=list)
    watermarks: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class Gathered:
    """The results of a co-group, in order; watermarks with the number of rows that had arrived."""

    groups: list[Fired] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)
    watermarks: list[tuple[int, int]] = field(default_factory=list)

    @property
    def late(self) -> list[Judged]:
        """The rows that no window took."""
        return [judged for judged in self.judged if judged.fate is Lateness.TOO_LATE]


def join(
    arrivals: Iterable[Arrival],
    bounds: JoinBounds,
    emit: Emit,
    left: JoinSource,
    right: JoinSource | None = None,
    *,
    until_us: int | None = None,
) -> Joined:
    """Join rows in arrival order; without `right` both inputs are rows of one source.

    `until_us` is how far the arrival clock went, if further than the last row. Raises ValueError for a strategy or an
    emission that cannot be made.
    """
    operator = _Joining(bounds)
    job = _JoiningJob(operator, left, right, inputs)
    job.run(arrivals, emit, until_us)
    job.end_each()
    return operator.joined


def join_as_of(
    arrivals: Iterable[Arrival],
    emit: Emit,
    left: JoinSource,
    right: JoinSource | None = None,
    *,
    until_us: int | None = None,
    closes: bool = True,
) -> Versioned:
    """Join each left row with its version, in arrival order; without `right` both inputs are rows of one source.

    `closes`: the input ends, at `until_us` or with the last row, and emits all left rows that wait. Other arguments and
    what is raised are those of `join`.
    """
    clock = ArrivalClock()
    operator = _Versioning(clock)
    job = _JoiningJob(operator, left, right, inputs, clock)
    job.run(arrivals, emit, until_us)
    if closes:
        operator.has_ended = True
        if until_us is not None:
            clock.advance_to(max(clock.now_us, until_us))
        job.end_each()
    return operator.versioned


def gather(
    arrivals: Iterable[Arrival],
    operator: CoGroup[str, Row],
    emit: Emit,
    left: JoinSource,
    right: JoinSource | None = None,
    *,
    until_us: int | None = None,
) -> Gathered:
    """Co-group rows in arrival order; arguments are those of `join`."""
    clock = ArrivalClock()
    gathering = _Gathering(operator, clock)
    job = _JoiningJob(gathering, left, right, union, clock)
    job.run(arrivals, emit, until_us)
    job.emit_watermark(MAX)
    return gathering.gathered


class _Operator(Protocol):
    """The operator of a job: it takes rows and watermarks, each with the number of rows that have arrived."""

    def on_row(self, arrived: int, arrival: Arrival) -> None: ...

    def on_watermark(self, arrived: int, watermark: int) -> None: ...


class _Joining:
    def __init__(self, bounds: JoinBounds) -> None:
        self.joined = Joined()
        self._join: IntervalJoin[str, Row] = IntervalJoin(bounds)

    def on_row(self, arrived: int, arrival: Arrival) -> None:
        outcome = self._join.on_row(arrival.side, arrival.key, arrival.ts, arrival.row)
        self.joined.pairs += [(arrived, pair) for pair in outcome.pairs]
        if outcome.is_late:
            self.joined.late.append(arrival)

    def on_watermark(self, arrived: int, watermark: int) -> None:
        self.joined.watermarks.append((arrived, watermark))
        self._join.on_watermark(watermark)


class _Versioning:
    def __init__(self, clock: ArrivalClock) -> None:
        self.versioned = Versioned()
        self.has_ended = False
        self._clock = clock
        self._join: AsOfJoin[str, Arrival] = AsOfJoin()

    def on_row(self, arrived: int, arrival: Arrival) -> None:
        if self._join.on_row(arrival.side, arrival.key, arrival.ts, arrival):
            self.versioned.late.append(LateArrival(arrival, self._join.watermark))

    def on_watermark(self, arrived: int, watermark: int) -> None:
        self.versioned.watermarks.append((arrived, watermark))
        at = MAX if self.has_ended else watermark
        self.versioned.emitted += [
            Emitted(arrived, match, self._clock.now_us, at) for match in self._join.on_watermark(watermark)
        ]


class _Gathering:
    def __init__(self, operator: CoGroup[str, Row], clock: ArrivalClock) -> None:
        self.gathered = Gathered()
        self._operator, self._clock = operator, clock

    def on_row(self, arrived: int, arrival: Arrival) -> None:
        watermark = self._operator.watermark
        outcome = self._operator.on_row(arrival.side, arrival.key, arrival.ts, arrival.row)
        self._fired(arrived, outcome.groups)
        self.gathered.judged.append(Judged(arrival, watermark, outcome.fate))

    def on_watermark(self, arrived: int, watermark: int) -> None:
        self.gathered.watermarks.append((arrived, watermark))
        self._fired(arrived, self._operator.on_watermark(watermark))

    def _fired(self, arrived: int, groups: Iterable[Group[str, Row]]) -> None:
        self.gathered.groups += [Fired(arrived, group, self._clock.now_us) for group in groups]


class _JoiningJob:
    def __init__(
        self,
        operator: _Operator,
        left: JoinSource,
        right: JoinSource | None,
        reader: Reader,
        clock: ArrivalClock | None = None,
    ) -> None:
        self._operator = operator
        self._arrived = 0
        self._clock = ArrivalClock() if clock is None else clock
        self._channels = reader(len(Side), self)
        if right is None:
            shared = self._source(left, _BothInputs(self._channels))
            self._sources = {Side.LEFT: shared, Side.RIGHT: shared}
        else:
            declared = zip(Side, (left, right), self._channels, strict=True)
            self._sources = {side: self._source(source, channel) for side, source, channel in declared}
        sources = (left,) if right is None else (left, right)
        self._every_tick = any(source.watermark.may_move_without_rows for source in sources)

    def run(self, arrivals: Iterable[Arrival], emit: Emit, until_us: int | None) -> None:
        """Process the rows, which are in arrival order, and the emissions until `until_us` or the last row."""
        emissions = emission_clock(emit, every_tick=self._every_tick)
        for arrival in arrivals:
            self.emit(emissions.before(arrival.clock_us))
            self.process(arrival)
            self.emit(emissions.after(arrival.clock_us))
        self.emit(emissions.at_end(until_us))

    def process(self, arrival: Arrival) -> None:
        self._clock.advance_to(arrival.clock_us)
        self._arrived += 1
        self._operator.on_row(self._arrived, arrival)
        self._sources[arrival.side].on_event(arrival.partition, arrival.row, arrival.ts)

    def _source(self, declared: JoinSource, downstream: WatermarkOutput) -> WatermarkedSource:
        return WatermarkedSource(declared.watermark, self._clock, declared.declared, downstream)

    def emit(self, clocks_us: Iterable[int]) -> None:
        for clock_us in clocks_us:
            self._clock.advance_to(clock_us)
            for source in dict.fromkeys(self._sources.values()):
                source.on_periodic_emit()

    def end_each(self) -> None:
        for channel in self._channels:
            channel.emit_watermark(MAX)

    def emit_watermark(self, watermark: int) -> None:
        self._operator.on_watermark(self._arrived, watermark)

    def mark_idle(self) -> None:
        """Do nothing: rows join as before."""

    def mark_active(self) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class _BothInputs:
    """Both inputs of the join; each gets every watermark."""

    inputs: Sequence[WatermarkOutput]

    def emit_watermark(self, watermark: int) -> None:
        for channel in self.inputs:
            channel.emit_watermark(watermark)

    def mark_idle(self) -> None:
        for channel in self.inputs:
            channel.mark_idle()

    def mark_active(self) -> None:
        for channel in self.inputs:
            channel.mark_active()
