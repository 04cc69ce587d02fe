"""The data of a report: plain values, independent of Spark, and small for a run of any size.

Instants are milliseconds since 1970, UTC, and carry `_ms` in their names; windows are half-open. A picture may
represent more than it shows: a thinned line, a sample, a point of several windows. Then the data has the full number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True)
class StepFacts:
    """One step of the run, as recorded in the ledger; `figures` are Spark's, by the names of `spark_jobs.figures`."""

    step: str
    state: str
    started_at: datetime
    seconds: float
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RunFacts:
    """The run: its source and its lake. `interval_*` None is without bound, `versions` are those of published tables.

    `accepted`: the person who accepted failed checks, and the reason; None otherwise. `published_at`: when the step
    publish ended; None for a run that is not published.
    """

    run_id: str
    fingerprint: str
    kind: str
    state: str
    source_table: str
    source_version: int
    lake: str
    interval_start: datetime | None = None
    interval_end: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    published_at: datetime | None = None
    seconds: float = 0.0
    error: str | None = None
    accepted: str | None = None
    steps: tuple[StepFacts, ...] = ()
    versions: Mapping[str, int] = field(default_factory=dict)
    software: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """One setting of the pipeline file: its dotted name, and its value as in the file."""

    name: str
    value: str


@dataclass(frozen=True)
class WatermarkLine:
    """The watermark at the emissions that fired windows, in the order of arrival.

    The line represents `firings` emissions. Not on the line are `at_end` windows that the end of the input fired, and
    `still_open` windows that have not fired.
    """

    fires_at_ms: tuple[int, ...] = ()
    watermark_ms: tuple[int, ...] = ()
    firings: int = 0
    at_end: int = 0
    still_open: int = 0


@dataclass(frozen=True)
class PartitionLine:
    """The watermark of one source partition at each drawn emission, None before it had one.

    A partition is idle where its watermark is below the combined watermark, which active partitions hold back.
    """

    name: str
    watermark_ms: tuple[int | None, ...] = ()
    idle: tuple[bool, ...] = ()


@dataclass(frozen=True)
class PartitionLines:
    """The watermarks of the source partitions that were farthest behind arrival, of `partitions` in all.

    `emissions` fired windows; the watermarks at some of these emissions are given: `fires_at_ms`, `watermark_ms`.
    """

    fires_at_ms: tuple[int, ...] = ()
    watermark_ms: tuple[int, ...] = ()
    lines: tuple[PartitionLine, ...] = ()
    partitions: int = 0
    emissions: int = 0


@dataclass(frozen=True)
class Completeness:
    """Rows of windows over time: rows in results (`taken`), and too late rows (`missed`)."""

    starts_ms: tuple[int, ...] = ()
    ends_ms: tuple[int, ...] = ()
    taken: tuple[int, ...] = ()
    missed: tuple[int, ...] = ()


@dataclass(frozen=True)
class LateMark:
    """Late rows that arrived in the same millisecond for the same window, and the watermark before them."""

    arrived_ms: int
    window_start_ms: int
    window_end_ms: int
    watermark_ms: int
    rows: int


@dataclass(frozen=True)
class LateMarks:
    """An even sample of the `marks` of the `rows` late rows."""

    rows: int = 0
    marks: int = 0
    sample: tuple[LateMark, ...] = ()


@dataclass(frozen=True)
class Lateness:
    """Late rows by lateness: the watermark before the row minus the last millisecond of its window.

    Bin i is `[edges_ms[i], edges_ms[i+1])`; with `open_ended` the last bin has no end. The allowed lateness is an edge.
    """

    edges_ms: tuple[int, ...] = ()
    late: tuple[int, ...] = ()
    too_late: tuple[int, ...] = ()
    longest_ms: int = 0
    open_ended: bool = False


class Combined(StrEnum):
    """The function that combines the values of several keys and windows into one point."""

    SUM = "sum"
    MEAN = "mean"
    SMALLEST = "smallest"
    LARGEST = "largest"


@dataclass(frozen=True)
class Series:
    """One result column over time, a value for each point; None if no key had a value.

    `same_as` names the result columns with the same value everywhere.
    """

    name: str
    combined: Combined
    values: tuple[float | None, ...]
    same_as: tuple[str, ...] = ()


@dataclass(frozen=True)
class Results:
    """Results over time: point i covers the windows in `[starts_ms[i], ends_ms[i])`.

    The points represent `windows` windows, at most `windows_per_point` each. With `stretch_ms` a point covers the
    windows that start in a stretch of this length; 0: it covers neighbouring windows. `not_drawn` names the result
    columns that are not numeric, or exceed the number of charts.
    """

    starts_ms: tuple[int, ...] = ()
    ends_ms: tuple[int, ...] = ()
    windows: int = 0
    windows_per_point: int = 1
    series: tuple[Series, ...] = ()
    not_drawn: tuple[str, ...] = ()
    stretch_ms: int = 0


