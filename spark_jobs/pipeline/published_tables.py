"""Published tables: every table that a run writes, with its columns, and how it is published and counted.

Lake, staging, publishing, lineage, expectations and the reference page derive from the tables declared here. A column
has a name, a Spark type, a unit, a meaning and a condition for null. Delta declares every column as nullable; a column
without a condition for null holds none. Columns whose number and types the pipeline decides are a `Part`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum

from spark_jobs.semantics.spec import Join
from spark_jobs.semantics.windows.calendar import LISTED_PARTITIONS


class Part(Enum):
    """A run of columns that the pipeline decides."""

    KEY = "the columns of `windows.key`, with the types of the source"
    AGGREGATES = "a column an aggregate, named as declared, with the type of its expression"
    SOURCE = "all columns of the source; a column with the name of an added column is `source_<name>`, or again so"
    INPUTS = "a struct an input of the join, named for the input, with all columns of its source"


class Use(Enum):
    """What a table is for, which decides the runs that have it."""

    WINDOWS = "every pipeline with windows and no join"
    COMPLETE = "a pipeline with `replay.mode: complete`"
    JOIN = "a pipeline with `join`"
    WINDOWS_AND_JOIN = "every pipeline"
    CONTINUATION = "a run with `--arrived-to`: the run after it continues from here"
    RECORD = "every run; not part of a publication"
    WORKING = "the steps of the run itself; never published"


class When(StrEnum):
    """The pipelines whose table has a column. Only `ALWAYS` is empty: every row of the table has the column."""

    ALWAYS = ""
    JOIN = "a join"
    WINDOW_JOIN = "a join by window"
    INTERVAL_OR_AS_OF_JOIN = "a join by interval or as of"
    AS_OF_JOIN = "a join as of"
    RETRACTING = "`accumulation: retracting`"


def conditions_of(join: Join) -> frozenset[When]:
    """Return the conditions of columns that a join meets."""
    kind = {When.WINDOW_JOIN} if join.by_window else {When.INTERVAL_OR_AS_OF_JOIN}
    as_of = {When.AS_OF_JOIN} if join.is_as_of else set()
    return frozenset({When.ALWAYS, When.JOIN, *kind, *as_of})


@dataclass(frozen=True)
class Column:
    """A column: `type` is a Spark type, `unit` is empty for text, `null` is the condition for null or empty for never.

    `when` limits the column to some pipelines.
    """

    name: str
    type: str
    meaning: str
    unit: str = ""
    null: str = ""
    when: When = When.ALWAYS

    @property
    def comment(self) -> str:
        """The meaning with unit and condition for null, as a comment of the column in a table."""
        unit = f" ({self.unit})" if self.unit else ""
        return f"{self.meaning}{unit}{f'; null: {self.null}' if self.null else ''}"


@dataclass(frozen=True)
class Table:
    """A table: what a row is, its columns in order, and what Delta keeps of them.

    `statistics` are the columns whose minima and maxima Delta keeps, as far as the table has them. `counted_as` is the
    count of a run that equals the number of rows.

    A `timeless` table belongs to no part of time: a run over a part of time leaves the table alone. A `derived` table
    describes rows of other tables of its run. It is published together with these tables, or removed.
    """

    name: str
    row: str
    use: Use
    columns: tuple[Column | Part, ...]
    statistics: tuple[str, ...] = ()
    counted_as: str = ""
    timeless: bool = False
    derived: bool = False

    @property
    def own_columns(self) -> tuple[Column, ...]:
        """The columns that every pipeline gives the same name."""
        return tuple(column for column in self.columns if isinstance(column, Column))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of `own_columns`, in order."""
        return tuple(column.name for column in self.own_columns)

    @property
    def holds_source_columns(self) -> bool:
        """Whether a row carries every column of its source row."""
        return Part.SOURCE in self.columns or Part.INPUTS in self.columns

    def column(self, name: str) -> Column:
        """Return the column of this name. Raises KeyError."""
        for column in self.own_columns:
            if column.name == name:
                return column
        raise KeyError(f"{self.name} has no column {name}, only {', '.join(self.names)}")


