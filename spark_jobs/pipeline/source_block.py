"""The block `source` of a pipeline file: the table that the pipeline reads, and the time and place of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spark_jobs.pipeline import rules
from spark_jobs.pipeline.forms import duration, or_none, text
from spark_jobs.pipeline.model import ComputedColumn, Source
from spark_jobs.pipeline.names import source_column
from spark_jobs.pipeline.records import Field, ListOf, Record, Rest
from spark_jobs.pipeline.source_partitions import COLUMNS, SOURCE_PARTITION
from spark_jobs.pipeline.time_fields import TIME_FIELD


def computed_columns(name: Callable[[str], str], expected: str) -> Record:
    """Return the form of a mapping of new columns, each named as `name` demands, to SQL expressions."""
    return Record(
        _computed,
        rest=Rest("expressions", text("a SQL expression over the table's columns"), name=name),
        rules=(rules.computed_names_differ,),
        what=expected,
    )


def _computed(expressions: Mapping[str, str]) -> tuple[ComputedColumn, ...]:
    return tuple(ComputedColumn(name, expression) for name, expression in expressions.items())


_PATTERNS = ListOf(
    text("a column or pattern"), "a list of columns or patterns such as [id, payload_*]", identity=str.lower
)

SOURCE_FIELDS = (
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
        computed_columns(source_column, "a mapping of new columns to SQL expressions, such as {page: payload.page}"),
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
        "switches the check off. An arrival time with a `unit` is not compared if it is before the year 2000: it may "
        "be a counter.",
    ),
)
SOURCE_BLOCK = Record(Source, fields=SOURCE_FIELDS)
