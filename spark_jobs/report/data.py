"""What a report shows, as plain values: small whatever the size of the run, and independent of Spark.

Instants are milliseconds since 1970, UTC, and carry `_ms` in their names; windows are half-open. Where a picture stands
for more than it holds (a thinned line, a sample, a point of several windows), the number it stands for is beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True)
class StepFacts:
    """One step of the run, as the ledger tells it."""

    step: str
    state: str
    started_at: datetime
    seconds: float


@dataclass(frozen=True)
class RunFacts:
    """What was run, and where it went; `interval_*` None is without bound, `versions` are those of published tables.

    `accepted`: who has taken it although checks have failed, and why; None if nobody has.
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
    seconds: float = 0.0
    error: str | None = None
    accepted: str | None = None
    steps: tuple[StepFacts, ...] = ()
    versions: Mapping[str, int] = field(default_factory=dict)
    software: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """One setting of the pipeline file: its dotted name and its value as people write it."""

    name: str
    value: str


@dataclass(frozen=True)
class WatermarkLine:
    """The watermark at the emissions that fired windows, in the order of arrival.

    The line stands for `firings` emissions. Not on it: `at_end` windows that the end of the input fired, and
    `still_open` ones that nothing fired.
    """

    fires_at_ms: tuple[int, ...] = ()
    watermark_ms: tuple[int, ...] = ()
    firings: int = 0
    at_end: int = 0
    still_open: int = 0


@dataclass(frozen=True)
class PartitionLine:
    """The watermark of one source partition at each drawn emission, None before it had one.

    It is idle where it stands behind the watermark of all: those that are not idle hold that back.
    """

    name: str
    watermark_ms: tuple[int | None, ...] = ()
    idle: tuple[bool, ...] = ()


@dataclass(frozen=True)
class PartitionLines:
    """The watermarks of those source partitions that stood farthest behind, of `partitions` in all.

    They are known at the `emissions` that fired windows, and told at some of these: `fires_at_ms`, `watermark_ms`.
    """

    fires_at_ms: tuple[int, ...] = ()
    watermark_ms: tuple[int, ...] = ()
    lines: tuple[PartitionLine, ...] = ()
    partitions: int = 0
    emissions: int = 0


@dataclass(frozen=True)
class Completeness:
    """Rows of windows over time: those that results hold, and those that came too late for them."""

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
    """An even sample of the `marks` that the `rows` late rows make."""

    rows: int = 0
    marks: int = 0
    sample: tuple[LateMark, ...] = ()


@dataclass(frozen=True)
class Lateness:
    """Late rows by how far the watermark stood past their window's last millisecond when they came.

    Bin i is `[edges_ms[i], edges_ms[i+1])`; with `open_ended` the last one has no end. The allowed lateness is an edge.
    """

    edges_ms: tuple[int, ...] = ()
    late: tuple[int, ...] = ()
    too_late: tuple[int, ...] = ()
    longest_ms: int = 0
    open_ended: bool = False


class Combined(StrEnum):
    """How the values of several keys and windows became one point."""

    SUM = "sum"
    MEAN = "mean"
    SMALLEST = "smallest"
    LARGEST = "largest"


@dataclass(frozen=True)
class Series:
    """One result column over time, a value a point; None where no key had one."""

    name: str
    combined: Combined
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class Results:
    """Results over time: point i covers the windows in `[starts_ms[i], ends_ms[i])`.

    The points stand for `windows` windows, `windows_per_point` each but the last. `not_drawn` names result columns that
    are no numbers, or too many.
    """

    starts_ms: tuple[int, ...] = ()
    ends_ms: tuple[int, ...] = ()
    windows: int = 0
    windows_per_point: int = 1
    series: tuple[Series, ...] = ()
    not_drawn: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckResult:
    """One check of the audit; `examples` are some of what breaks it, as JSON or text."""

    suite: str
    expectation: str
    success: bool
    observed: str
    unexpected_count: int | None = None
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class TooLateWindow:
    """A window by the rows that it took no more, and the largest distance of one of them behind the watermark."""

    window_start_ms: int
    window_end_ms: int
    rows: int
    late_by_ms: int


@dataclass(frozen=True)
class TooLateKey:
    """A key by the rows that no window took; a null in the key is None."""

    key: tuple[str | None, ...]
    rows: int
    late_by_ms: int


@dataclass(frozen=True)
class LackingWindow:
    """A (key, window) of `rows` rows, of which the job has shown `missed` in no pane; a null in the key is None."""

    key: tuple[str | None, ...]
    window_start_ms: int
    window_end_ms: int
    rows: int
    missed: int
    is_shown: bool


@dataclass(frozen=True)
class Cost:
    """What the watermark cost: of `windows` windows of a key `lacking` lack a row, `not_shown` have no result at all.

    They lack `missed` rows together; `worst` are some of them, those that lack the largest share of their rows first.
    """

    windows: int = 0
    lacking: int = 0
    not_shown: int = 0
    missed: int = 0
    worst: tuple[LackingWindow, ...] = ()


@dataclass(frozen=True)
class Alternative:
    """What the same rows give with another bound and another lateness."""

    out_of_orderness: str
    allowed_lateness: str
    on_time: int
    late: int
    too_late: int


@dataclass(frozen=True)
class JoinFacts:
    """What a run has joined: its inputs by their names; `between`, how far apart rows of a pair may be.

    `between` is None where rows join that share a window. The counts of the ledger have each input's own as
    `<count>_of_<name>`.
    """

    names: tuple[str, str]
    between: str | None = None

    @property
    def by_interval(self) -> bool:
        """Whether there are no windows."""
        return self.between is not None


@dataclass(frozen=True)
class ReportData:
    """Everything on the page. `counts` has the names of the ledger; a name that is missing was not counted.

    `bounds_ms`: how far the watermark stays behind the newest row, each length once that a source has; none where one
    is not bounded so. With `overlapping` windows a late row is among the late marks and in the histogram once for each
    window that took it late. `waits`: windows fire at their end, and not before. `late_rows_fire`: each late row fires
    its window, so that late marks are late rows; otherwise they are late firings. `closes`: a window has an end, behind
    which rows are too late for it. `keeps_late`: those rows are in `late_events`; otherwise they are counted alone.
    `join`: results are pairs. `cost` is there in the mode complete alone.
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