_UTC = "UTC"
_MS = "milliseconds"
_RUN_ID = Column("run_id", "string", "the run that wrote the row")
_WINDOW_START = Column("window_start", "timestamp", "start of the window, inclusive", _UTC)
_WINDOW_END = Column("window_end", "timestamp", "end of the window, exclusive", _UTC)
_PANE_INDEX = Column("pane_index", "int", "number of the firing within its key and window, from 0", "firings")
_TIMING = Column("timing", "string", "`early`, `on_time` or `late`: the firing against the window's last millisecond")
_FIRED_AT = Column("fired_at", "timestamp", "arrival time of the emission or late row that fired", _UTC)
_WATERMARK = Column("watermark", "timestamp", "watermark at the firing", _UTC)
_ROW_COUNT = Column("row_count", "bigint", "rows that the aggregates cover", "rows")
_EVENT_TIME = Column("event_time", "timestamp", "event time of the row", _UTC)
_ARRIVAL_TIME = Column("arrival_time", "timestamp", "arrival time of the row", _UTC, "the order is `offset`, no time")
_MISSED_WATERMARK = Column("watermark", "timestamp", "watermark before the row, which the row missed", _UTC)
_LATE_BY_MS = Column("late_by_ms", "bigint", "watermark less event time", _MS)
_NO_WINDOW = "the row lies between two windows; a join by interval or as of has no such column"
_PARTITIONS = "array<struct<source_partition:string,watermark:timestamp>>"

