"""A pipeline: what is read, in which order it arrived, how its watermark moves, which windows it fills.

Frozen data, valid from the moment it exists. `load` makes it from a pipeline file. All durations are
whole milliseconds and carry `_ms` in their names; all intervals are half-open.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from spark_jobs import __version__

#: Longer than all times that a table can hold are apart; sums with one of those fit into 64 bits.
FOREVER_MS = 2**61


class Order(StrEnum):
    """What a table's arrival order is (semantics page, B2)."""

    ARRIVAL = "arrival"
    COMMIT = "commit"
    EVENT_TIME = "event_time"
    OFFSET = "offset"


class Mode(StrEnum):
    """Whether a run tells what the job said, or besides it what all rows say, as if none had been too late."""

    FAITHFUL = "faithful"
    COMPLETE = "complete"


class EndOfInput(StrEnum):
    """Whether the end of a bounded replay counts as the end of time (rule 5) or as a pause."""

    CLOSE = "close"
    KEEP_OPEN = "keep_open"


class Placement(StrEnum):
    """Whether rows that `where` drops move the watermark."""

    SOURCE = "source"
    AFTER_WHERE = "after_where"


class Strategy(StrEnum):
    """How a source partition's watermark follows its rows (rules 10-15)."""

    BOUNDED_OUT_OF_ORDERNESS = "bounded_out_of_orderness"
    MONOTONOUS = "monotonous"
    PUNCTUATED = "punctuated"
    TIME_LAG = "time_lag"
    CUSTOM = "custom"
    NONE = "none"


class EmitKind(StrEnum):
    """When the watermark is emitted (B3)."""

    EVERY = "every"
    PER_EVENT = "per_event"
    EVERY_N = "every_n"


class TriggerKind(StrEnum):
    """What makes a window fire (rules 60, 69, 70)."""

    EVENT_TIME = "event_time"
    CONTINUOUS = "continuous"
    COUNT = "count"


class Accumulation(StrEnum):
    """What a pane contains: all rows so far, or only those since the pane before (rules 64 and 68).

    RETRACTING: all rows so far, and before it the pane that it takes the place of, marked as withdrawn.
    """

    ACCUMULATING = "accumulating"
    DISCARDING = "discarding"
    RETRACTING = "retracting"


class LateData(StrEnum):
    """What becomes of rows that come after the allowed lateness: kept apart, only counted, or taken all the same."""

    SIDE_OUTPUT = "side_output"
    DROP = "drop"
    UPDATE = "update"


class LatePanes(StrEnum):
    """Whether each late row fires a pane, or all late rows of one epoch and (key, window) fire one together."""

    PER_ROW = "per_row"
    PER_EPOCH = "per_epoch"


class OnFailure(StrEnum):
    """What a failed check does to the run; in Airflow `ask` lets a person decide, anywhere else it blocks."""

    BLOCK = "block"
    WARN = "warn"
    ASK = "ask"


class Learned(StrEnum):
    """A limit that nobody sets: what is usual in the pipeline's earlier runs, and a distance from that."""

    LEARNED = "learned"


