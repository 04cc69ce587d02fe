"""The contract is every key that a pipeline file may contain: its form, whether it is required, and its value.

A name that belongs to a later version is listed as `later`: it is refused by name, never ignored and never taken for a
typo. Keys that are left out get the defaults of the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from spark_jobs.pipeline import join_rules, quality_rules, quarantine, row_rules, rules
from spark_jobs.pipeline.document import join
from spark_jobs.pipeline.emission import EMISSION
from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.forms import Form, Plain, choice, duration, flag, or_none, pattern, ratio, text, whole_number
from spark_jobs.pipeline.joins import JOIN, Declared
from spark_jobs.pipeline.model import (
    Accumulation,
    Aggregate,
    Alignment,
    ComputedColumn,
    EndOfInput,
    LateData,
    LatePanes,
    Mode,
    Order,
    Pipeline,
    Placement,
    Quality,
    QuarantineRule,
    Repair,
    ReplayOrder,
    Source,
    Strategy,
    UnitedSource,
    Watermark,
    WindowKind,
    Windows,
)
from spark_jobs.pipeline.names import argument, result_column, source_column
from spark_jobs.pipeline.quality import QUALITY
from spark_jobs.pipeline.records import Either, Field, ListOf, Record, Rest
from spark_jobs.pipeline.schedules import SCHEDULE, catchup_is_of_runs_that_go_on
from spark_jobs.pipeline.source_partitions import COLUMNS, SOURCE_PARTITION
from spark_jobs.pipeline.sources import SOURCE, together
from spark_jobs.pipeline.time_fields import TIME_FIELD, TIMEZONE
from spark_jobs.pipeline.triggers import TRIGGER


def _aggregates(expressions: Mapping[str, str]) -> tuple[Aggregate, ...]:
    return tuple(Aggregate(name, expression) for name, expression in expressions.items())


def _computed(expressions: Mapping[str, str]) -> tuple[ComputedColumn, ...]:
    return tuple(ComputedColumn(name, expression) for name, expression in expressions.items())


def _windows(
    key: tuple[str, ...] | tuple[ComputedColumn, ...] = (), **rest: Any
) -> tuple[Windows, tuple[ComputedColumn, ...]]:
    """Return the windows, and the columns of a key that is written as expressions."""
    computed = tuple(column for column in key if isinstance(column, ComputedColumn))
    names = tuple(column.name if isinstance(column, ComputedColumn) else column for column in key)
    return Windows(key=names, **rest), computed


def _with_columns(source: Source, columns: tuple[ComputedColumn, ...]) -> Source:
    return replace(source, columns=(*source.columns, *columns))


def _arguments(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    return arguments


def _united(name: str, watermark: Watermark = Watermark(), **source: Any) -> UnitedSource:  # noqa: B008
    if source.get("select"):
        source["select"] = (*source["select"], SOURCE)
    return UnitedSource(name, Source(**source), watermark)


def _pipeline(
    source: Source | None = None,
    sources: tuple[UnitedSource, ...] = (),
    join: Declared | None = None,
    windows: tuple[Windows, tuple[ComputedColumn, ...]] | None = None,
    **rest: Any,
) -> Pipeline | None:
    """Return None if a rule has reported a problem with the sources, the join or the windows."""
    of_windows, of_key = windows or (None, ())
    if source is not None:
        source = replace(_with_columns(source, of_key), quarantine=_quarantine(rest.get("quality", Quality())))
    sources = tuple(replace(united, source=_with_columns(united.source, of_key)) for united in sources)
    if len({united.name for united in sources}) == len(sources) > 1:
        rest["sources"], source = sources, together(sources)
    if join is not None:
        rest["join"] = join.of(tuple(united.name for united in sources) or join.names)
        of_windows = of_windows or Windows(kind=WindowKind.NONE)
        if "quality" in rest:
            rest["quality"] = _about_pairs(rest["quality"])
    return None if source is None or of_windows is None else Pipeline(source=source, windows=of_windows, **rest)


def _quarantine(quality: Quality) -> tuple[QuarantineRule, ...]:
    """Return the rules about rows of the source, without those that a rule of the contract has refused."""
    rules_of_rows = []
    for expectation in quality.expectations:
        with suppress(RefusedError):
            rules_of_rows += [quarantine.rule(expectation)] if expectation.quarantines else []
    return tuple(rules_of_rows)


def _about_pairs(quality: Quality) -> Quality:
    """Return `quality` with expectations about the pairs of a join where they name no table."""
    expectations = (replace(e, table="pairs") if e.table == "panes" else e for e in quality.expectations)
    return replace(quality, expectations=tuple(expectations))


_PATTERNS = ListOf(
    text("a column or pattern"), "a list of columns or patterns such as [id, payload_*]", identity=str.lower
)

_SOURCE_FIELDS = (
    Field(
        "table",
        "table",
        text("a Delta path or catalog.schema.table"),
        required=True,
        meaning="The Delta table that contains the events: a path, or a name in a catalog.",
    ),
    Field(
        "event_time",
        "event_time",
        TIME_FIELD,
        required=True,
        meaning="When the event happened: a column or SQL expression.",
    ),
    Field(
        "arrival_time",
        "arrival_time",
        TIME_FIELD,
        meaning="When the row became known: a column or SQL expression.",
    ),
    Field(
        "source_partition",
        "source_partition",
        SOURCE_PARTITION,
        meaning="Columns that name the source partition of a row. Each source partition has its own watermark, "
        "and the slowest holds the windows back.",
    ),
    Field(
        "tie_break",
        "tie_break",
        COLUMNS,
        meaning="Columns that order rows with the same arrival time.",
    ),
    Field(
        "offset",
        "offset",
        text("a column or SQL expression, the row's place in its partition"),
        meaning="Position of the row within its source partition, an integer. Only for the order `offset`.",
    ),
    Field(
        "columns",
        "columns",
        Record(
            _computed,
            rest=Rest("expressions", text("a SQL expression over the table's columns"), name=source_column),
            rules=(rules.computed_names_differ,),
            what="a mapping of new columns to SQL expressions, such as {page: payload.page}",
        ),
        meaning="Columns that the table lacks: a name and a SQL expression over the columns of a row for each. All "
        "other settings may use them as columns.",
    ),
    Field(
        "select",
        "select",
        _PATTERNS,
        meaning="Columns that late and invalid events carry; without this key, all. `*` stands for any text, `?` for "
        "any character. The key is always carried.",
    ),
    Field(
        "exclude",
        "exclude",
        _PATTERNS,
        meaning="Columns that late and invalid events do not carry, with patterns as in `select`. The replay reads "
        "such a column only if a setting names it.",
    ),
    Field(
        "deduplicate",
        "deduplicate",
        COLUMNS,
        meaning="Columns that name a row. Of rows with the same values in all of them, only the first to arrive enters "
        "windows.",
    ),
    Field(
        "where",
        "where",
        text("a SQL condition such as 'tailnum is not null'"),
        meaning="Only rows for which this SQL condition is true enter windows and joins.",
    ),
    Field(
        "future_guard",
        "future_guard_ms",
        or_none(duration("a duration such as '1 day'")),
        meaning="A row whose event time is later than its arrival time by more than this is invalid. `none` "
        "switches the check off.",
    ),
)
_SOURCE = Record(Source, fields=_SOURCE_FIELDS)


_REPLAY = Record(
    ReplayOrder,
    fields=(
        Field(
            "order",
            "order",
            choice(Order),
            meaning="Order in which rows arrive.",
        ),
        Field(
            "end_of_input",
            "end_of_input",
            choice(EndOfInput),
            meaning="Whether the end of the input closes all windows, or leaves them open for a later run.",
        ),
        Field(
            "rows_per_round",
            "rows_per_round",
            whole_number("a number of rows, at least 1", least=1),
            meaning="Rows that each source partition reads in a round. Only for the order `offset`.",
        ),
        Field(
            "mode",
            "mode",
            choice(Mode),
            meaning="Whether a run also publishes complete results.",
        ),
    ),
)

_IDLE_TIMEOUT = "a duration longer than 0, such as '12 hours'"

_ALIGNMENT = Record(
    Alignment,
    fields=(
        Field(
            "max_drift",
            "max_drift_ms",
            duration(),
            required=True,
            meaning="How far the watermark of a source partition may be ahead of the slowest before the "
            "partition waits.",
        ),
        Field(
            "update_interval",
            "update_interval_ms",
            duration("a duration longer than 0, such as '1s'", least_ms=1),
            meaning="Length of a round, after which the drift is compared again.",
        ),
    ),
)

_CLASS = pattern(
    "a class as package.module:Class",
    r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*",
)
_ARGUMENTS = Record(
    _arguments,
    rest=Rest("arguments", Plain(), name=argument),
    what="a mapping of the class's arguments to values, such as {rows: 1000}",
)

_WATERMARK = Record(
    Watermark,
    fields=(
        Field(
            "placement",
            "placement",
            choice(Placement),
            meaning="Whether rows that `source.where` drops move the watermark.",
        ),
        Field(
            "strategy",
            "strategy",
            choice(Strategy),
            meaning="How the watermark of a source partition follows its rows.",
        ),
        Field(
            "out_of_orderness",
            "out_of_orderness_ms",
            duration(),
            meaning="The out-of-orderness bound. Only for the strategy `bounded_out_of_orderness`.",
        ),
        Field(
            "when",
            "when",
            text("a SQL condition that marks rows, such as 'is_heartbeat'"),
            meaning="SQL condition that marks the rows that carry a watermark. Only for the strategy `punctuated`.",
        ),
        Field(
            "value",
            "value",
            TIME_FIELD,
            meaning="The watermark that a marked row carries; without this key, the event time. Only for the "
            "strategy `punctuated`.",
        ),
        Field(
            "lag",
            "lag_ms",
            duration(),
            meaning="How far the watermark is behind the arrival clock. Only for the strategy `time_lag`.",
        ),
        Field(
            "class",
            "generator",
            _CLASS,
            meaning="Python class of the watermark generator; each source partition has one instance. Only for "
            "the strategy `custom`.",
        ),
        Field(
            "arguments",
            "arguments",
            _ARGUMENTS,
            meaning="Arguments for the constructor of the class. Only for the strategy `custom`.",
        ),
        Field(
            "idle_timeout",
            "idle_timeout_ms",
            duration(_IDLE_TIMEOUT, least_ms=1),
            meaning="A source partition without rows for longer than this is idle and holds no window back. "
            "Without this key, none becomes idle.",
        ),
        Field(
            "alignment",
            "alignment",
            _ALIGNMENT,
            meaning="Source partitions that are too far ahead wait. Only for the order `offset`; without this "
            "key, none waits.",
        ),
        Field(
            "emit",
            "emit",
            EMISSION,
            meaning="When the watermark is emitted.",
        ),
    ),
)

_KIND = replace(pattern(rules.KIND, "|".join(WindowKind)).then(WindowKind), later=("global",))

_WINDOWS = Record(
    _windows,
    fields=(
        Field(
            "kind",
            "kind",
            _KIND,
            meaning="How windows divide the time line.",
        ),
        Field(
            "size",
            "size_ms",
            duration(rules.SIZE, least_ms=1),
            meaning="Length of a tumbling or sliding window.",
        ),
        Field(
            "slide",
            "slide_ms",
            duration("a duration longer than 0, such as '15 minutes'", least_ms=1),
            meaning="Distance between the starts of two sliding windows.",
        ),
        Field(
            "offset",
            "offset_ms",
            duration("a duration such as '0s' or '-8 hours'", least_ms=None),
            meaning="Shift of the window grid from 1970-01-01 00:00 in the time zone, a Thursday; shorter than the "
            "size, or than the slide of sliding windows.",
        ),
        Field(
            "timezone",
            "timezone",
            TIMEZONE,
            meaning="Time zone on whose clock windows of whole days start and end, such as Europe/Berlin. A day has 23 "
            "or 25 hours where that clock changes.",
        ),
        Field(
            "gap",
            "gap_ms",
            duration(rules.GAP, least_ms=1),
            meaning="A session ends this long after its last row.",
        ),
        Field(
            "key",
            "key",
            Either(
                rules.KEY,
                items=ListOf(text("a column").then(result_column), rules.KEY, identity=str.lower),
                block=Record(
                    _computed,
                    rest=Rest("expressions", text("a SQL expression over the table's columns"), name=result_column),
                    rules=(rules.computed_names_differ,),
                    what=rules.KEY,
                ),
            ),
            meaning="Columns that group rows; each key has its own windows. `[]` puts all rows into one group. A "
            "mapping also declares the columns as in `source.columns`.",
        ),
        Field(
            "allowed_lateness",
            "allowed_lateness_ms",
            duration(),
            meaning="How long after a window's last millisecond, in event time, the window still takes late rows.",
        ),
        Field(
            "trigger",
            "trigger",
            TRIGGER,
            meaning="When a window fires.",
        ),
        Field(
            "accumulation",
            "accumulation",
            choice(Accumulation),
            meaning="Which rows a pane contains.",
        ),
        Field(
            "late_data",
            "late_data",
            choice(LateData),
            meaning="What happens to rows that arrive after the allowed lateness.",
        ),
        Field(
            "late_panes",
            "late_panes",
            choice(LatePanes),
            meaning="Whether late rows fire one by one or together.",
        ),
        Field(
            "aggregates",
            "aggregates",
            Record(
                _aggregates,
                rest=Rest("expressions", text("a SQL aggregate such as count(*)"), name=result_column),
                what=rules.AGGREGATES,
            ),
            meaning="Result columns: a name and a Spark SQL aggregate for each, at least one.",
        ),
    ),
    rules=(
        rules.windows_have_a_key_and_aggregates,
        rules.lengths_belong_to_the_kind,
        rules.slide_belongs_to_sliding_windows,
        rules.sessions_fire_late_rows_one_by_one,
        rules.triggers_fire_late_rows_themselves,
        rules.windows_overlap_within_reason,
        rules.offset_is_shorter_than_period,
        rules.local_windows_last_whole_days,
        rules.aggregates_are_not_empty,
        rules.result_names_differ,
    ),
    later=("evictor",),
)

_REPAIR = Record(
    Repair,
    fields=(
        Field(
            "max_too_late_rows",
            "max_too_late_rows",
            whole_number("a number of rows, at least 0", least=0),
            meaning="A closed window that missed more rows than this, over all keys, is repaired. Without this "
            "key, any number is allowed.",
        ),
        Field(
            "max_too_late_ratio",
            "max_too_late_ratio",
            ratio("a share between 0 and 1, such as 0.01"),
            meaning="A closed window that missed a larger share of its rows is repaired. Without this key, any "
            "share is allowed.",
        ),
        Field(
            "ask",
            "ask",
            flag("true or false"),
            meaning="Whether a person decides in Airflow before windows are repaired.",
        ),
    ),
)

_NAME = pattern(
    "a name of lower-case letters, digits and _, a letter first, at most 100 characters", r"[a-z][a-z0-9_]{0,99}"
)

#: What is the same for all sources of a pipeline, or belongs to an order that several do not have.
_OF_ONE_CLOCK = (*rules.OF_ALL_SOURCES, "alignment")

_UNITED = Record(
    _united,
    fields=(
        Field(
            "name",
            "name",
            _NAME,
            required=True,
            meaning="Name of the source, and the value of the column `source` in its rows.",
        ),
        *(field for field in _SOURCE_FIELDS if field.name != "offset"),
        Field(
            "watermark",
            "watermark",
            replace(_WATERMARK, fields=tuple(f for f in _WATERMARK.fields if f.name not in _OF_ONE_CLOCK)),
            meaning="How the watermark of this source follows its rows. `emit` and `placement` are set once, in "
            "the pipeline's `watermark`.",
        ),
    ),
)
_UNITED_SOURCES = ListOf(_UNITED, "a list of two or more sources, each with a name")

PIPELINE = Record(
    _pipeline,
    fields=(
        Field(
            "name",
            "name",
            _NAME,
            required=True,
            meaning="Name of the pipeline, of its DAG and of its folder in the lake.",
        ),
        Field(
            "source",
            "source",
            _SOURCE,
            meaning="The table that the pipeline reads.",
        ),
        Field(
            "sources",
            "sources",
            _UNITED_SOURCES,
            meaning="Two or more tables that the pipeline reads as one stream.",
        ),
        Field(
            "replay",
            "replay",
            _REPLAY,
            meaning="Order in which rows arrive, and what the end of the input means.",
        ),
        Field(
            "watermark",
            "watermark",
            _WATERMARK,
            meaning="How the watermark follows the rows.",
        ),
        Field(
            "join",
            "join",
            JOIN,
            meaning="Which rows of two inputs form pairs.",
        ),
        Field(
            "windows",
            "windows",
            _WINDOWS,
            meaning="Windows of each key, when they fire, and what they compute.",
        ),
        Field(
            "quality",
            "quality",
            QUALITY,
            meaning="Checks that results must pass before they are published.",
        ),
        Field(
            "repair",
            "repair",
            _REPAIR,
            meaning="When closed windows are computed again with the rows that they missed. Without this key, "
            "no window is repaired.",
        ),
        Field(
            "schedule",
            "schedule",
            SCHEDULE,
            meaning="When Airflow runs the pipeline. Without this key, you start each run.",
        ),
    ),
    rules=(
        rules.windows_or_a_join(_WINDOWS.expected),
        rules.one_source_or_several,
        rules.a_column_is_computed_once,
        rules.keys_are_carried,
        rules.sources_share_emission_and_placement,
        rules.arrival_order_needs_arrival_time,
        rules.settings_belong_to_their_strategy,
        rules.future_guard_needs_arrival_time,
        rules.offsets_belong_to_their_order,
        rules.alignment_belongs_to_offset_order,
        rules.complete_results_have_columns_of_their_own,
        *quality_rules.RULES,
        *row_rules.RULES,
        *join_rules.RULES,
        catchup_is_of_runs_that_go_on,
    ),
)


def homes(form: Form = PIPELINE, key: str = "") -> Iterator[tuple[str, str]]:
    """Return every (name, mapping in which it is known) below a form."""
    if isinstance(form, Either) and form.block is not None:
        yield from homes(form.block, key)
    if isinstance(form, Record):
        for field in form.fields:
            yield field.name, key
            yield from homes(field.form, join(key, field.name))