@dataclass(frozen=True)
class CheckResult:
    """One check of the audit; `examples` are some of the rows that fail it, as JSON or text."""

    suite: str
    expectation: str
    success: bool
    observed: str
    unexpected_count: int | None = None
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class TooLateWindow:
    """A window with its too late rows, and the largest distance of such a row behind the watermark.

    `watermark_ms` is the highest watermark before such a row. `first_ms` and `last_ms` are the arrivals of the first
    and the last of these rows; None where arrivals have no time.
    """

    window_start_ms: int
    window_end_ms: int
    rows: int
    late_by_ms: int
    watermark_ms: int | None = None
    first_ms: int | None = None
    last_ms: int | None = None


@dataclass(frozen=True)
class TooLateKey:
    """A key with its too late rows; a null in the key is None."""

    key: tuple[str | None, ...]
    rows: int
    late_by_ms: int


@dataclass(frozen=True)
class LateRow:
    """A row that came too late: its key, a null in it as None, its times, and the watermark before it.

    `arrived_ms` is None where arrivals have no time. `window_end_ms` is None for a row without a window.
    """

    key: tuple[str | None, ...]
    event_ms: int
    arrived_ms: int | None
    window_end_ms: int | None
    watermark_ms: int

    @property
    def behind_ms(self) -> int:
        """How far the row was behind the watermark, by its event time."""
        return self.watermark_ms - self.event_ms

    @property
    def lateness_ms(self) -> int | None:
        """How far the watermark stood past the last millisecond of the row's window; None without a window."""
        return None if self.window_end_ms is None else self.watermark_ms - (self.window_end_ms - 1)


@dataclass(frozen=True)
class LackingWindow:
    """A (key, window) of `rows` rows, of which `missed` are in no pane; a null in the key is None."""

    key: tuple[str | None, ...]
    window_start_ms: int
    window_end_ms: int
    rows: int
    missed: int
    is_shown: bool


@dataclass(frozen=True)
class Cost:
    """The cost of the watermark: of `windows` (key, window) pairs, `lacking` lack a row, `not_shown` have no result.

    Together they lack `missed` rows. `worst` are some of them, by the share of rows that they lack, largest first.
    """

    windows: int = 0
    lacking: int = 0
    not_shown: int = 0
    missed: int = 0
    worst: tuple[LackingWindow, ...] = ()


@dataclass(frozen=True)
class Alternative:
    """The numbers of on-time and late rows with a bound and a lateness; `is_used` by the run itself."""

    out_of_orderness: str
    allowed_lateness: str
    on_time: int
    late: int
    too_late: int
    is_used: bool = False


@dataclass(frozen=True)
class EarlierRun:
    """The run that was published before this one: when, and its counts by name."""

    run_id: str
    published_at: datetime | None
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class JoinFacts:
    """The join of a run: the names of its inputs, and which rows it pairs.

    `between` is the allowed distance of rows of an interval join. `is_as_of`: rows join the version of their time;
    `keeps_unmatched`: also rows without a version are results. The ledger has the counts of each input as
    `<count>_of_<name>`.
    """

    names: tuple[str, str]
    between: str | None = None
    is_as_of: bool = False
    keeps_unmatched: bool = False

    @property
    def by_window(self) -> bool:
        """Whether rows share a window."""
        return self.between is None and not self.is_as_of


@dataclass(frozen=True)
class ReportData:
    """The data of the whole page.

    - `description`: the pipeline in one line, and `file`: its file; None if it was not read from one
    - `earlier`: the run that was published before this one
    - `counts`: the counts of the ledger, by name; a missing name was not counted
    - `bounds_ms`: the distinct out-of-orderness bounds of the sources; empty if a source has none
    - `merging`: windows are sessions
    - `overlapping`: windows overlap; a late row is in the marks and the histogram once for each window that accepts it
    - `waits`: windows fire at their end, and not before
    - `late_rows_fire`: each late row fires its window, so late marks are late rows; otherwise they are late firings
    - `closes`: a window's state ends, and later rows are too late
    - `keeps_late`: too late rows are in `late_events`; otherwise they are only counted
    - `join`: results are pairs
    - `cost`: only in the mode complete
    """

    pipeline: str
    run: RunFacts
    counts: Mapping[str, int] = field(default_factory=dict)
    allowed_lateness_ms: int = 0
    bounds_ms: tuple[int, ...] = ()
    overlapping: bool = False
    waits: bool = True
    late_rows_fire: bool = True
    closes: bool = True
    keeps_late: bool = True
    join: JoinFacts | None = None
    key: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()
    watermark: WatermarkLine = WatermarkLine()
    partitions: PartitionLines = PartitionLines()
    completeness: Completeness = Completeness()
    late: LateMarks = LateMarks()
    too_late: LateMarks = LateMarks()
    lateness: Lateness = Lateness()
    results: Results = Results()
    checks: tuple[CheckResult, ...] = ()
    too_late_windows: tuple[TooLateWindow, ...] = ()
    too_late_keys: tuple[TooLateKey, ...] = ()
    invalid_reasons: Mapping[str, int] = field(default_factory=dict)
    alternatives: tuple[Alternative, ...] = ()
    cost: Cost | None = None
    description: str = ""
    file: str | None = None
    earlier: EarlierRun | None = None
    merging: bool = False
    late_rows: tuple[LateRow, ...] = ()