WATERMARKS = Table(
    "watermarks",
    "one window that holds a row of any key: when the window fires and closes. Empty for sessions",
    Use.WINDOWS,
    (
        _WINDOW_START,
        _WINDOW_END,
        Column("fires_at", "timestamp", "arrival time at which the watermark passes the window", _UTC, "never passed"),
        Column("watermark_at_fire", "timestamp", "watermark from then on", _UTC, "never passed"),
        Column("closes_at", "timestamp", "arrival time from which the window takes no row", _UTC, "never closed"),
        Column(
            "partition_watermarks",
            _PARTITIONS,
            "watermark of each source partition at the firing",
            _UTC,
            f"no emission fired the window, or over {LISTED_PARTITIONS} source partitions exist",
        ),
        _RUN_ID,
    ),
    statistics=("window_start",),
)
PANES = Table(
    "panes",
    "one firing of a key and window",
    Use.WINDOWS,
    (
        Part.KEY,
        _WINDOW_START,
        _WINDOW_END,
        _PANE_INDEX,
        _TIMING,
        _FIRED_AT,
        _WATERMARK,
        Part.AGGREGATES,
        _ROW_COUNT,
        Column(
            "is_retraction",
            "boolean",
            "whether the row withdraws the pane before it",
            when=When.RETRACTING,
        ),
        _RUN_ID,
    ),
    statistics=("window_start", "timing"),
    counted_as="panes",
)
WINDOW_RESULTS = Table(
    "window_results",
    "one key and window: its latest pane. A session that merged into another session has no row",
    Use.WINDOWS,
    (
        Part.KEY,
        _WINDOW_START,
        _WINDOW_END,
        Part.AGGREGATES,
        Column("pane_count", "int", "firings of the key and window so far", "firings"),
        _ROW_COUNT,
        Column("too_late_count", "bigint", "rows of the key that came too late for the window", "rows"),
        Column("last_fired_at", "timestamp", "`fired_at` of the latest pane", _UTC),
        _RUN_ID,
    ),
    statistics=("window_start",),
    counted_as="windows",
)
LATE_EVENTS = Table(
    "late_events",
    "one source row that no window took. For a join: one row that joined nothing because it was late. For a join as "
    "of: any late row",
    Use.WINDOWS_AND_JOIN,
    (
        Column("source", "string", "name of the input", when=When.JOIN),
        Part.SOURCE,
        _EVENT_TIME,
        _ARRIVAL_TIME,
        _MISSED_WATERMARK,
        _LATE_BY_MS,
        Column(
            "verdict",
            "string",
            "what became of the row: `joined` a version, `unmatched`, `waits` for an emission, or `kept` as a version",
            when=When.AS_OF_JOIN,
        ),
        Column("window_start", "timestamp", "start of the newest window that the row missed", _UTC, _NO_WINDOW),
        Column("window_end", "timestamp", "end of the newest window that the row missed", _UTC, _NO_WINDOW),
        _RUN_ID,
    ),
    statistics=("window_start", "event_time"),
    counted_as="too_late",
)
INVALID_EVENTS = Table(
    "invalid_events",
    "one source row without a usable event time or arrival time, or a row that breaks a rule of the source",
    Use.WINDOWS_AND_JOIN,
    (
        Column("source", "string", "name of the input", when=When.JOIN),
        Part.SOURCE,
        Column(
            "reason",
            "string",
            "why the row is invalid: the time and its fault, such as `event_time_unreadable` (see Late rows), or the "
            "name of the rule that it breaks",
        ),
        _RUN_ID,
    ),
    statistics=("run_id",),
    counted_as="invalid",
    timeless=True,
)
COMPLETE_RESULTS = Table(
    "complete_results",
    "one key and window that the watermark has passed: the aggregates over all rows, as if no row had been too late",
    Use.COMPLETE,
    (
        Part.KEY,
        _WINDOW_START,
        _WINDOW_END,
        Part.AGGREGATES,
        Column("row_count", "bigint", "valid rows of the key and window, whenever they arrived", "rows"),
        Column("missed_rows", "bigint", "rows that no pane covers", "rows"),
        Column("is_shown", "boolean", "whether `window_results` has the key and window"),
        Column(
            "faithful",
            "struct",
            "aggregates and `row_count` of `window_results`; for sessions an array of them with their bounds",
            null="`window_results` has no such row",
        ),
        _RUN_ID,
    ),
    statistics=("window_start", "missed_rows"),
    counted_as="complete_windows",
    derived=True,
)
PAIRS = Table(
    "pairs",
    "one pair of joined rows. For a join by window: one pair in one firing. For a join as of: one first row with its "
    "version, or with null",
    Use.JOIN,
    (
        Part.KEY,
        Column("window_start", "timestamp", "start of the window, inclusive", _UTC, when=When.WINDOW_JOIN),
        Column("window_end", "timestamp", "end of the window, exclusive", _UTC, when=When.WINDOW_JOIN),
        Column("pane_index", "int", "number of the firing, from 0", "firings", when=When.WINDOW_JOIN),
        Column("timing", "string", "`on_time` or `late`", when=When.WINDOW_JOIN),
        Column(
            "event_time",
            "timestamp",
            "the later of the two event times; for a join as of, the first row's",
            _UTC,
            when=When.INTERVAL_OR_AS_OF_JOIN,
        ),
        _FIRED_AT,
        Column("watermark", "timestamp", "watermark at the firing", _UTC, when=When.WINDOW_JOIN),
        Part.INPUTS,
        _RUN_ID,
    ),
    statistics=("window_start", "event_time", "timing"),
    counted_as="pairs",
)
ADVANCES = Table(
    "advances",
    "one emission that raised the watermark",
    Use.CONTINUATION,
    (
        Column("emitted_at", "timestamp", "arrival time of the emission", _UTC),
        Column("watermark", "timestamp", "watermark from then on", _UTC),
        Column(
            "partition_watermarks",
            _PARTITIONS,
            "watermark of each source partition from then on",
            _UTC,
            f"over {LISTED_PARTITIONS} source partitions exist, and the run has many later emissions",
        ),
        _RUN_ID,
    ),
    statistics=("emitted_at",),
    timeless=True,
)
RUNS = Table(
    "runs",
    "one step of one run that has ended; rows are only added",
    Use.RECORD,
    (
        Column("run_id", "string", "the run"),
        Column("pipeline", "string", "name of the pipeline"),
        Column("fingerprint", "string", "16 hex digits: every setting that can change a result row"),
        Column(
            "kind", "string", "`full`, `arrivals`, `changed`, `backfill`, `repair`, `rollback`, `maintain` or `discard`"
        ),
        Column("step", "string", "name of the step"),
        Column("interval_start", "timestamp", "first window start that the run replaces", _UTC, "from the beginning"),
        Column("interval_end", "timestamp", "end of the replaced range, exclusive", _UTC, "to the end"),
        Column("source_version", "bigint", "Delta version of the source"),
        Column(
            "source_ids",
            "map<string,string>",
            "Delta's id of each source table, by name of the source",
            null="a version before 0.2 wrote the row",
        ),
        Column(
            "settings",
            "map<string,string>",
            "settings that can change a result row, by dotted name; of the step `plan`, and of rollbacks",
            null="a version before 0.2 wrote the row",
        ),
        Column(
            "stretches",
            "map<string,string>",
            "end of each stretch of the range that the run replaces, by its start, in ISO 8601; of the step `plan`",
            null="a version before 0.2 wrote the row",
        ),
        Column(
            "changes_run", "string", "the run published last when changes were planned", null="no changes were planned"
        ),
        Column("state", "string", "how the step ended"),
        Column("counts", "map<string,bigint>", "rows, windows and panes by fate", "rows"),
        Column("versions", "map<string,bigint>", "versions of the published tables after the step `publish`"),
        Column("error", "string", "why the step failed", null="the step did not fail"),
        Column("note", "string", "what the run's owner should know", null="nothing to note"),
        Column(
            "figures",
            "map<string,double>",
            "what Spark measured of the step, by name: [figures](figures.md)",
            "by name",
            "the step ran without Spark, or a version before 0.2 wrote the row",
        ),
        Column("arrived_from", "timestamp", "first arrival time that the run reads", _UTC, "from the beginning"),
        Column("arrived_to", "timestamp", "arrival time before which the run reads", _UTC, "to the end"),
        Column("started_at", "timestamp", "wall-clock start of the step", _UTC),
        Column("finished_at", "timestamp", "wall-clock end of the step", _UTC),
    ),
)
QUALITY = Table(
    "quality",
    "one expectation that the audit of a run has checked",
    Use.RECORD,
    (
        Column("run_id", "string", "the run that was audited"),
        Column("suite", "string", "name of the suite"),
        Column("expectation", "string", "the expectation, as a sentence or a type with arguments"),
        Column("success", "boolean", "whether the expectation holds"),
        Column("observed", "string", "the observed value as text"),
        Column("unexpected_count", "bigint", "rows that violate the expectation", "rows", "not counted by row"),
        Column("details", "string", "JSON: example rows and what the suite shows of them"),
    ),
)
DRIFT = Table(
    "drift",
    "one source partition: how far it ran ahead of the slowest partition",
    Use.WORKING,
    (
        Column("source_partition", "string", "label of the source partition"),
        Column("max_drift_ms", "bigint", "how far the partition ran ahead of the slowest partition", _MS),
        Column("paused_rounds", "bigint", "rounds in which the partition waited", "rounds"),
        Column("rounds", "bigint", "rounds in which the partition could have read", "rounds"),
    ),
    statistics=("source_partition",),
)
PARTITIONS = Table(
    "partitions",
    "one source partition: its newest event time, for `quality.max_silence`",
    Use.WORKING,
    (
        Column("source_partition", "string", "label of the source partition"),
        Column("last_event_time", "timestamp", "newest valid event time", _UTC, "the partition has no valid row"),
        Column("read_until", "timestamp", "arrival time up to which the run read", _UTC, "no row has an arrival time"),
    ),
    statistics=("source_partition",),
)

