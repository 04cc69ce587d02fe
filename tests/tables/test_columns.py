"""A table that takes up rows with other columns: what it has then, and which columns do not go together."""

from __future__ import annotations

import pytest
from pyspark.sql import types as T

from spark_jobs.tables.columns import clashes, merged_schema

INT, LONG, TEXT, DAY = T.IntegerType(), T.LongType(), T.StringType(), T.DateType()


def struct(**fields: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(name, kind) for name, kind in fields.items()])


BEFORE = struct(id=LONG, unit=TEXT, row=struct(a=INT, b=INT), tags=T.ArrayType(INT))


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (struct(id=LONG, row=struct(b=INT), tags=T.ArrayType(INT, containsNull=False)), []),
        (struct(ID=INT), ["'ID' was BIGINT and is INT now"]),
        (struct(row=struct(a=TEXT), more=DAY), ["'row.a' was INT and is STRING now"]),
        (struct(row=INT), ["'row' was STRUCT<A:INT,B:INT> and is INT now"]),
        (struct(tags=T.ArrayType(LONG)), ["'tags' was ARRAY<INT> and is ARRAY<BIGINT> now"]),
    ],
)
def test_columns_of_one_name_must_be_of_one_type(after: T.StructType, expected: list[str]) -> None:
    assert [str(clash) for clash in clashes(BEFORE, after)] == expected


def test_no_column_is_lost_and_the_later_order_counts() -> None:
    after = T.StructType([T.StructField("more", DAY, False), *struct(ID=LONG, row=struct(c=INT, a=INT))])
    expected = struct(more=DAY, id=LONG, row=struct(c=INT, a=INT, b=INT), unit=TEXT, tags=T.ArrayType(INT))
    assert merged_schema(BEFORE, after) == expected
