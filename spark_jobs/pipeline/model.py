"""A pipeline: a replay spec under a name, with what is checked, repaired and scheduled around it.

Frozen data, valid from the moment it exists. `load` makes it from a pipeline file. The specs of the replay itself
(`spark_jobs.semantics.spec`) are exported here too. Durations are whole milliseconds and carry `_ms` in their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from spark_jobs.pipeline.fingerprint import fingerprint
from spark_jobs.semantics.spec import (
    FOREVER_MS,
    WINDOW_KINDS,
    Accumulation,
    Aggregate,
    Alignment,
    AsOf,
    ComputedColumn,
    Emit,
    EmitKind,
    EndOfInput,
    Floats,
    Join,
    LateData,
    LatePanes,
    Mode,
    Order,
    Placement,
    QuarantineRule,
    ReplayOrder,
    ReplaySpec,
    Source,
    SourcePartition,
    Strategy,
    TimeField,
    TimeUnit,
    Trigger,
    TriggerKind,
    UnitedSource,
    Watermark,
    WindowKind,
    Windows,
)

__all__ = [
    "FOREVER_MS",
    "WINDOW_KINDS",
    "Accumulation",
    "Aggregate",
    "Alignment",
    "AsOf",
    "ComputedColumn",
    "Drift",
    "Emit",
    "EmitKind",
    "EndOfInput",
    "Expectation",
    "Floats",
    "Join",
    "LateData",
    "LatePanes",
    "Learned",
    "LiveResults",
    "Mode",
    "OnFailure",
    "Order",
    "Pipeline",
    "Placement",
    "Quality",
    "QuarantineRule",
    "Repair",
    "ReplayOrder",
    "ReplaySpec",
    "Results",
    "Schedule",
    "Source",
    "SourcePartition",
    "Strategy",
    "TimeField",
    "TimeUnit",
    "Trigger",
    "TriggerKind",
    "UnitedSource",
    "Upkeep",
    "Watermark",
    "WindowKind",
    "Windows",
]


class OnFailure(StrEnum):
    """What a failed check does to the run: in Airflow `ask` waits for a person's decision, anywhere else it blocks."""

    BLOCK = "block"
    WARN = "warn"
    ASK = "ask"


class Learned(StrEnum):
    """A limit that follows from the pipeline's earlier runs: their usual value, and a distance from it."""

    LEARNED = "learned"


@dataclass(frozen=True)
class Expectation:
    """One expectation of the user: its Great Expectations type, the table that it checks, and its arguments.

    With the table `source` it is about single rows before the replay. If it `quarantines`, rows that do not meet it are
    in `invalid_events` with the reason `name`.
    """

    type: str
    table: str = "panes"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    quarantines: bool = False
    name: str = ""


@dataclass(frozen=True)
class LiveResults:
    """A Delta table of a live job's results; numbers may differ by the share `tolerance` of the greater number."""

    table: str
    tolerance: float = 0.0


@dataclass(frozen=True)
class Drift:
    """Earlier windows that results are compared with: the windows `every_ms` earlier, for so many `seasons`.

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

    A limit of a ratio is a share, or learned from earlier runs. None, for any limit: everything passes.

    - `min_windows`: how many results a run over all of time must have;
    - `max_arrival_lag_ms`: how much earlier than its arrival an event may be, for half of the rows;
    - `max_removed_ratio`: the share of the rows in published results that a run may take away.

    `min_coverage`: the share of all windows, from its first window on, for which each key must have results; None: any.
    `max_silence_ms`: how much older than the end of the input a source partition's newest event may be; None: any.
    `data_docs`: whether the report step also writes the page of Great Expectations.
    """

    on_failure: OnFailure = OnFailure.BLOCK
    max_late_ratio: float | Learned | None = None
    max_too_late_ratio: float | Learned | None = None
    max_invalid_ratio: float | Learned | None = 0.5
    min_windows: int | None = 1
    max_arrival_lag_ms: int | None = 7300 * 24 * 60 * 60 * 1000
    max_removed_ratio: float | None = 0.5
    expectations: tuple[Expectation, ...] = ()
    compare_with: LiveResults | None = None
    drift: Drift | None = None
    min_coverage: float | None = None
    max_silence_ms: int | None = None
    data_docs: bool = False


@dataclass(frozen=True)
class Repair:
    """How many rows a closed window may have missed before it is computed again with them; None: any number.

    `max_too_late_rows` counts over all keys, `max_too_late_ratio` is a share of all rows of the window. `ask`: in
    Airflow a person approves the repair first.
    """

    max_too_late_rows: int | None = None
    max_too_late_ratio: float | None = None
    ask: bool = False


@dataclass(frozen=True)
class Upkeep:
    """What maintenance keeps: all that readers saw in the last `retain_ms`, and the last `keep_runs` published runs."""

    retain_ms: int = 30 * 24 * 60 * 60 * 1000
    keep_runs: int = 1


@dataclass(frozen=True)
class Schedule:
    """When a pipeline runs: at the end of each interval between times of `cron`, or after updates of `assets`.

    `cron` has five fields or a preset, in UTC. `assets` are Airflow assets, by name or URI; a run starts when all of
    them have been updated since the last run. The first interval begins at `start` or the first time of `cron` after
    it. With `catchup` each interval since then has a run, the oldest first. Without it the newest interval alone has
    one, which covers all. The windows of a run are computed in `slices` tasks.
    """

    cron: str | None = None
    assets: tuple[str, ...] = ()
    start: datetime | None = None
    catchup: bool = False
    slices: int = 1


@dataclass(frozen=True)
class Results:
    """What the published tables offer to their readers.

    `change_data_feed`: whether they have Delta's change data feed; `clustered`: whether they declare that they are
    clustered by time. None: as they are, and a new table has and is none of it.
    """

    change_data_feed: bool | None = None
    clustered: bool | None = None


@dataclass(frozen=True)
class _Named:
    # A separate base, so that the name stays a pipeline's first argument, before the fields of the replay spec.
    name: str


@dataclass(frozen=True)
class Pipeline(ReplaySpec, _Named):
    """A whole pipeline: `name, source, windows, watermark, replay, sources, join` (`ReplaySpec`) and its operation.

    `path` is the file, None without a file. `places` are the places in the file of its dotted keys. `publish_to` is the
    schema of a catalog in which published tables have names, as `catalog.schema` or `schema`; None: no names.
    """

    quality: Quality = Quality()
    schedule: Schedule | None = None
    path: str | None = field(default=None, compare=False)
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    repair: Repair | None = None
    results: Results = Results()
    publish_to: str | None = None
    maintenance: Upkeep | None = None

    def located(self, problem: str) -> str:
        """Return a problem `key: text` behind the place of the key in the file; unchanged where no place is known."""
        key = problem.partition(": ")[0]
        while key and key not in self.places:
            key = key[: max(key.rfind("."), key.rfind("["), 0)]
        return f"{self.places[key]}: {problem}" if key else problem

    def all_located(self, problems: str) -> str:
        """Return problems, a line each, as `located` returns each of them."""
        return "\n".join(map(self.located, problems.splitlines()))

    @property
    def same_results(self) -> frozenset[str]:
        """The fingerprints of all pipelines that have the faithful results of this one."""
        return frozenset(replace(self, replay=replace(self.replay, mode=mode)).fingerprint for mode in Mode)

    @property
    def fingerprint(self) -> str:
        """16 hex digits that name everything which can change a result row (`spark_jobs.pipeline.fingerprint`)."""
        return fingerprint(self.name, self)
