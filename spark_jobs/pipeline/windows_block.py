"""The block `windows` of a pipeline file: the windows of each key, when they fire, and what they compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spark_jobs.pipeline import rules
from spark_jobs.pipeline.forms import choice, duration, pattern, text
from spark_jobs.pipeline.model import (
    Accumulation,
    Aggregate,
    ComputedColumn,
    Floats,
    LateData,
    LatePanes,
    WindowKind,
    Windows,
)
from spark_jobs.pipeline.names import result_column
from spark_jobs.pipeline.records import Either, Field, ListOf, Record, Rest
from spark_jobs.pipeline.source_block import computed_columns
from spark_jobs.pipeline.time_fields import TIMEZONE
from spark_jobs.pipeline.triggers import TRIGGER


def _aggregates(expressions: Mapping[str, str]) -> tuple[Aggregate, ...]:
    return tuple(Aggregate(name, expression) for name, expression in expressions.items())


def _windows(
    key: tuple[str, ...] | tuple[ComputedColumn, ...] = (), **rest: Any
) -> tuple[Windows, tuple[ComputedColumn, ...]]:
    """Return the windows, and the columns of a key that is written as expressions."""
    computed = tuple(column for column in key if isinstance(column, ComputedColumn))
    names = tuple(column.name if isinstance(column, ComputedColumn) else column for column in key)
    return Windows(key=names, **rest), computed


_KIND = replace(pattern(rules.KIND, "|".join(WindowKind)).then(WindowKind), later=("global",))

WINDOWS_BLOCK = Record(
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
                block=computed_columns(result_column, rules.KEY),
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
            "floats",
            "floats",
            choice(Floats),
            meaning="How aggregates add values of the types `float` and `double`.",
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