class TimeUnit(StrEnum):
    """The unit of a numeric time column."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"


@dataclass(frozen=True)
class TimeField:
    """A time of a row: a column or SQL expression, and how to read it.

    `unit` is set for numeric times, `format` (a Spark datetime pattern) for text; with neither the expression is a
    TIMESTAMP or DATE. `timezone` is how text without an offset is read.
    """

    expression: str
    unit: TimeUnit | None = None
    format: str | None = None
    timezone: str = "UTC"


@dataclass(frozen=True)
class SourcePartition:
    """The columns that name the split which owns a watermark.

    No columns: one partition. `declared` partitions (each a tuple of values in column order) exist from the beginning
    and hold the watermark at MIN until they speak (rule 26); others join with their first row.
    """

    columns: tuple[str, ...] = ()
    declared: tuple[tuple[Any, ...], ...] = ()


@dataclass(frozen=True)
class Source:
    """Where the events are and which of their columns mean what.

    `future_guard_ms`: a row whose event time is later than its arrival by more than this is invalid; None: no guard.
    `offset` belongs to the order OFFSET: an integer column or SQL expression, the row's place in its partition.
    """

    table: str
    event_time: TimeField
    arrival_time: TimeField | None = None
    source_partition: SourcePartition = SourcePartition()
    tie_break: tuple[str, ...] = ()
    where: str | None = None
    future_guard_ms: int | None = 86_400_000
    offset: str | None = None


@dataclass(frozen=True)
class ReplayOrder:
    """The declared arrival order and what its end means; `rows_per_round` belongs to the order OFFSET.

    `mode` says what is told besides the faithful results, and changes none of them.
    """

    order: Order = Order.ARRIVAL
    end_of_input: EndOfInput = EndOfInput.CLOSE
    rows_per_round: int = 1_000
    mode: Mode = Mode.FAITHFUL


@dataclass(frozen=True)
class Emit:
    """The clock of emissions: `interval_ms` and `phase_ms` belong to EVERY, `n` to EVERY_N."""

    kind: EmitKind = EmitKind.PER_EVENT
    interval_ms: int = 0
    phase_ms: int = 0
    n: int = 0


@dataclass(frozen=True)
class Alignment:
    """How far a partition may be ahead of the slowest before it waits, and how often that is looked at (rule 98)."""

    max_drift_ms: int
    update_interval_ms: int = 1_000


@dataclass(frozen=True)
class Watermark:
    """The watermark strategy of every source partition.

    `out_of_orderness_ms` belongs to BOUNDED_OUT_OF_ORDERNESS, `lag_ms` to TIME_LAG. PUNCTUATED: rows for which the SQL
    condition `when` is true emit the watermark `value`, or their event time if there is none. CUSTOM: `generator` names
    the user's class, `package.module:Class`, made with `arguments` for each partition. A partition without rows for
    longer than `idle_timeout_ms` does not hold the others back (rules 30-34); None: each does, for ever. `alignment`
    belongs to the order OFFSET; None: no partition waits.
    """

    strategy: Strategy = Strategy.BOUNDED_OUT_OF_ORDERNESS
    out_of_orderness_ms: int = 0
    placement: Placement = Placement.SOURCE
    emit: Emit = Emit()
    when: str | None = None
    value: TimeField | None = None
    lag_ms: int = 0
    idle_timeout_ms: int | None = None
    generator: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    alignment: Alignment | None = None


@dataclass(frozen=True)
class Trigger:
    """When windows fire: `interval_ms` belongs to CONTINUOUS, `n` to COUNT."""

    kind: TriggerKind = TriggerKind.EVENT_TIME
    interval_ms: int = 0
    n: int = 0


@dataclass(frozen=True)
class Aggregate:
    """One result column: a Spark SQL aggregate expression under its name."""

    name: str
    expression: str


@dataclass(frozen=True)
class Windows:
    """The windows of each key.

    `tumbling` windows are `[offset + k*size, offset + (k+1)*size)`, `sliding` ones `[offset + k*slide, offset + k*slide
    + size)`; a `session` has no size, it ends `gap` after its last row. `slide_ms` belongs to `sliding`, `gap_ms` to
    `session`. A join by interval has none.
    """

    size_ms: int = 0
    offset_ms: int = 0
    key: tuple[str, ...] = ()
    allowed_lateness_ms: int = 0
    accumulation: Accumulation = Accumulation.ACCUMULATING
    late_data: LateData = LateData.SIDE_OUTPUT
    aggregates: tuple[Aggregate, ...] = ()
    kind: str = "tumbling"
    slide_ms: int = 0
    gap_ms: int = 0
    late_panes: LatePanes = LatePanes.PER_ROW
    trigger: Trigger = Trigger()

    @property
    def lateness_ms(self) -> int:
        """How long after its last instant a window takes rows: the allowed lateness, or for ever if all update it."""
        return FOREVER_MS if self.late_data is LateData.UPDATE else self.allowed_lateness_ms

    @property
    def period_ms(self) -> int:
        """How far apart tumbling or sliding windows start."""
        return self.slide_ms if self.kind == "sliding" else self.size_ms


@dataclass(frozen=True)
class Expectation:
    """One expectation of the user's: its Great Expectations type, the table it looks at, and its arguments."""

    type: str
    table: str = "panes"
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LiveResults:
    """A Delta table of a live job's results; numbers may differ by the share `tolerance` of the greater."""

    table: str
    tolerance: float = 0.0


@dataclass(frozen=True)
class Drift:
    """What results are held against: the same windows `every_ms` earlier, and so on for so many `seasons`.

    `measures` are SQL aggregates over the results of one window, of all keys. Each may differ by the share `tolerance`
    of its mean over the earlier windows.
    """

    tolerance: float
    every_ms: int = 7 * 24 * 60 * 60 * 1000
    seasons: int = 4
    measures: tuple[Aggregate, ...] = (Aggregate("rows", "sum(row_count)"),)