#: Every table, in the order of the reference page.
ALL = (
    PANES,
    WINDOW_RESULTS,
    LATE_EVENTS,
    INVALID_EVENTS,
    WATERMARKS,
    COMPLETE_RESULTS,
    PAIRS,
    ADVANCES,
    RUNS,
    QUALITY,
    DRIFT,
    PARTITIONS,
)
BY_NAME = {table.name: table for table in ALL}

_OF_WINDOWS = (Use.WINDOWS, Use.WINDOWS_AND_JOIN)
_OF_JOINS = (Use.JOIN, Use.WINDOWS_AND_JOIN)


def _named(*uses: Use) -> Iterator[str]:
    return (table.name for table in ALL if table.use in uses)


#: What a run of windows publishes.
RESULT_TABLES = tuple(_named(*_OF_WINDOWS))
#: What a run of a join publishes instead. A join has no calendar: a pair holds what fired it.
JOIN_TABLES = (PAIRS.name, *_named(Use.WINDOWS_AND_JOIN))
#: What a run in the mode `complete` publishes besides `RESULT_TABLES`.
COMPLETE_TABLE = COMPLETE_RESULTS.name
#: Whatever a run may publish.
PUBLISHABLE = (*RESULT_TABLES, PAIRS.name, ADVANCES.name, COMPLETE_TABLE)
#: What every run records beside a publication.
RECORDS = tuple(_named(Use.RECORD))
