"""The contract is every key that a pipeline file may contain: its form, whether it is required, and its value.

A name that belongs to a later version is listed as `later`: it is refused by name, never ignored and never taken for a
typo. Keys that are left out get the defaults of the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from spark_jobs.pipeline import join_rules, quality_rules, rules
from spark_jobs.pipeline.document import Scalar, join
from spark_jobs.pipeline.emission import EMISSION
from spark_jobs.pipeline.forms import Form, Leaf, Plain, choice, duration, flag, pattern, ratio, text, whole_number
from spark_jobs.pipeline.joins import JOIN, Declared
from spark_jobs.pipeline.model import (
    Accumulation,
    Aggregate,
    Alignment,
    EndOfInput,
    LateData,
    LatePanes,
    Mode,
    Order,
    Pipeline,
    Placement,
    Quality,
    Repair,
    ReplayOrder,
    Source,
    Strategy,
    UnitedSource,
    Watermark,
    WindowKind,
    Windows,
)
from spark_jobs.pipeline.names import argument, result_column
from spark_jobs.pipeline.quality import QUALITY
from spark_jobs.pipeline.records import Either, Field, ListOf, Record, Rest
from spark_jobs.pipeline.schedules import SCHEDULE, catchup_is_of_runs_that_go_on
from spark_jobs.pipeline.source_partitions import COLUMNS, SOURCE_PARTITION
from spark_jobs.pipeline.sources import together
from spark_jobs.pipeline.time_fields import TIME_FIELD
from spark_jobs.pipeline.triggers import TRIGGER


def _aggregates(expressions: Mapping[str, str]) -> tuple[Aggregate, ...]:
    return tuple(Aggregate(name, expression) for name, expression in expressions.items())


def _arguments(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    return arguments


def _united(name: str, watermark: Watermark = Watermark(), **source: Any) -> UnitedSource:  # noqa: B008
    return UnitedSource(name, Source(**source), watermark)


def _pipeline(
    source: Source | None = None,
    sources: tuple[UnitedSource, ...] = (),
    join: Declared | None = None,
    windows: Windows | None = None,
    **rest: Any,
) -> Pipeline | None:
    """Return None if a rule has reported a problem with the sources, the join or the windows."""
    if len({united.name for united in sources}) > 1:
        rest["sources"], source = sources, together(sources)
    if join is not None:
        rest["join"] = join.of(tuple(united.name for united in sources) or join.names)
        windows = windows or Windows(kind=WindowKind.NONE)
        if "quality" in rest:
            rest["quality"] = _about_pairs(rest["quality"])
    return None if source is None or windows is None else Pipeline(source=source, windows=windows, **rest)


def _about_pairs(quality: Quality) -> Quality:
    """Return `quality` with expectations about the pairs of a join where they name no table."""
    expectations = (replace(e, table="pairs") if e.table == "panes" else e for e in quality.expectations)
    return replace(quality, expectations=tuple(expectations))


def _guard(node: Scalar) -> int | None:
    return None if node.text == "none" else duration().parse(node)


_SOURCE_FIELDS = (
    Field("table", "table", text("a Delta path or catalog.schema.table"), required=True),
    Field("event_time", "event_time", TIME_FIELD, required=True),
    Field("arrival_time", "arrival_time", TIME_FIELD),
    Field("source_partition", "source_partition", SOURCE_PARTITION),
    Field("tie_break", "tie_break", COLUMNS),
    Field("offset", "offset", text("a column or SQL expression, the row's place in its partition")),
    Field("where", "where", text("a SQL condition such as 'tailnum is not null'")),
    Field("future_guard", "future_guard_ms", Leaf("a duration such as '1 day', or none", _guard)),
)
_SOURCE = Record(Source, fields=_SOURCE_FIELDS)


_REPLAY = Record(
    ReplayOrder,
    fields=(
        Field("order", "order", choice(Order)),
        Field("end_of_input", "end_of_input", choice(EndOfInput)),
        Field("rows_per_round", "rows_per_round", whole_number("a number of rows, at least 1", least=1)),
        Field("mode", "mode", choice(Mode)),
    ),
)

_IDLE_TIMEOUT = "a duration longer than 0, such as '12 hours'"

_ALIGNMENT = Record(
    Alignment,
    fields=(
        Field("max_drift", "max_drift_ms", duration(), required=True),
        Field("update_interval", "update_interval_ms", duration("a duration longer than 0, such as '1s'", least_ms=1)),
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
        Field("placement", "placement", choice(Placement)),
        Field("strategy", "strategy", choice(Strategy)),
        Field("out_of_orderness", "out_of_orderness_ms", duration()),
        Field("when", "when", text("a SQL condition that marks rows, such as 'is_heartbeat'")),
        Field("value", "value", TIME_FIELD),
        Field("lag", "lag_ms", duration()),
        Field("class", "generator", _CLASS),
        Field("arguments", "arguments", _ARGUMENTS),
        Field("idle_timeout", "idle_timeout_ms", duration(_IDLE_TIMEOUT, least_ms=1)),
        Field("alignment", "alignment", _ALIGNMENT),
        Field("emit", "emit", EMISSION),
    ),
)

_KIND = replace(pattern(rules.KIND, "|".join(WindowKind)).then(WindowKind), later=("global",))

_WINDOWS = Record(
    Windows,
    fields=(
        Field("kind", "kind", _KIND),
        Field("size", "size_ms", duration(rules.SIZE, least_ms=1)),
        Field("slide", "slide_ms", duration("a duration longer than 0, such as '15 minutes'", least_ms=1)),
        Field("offset", "offset_ms", duration("a duration such as '0s' or '-8 hours'", least_ms=None)),
        Field("gap", "gap_ms", duration(rules.GAP, least_ms=1)),
        Field(
            "key",
            "key",
            ListOf(
                text("a column").then(result_column),
                rules.KEY,
                identity=str.lower,
            ),
        ),
        Field("allowed_lateness", "allowed_lateness_ms", duration()),
        Field("trigger", "trigger", TRIGGER),
        Field("accumulation", "accumulation", choice(Accumulation)),
        Field("late_data", "late_data", choice(LateData)),
        Field("late_panes", "late_panes", choice(LatePanes)),
        Field(
            "aggregates",
            "aggregates",
            Record(
                _aggregates,
                rest=Rest("expressions", text("a SQL aggregate such as count(*)"), name=result_column),
                what=rules.AGGREGATES,
            ),
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
        rules.aggregates_are_not_empty,
        rules.result_names_differ,
    ),
    later=("evictor",),
)

_REPAIR = Record(
    Repair,
    fields=(
        Field("max_too_late_rows", "max_too_late_rows", whole_number("a number of rows, at least 0", least=0)),
        Field("max_too_late_ratio", "max_too_late_ratio", ratio("a share between 0 and 1, such as 0.01")),
        Field("ask", "ask", flag("true or false")),
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
        Field("name", "name", _NAME, required=True),
        *(field for field in _SOURCE_FIELDS if field.name != "offset"),
        Field(
            "watermark",
            "watermark",
            replace(_WATERMARK, fields=tuple(f for f in _WATERMARK.fields if f.name not in _OF_ONE_CLOCK)),
        ),
    ),
)
_UNITED_SOURCES = ListOf(_UNITED, "a list of two or more sources, each with a name")

PIPELINE = Record(
    _pipeline,
    fields=(
        Field("name", "name", _NAME, required=True),
        Field("source", "source", _SOURCE),
        Field("sources", "sources", _UNITED_SOURCES),
        Field("replay", "replay", _REPLAY),
        Field("watermark", "watermark", _WATERMARK),
        Field("join", "join", JOIN),
        Field("windows", "windows", _WINDOWS),
        Field("quality", "quality", QUALITY),
        Field("repair", "repair", _REPAIR),
        Field("schedule", "schedule", SCHEDULE),
    ),
    rules=(
        rules.windows_or_a_join(_WINDOWS.expected),
        rules.one_source_or_several,
        rules.sources_share_emission_and_placement,
        rules.arrival_order_needs_arrival_time,
        rules.settings_belong_to_their_strategy,
        rules.future_guard_needs_arrival_time,
        rules.offsets_belong_to_their_order,
        rules.alignment_belongs_to_offset_order,
        rules.complete_results_have_columns_of_their_own,
        *quality_rules.RULES,
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