@dataclass(frozen=True)
class Quality:
    """What must hold before anything is published.

    A limit of a ratio is a share, or learned from earlier runs; None: any share is right.
    `min_coverage`: the share of all windows, from its first on, of which each key must have results; None: any.
    `max_silence_ms`: how much older than the end of what was read a source partition's newest event may be; None: any.
    `data_docs`: whether the report step also writes Great Expectations' own page.
    """

    on_failure: OnFailure = OnFailure.BLOCK
    max_late_ratio: float | Learned | None = None
    max_too_late_ratio: float | Learned | None = None
    max_invalid_ratio: float | Learned | None = None
    expectations: tuple[Expectation, ...] = ()
    compare_with: LiveResults | None = None
    drift: Drift | None = None
    min_coverage: float | None = None
    max_silence_ms: int | None = None
    data_docs: bool = False


@dataclass(frozen=True)
class Repair:
    """How many rows a closed window may have missed before it is computed again with them; None: any number.

    `max_too_late_rows` over all keys, `max_too_late_ratio` of all rows that came for the window. `ask`: in Airflow a
    person is asked first.
    """

    max_too_late_rows: int | None = None
    max_too_late_ratio: float | None = None
    ask: bool = False


@dataclass(frozen=True)
class UnitedSource:
    """One of several sources: its name, what it reads, and how its watermark moves.

    Emission and placement of `watermark` are not looked at: they are the pipeline's, one for all of its sources.
    """

    name: str
    source: Source
    watermark: Watermark = Watermark()


@dataclass(frozen=True)
class Join:
    """What rows of two inputs must have in common to be a pair (`spark_jobs.pipeline.joining`).

    `names` and `key` are by input; the columns of `key` are compared one by one. By interval: the second row's time is
    from `lower_ms` to `upper_ms` behind the first's. Without both: the rows share a window. `second_when` splits one
    source: rows of which the SQL condition is true are the second input's; None: two sources.
    """

    names: tuple[str, str] = ("left", "right")
    key: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    lower_ms: int | None = None
    upper_ms: int | None = None
    lower_inclusive: bool = True
    upper_inclusive: bool = True
    second_when: str | None = None

    @property
    def by_interval(self) -> bool:
        """Whether rows join by the distance of their times, and not by window."""
        return self.lower_ms is not None


@dataclass(frozen=True)
class Schedule:
    """When a pipeline runs by itself: at the end of each interval between times of `cron`, or on updates of `assets`.

    `cron` are five fields or a preset, in UTC. `assets` are Airflow's, by name or URI, all of them updated since the
    last run. The first interval begins at `start` or the first time of `cron` behind it. With `catchup` each interval
    since then has a run, the oldest first; without it the newest alone, which answers for all of them. The windows of a
    run are computed in `slices` tasks.
    """

    cron: str | None = None
    assets: tuple[str, ...] = ()
    start: datetime | None = None
    catchup: bool = False
    slices: int = 1


@dataclass(frozen=True)
class Pipeline:
    """A whole pipeline.

    With `sources` it reads several, whose rows carry the source's name in the column `source`. Each has its own
    partitions and strategy; `source` (`sources.together`) and `watermark` then tell what they have in common. With
    `join` it gives pairs of their rows, or of the rows of one source; a join by interval has windows of the kind none.
    """

    name: str
    source: Source
    windows: Windows
    watermark: Watermark = Watermark()
    replay: ReplayOrder = ReplayOrder()
    quality: Quality = Quality()
    schedule: Schedule | None = None
    path: str | None = field(default=None, compare=False)
    sources: tuple[UnitedSource, ...] = ()
    join: Join | None = None
    repair: Repair | None = None

    def alone(self, united: UnitedSource) -> Pipeline:
        """Give the pipeline that reads one of the sources and no other."""
        own = replace(united.watermark, emit=self.watermark.emit, placement=self.watermark.placement)
        return replace(self, source=united.source, watermark=own, sources=())

    @property
    def is_complete(self) -> bool:
        """Whether a run tells complete results besides the faithful ones."""
        return self.replay.mode is Mode.COMPLETE

    @property
    def same_results(self) -> frozenset[str]:
        """The fingerprints of all pipelines that give the faithful results of this one."""
        return frozenset(replace(self, replay=replace(self.replay, mode=mode)).fingerprint for mode in Mode)

    @property
    def fingerprint(self) -> str:
        """16 hex digits that name everything which can change a result row: all but quality, repair, schedule, path."""
        meaning = {k: v for k, v in asdict(self).items() if k not in ("quality", "repair", "schedule", "path")}
        # A pipeline without a join or complete results is what it was before there were any.
        if self.join is None:
            del meaning["join"]
        if self.replay.mode is Mode.FAITHFUL:
            del meaning["replay"]["mode"]
        text = json.dumps([__version__, meaning], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
