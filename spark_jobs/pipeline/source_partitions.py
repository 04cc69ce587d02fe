"""A source partition is the split that owns a watermark: `[origin]`, or `{columns: [origin], declared: [EWR, JFK]}`.

A declared partition is a value for each column: a scalar for one column, a list for several.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from spark_jobs.pipeline.document import Scalar, quoted
from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.forms import Leaf, text
from spark_jobs.pipeline.model import SourcePartition
from spark_jobs.pipeline.names import source_column
from spark_jobs.pipeline.records import Either, Field, ListOf, Record
from spark_jobs.pipeline.review import Facts


def _value(node: Scalar) -> str | int | float:
    if node.value is None:
        raise RefusedError("a partition without a value cannot be declared")
    if node.is_ambiguous:
        raise RefusedError(quoted(node))
    return node.value


def _fits_columns(facts: Facts) -> Iterator[tuple[str, str]]:
    columns, declared = facts.value("columns"), facts.value("declared")
    if not isinstance(columns, tuple) or not isinstance(declared, tuple):
        return
    for position, values in enumerate(declared):
        if len(values) != len(columns):
            expected = f"expected one for each column of [{', '.join(columns)}]"
            yield f"declared[{position}]", f"found {len(values)} value{'s' * (len(values) != 1)}, {expected}"


_VALUE = Leaf("a value of the partition column", _value)
_DECLARED = Either(
    "a value for each partition column",
    scalar=_VALUE.then(lambda value: (value,)),
    items=ListOf(_VALUE, "a value for each partition column"),
)

#: A list of columns of the source.
COLUMNS = ListOf(text("a column").then(source_column), "a list of columns such as [origin]", identity=str.lower)

SOURCE_PARTITION = Either(
    "a list of columns such as [origin], or {columns, declared}",
    items=replace(COLUMNS, build=SourcePartition),
    block=Record(
        SourcePartition,
        fields=(
            Field(
                "columns",
                "columns",
                COLUMNS,
                required=True,
                meaning="Columns that name the source partition of a row: texts, integers, decimals, booleans, dates "
                "or timestamps.",
            ),
            Field(
                "declared",
                "declared",
                ListOf(_DECLARED, "a list such as [EWR, JFK]", identity=repr),
                meaning="Source partitions that exist from the beginning and hold the watermark back until "
                "their first row. A value is compared as text: a decimal has all digits of its column, as 1.50, and a "
                "timestamp is 2024-03-01 06:30:00 in UTC.",
            ),
        ),
        rules=(_fits_columns,),
    ),
)
