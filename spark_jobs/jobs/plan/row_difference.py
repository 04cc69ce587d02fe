"""The difference of two bags of rows, without grouping rows that are in both.

    first pass     counts rows by a hash of their values: each of `_PLACES` places gets the number of rows and sums of
                   hashes, of the first bag less those of the second
    second pass    groups the rows of places that are not empty then, by their values

Rows that are in both bags are in one place, where they cancel each other. A row that is in one bag alone leaves its
number or its hashes behind. Different rows could hide each other only with equal sums of two hashes, 128 bits together.

Rows are equal if their values are identical: 0.0 is not -0.0, and A is not a in any collation.
"""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.arrival_order import distinguishing, holds_map
from spark_jobs.replay.rows.json_text import json_text
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.watermark.changed_census import CHANGE
from spark_jobs.tables.data_files import read_bytes

_PLACES = 2**16
_PLACE = c.PREFIX + "place"
# Grouping so many bytes of Parquet files takes less time than another pass.
_WORTH_A_PASS = 8 * 2**20
# Types that Spark hashes by value. Nulls are skipped by a hash, so inside of arrays and structs they have no place.
_HASHED = (T.NumericType, T.BooleanType, T.BinaryType, T.DateType, T.TimestampType, T.TimestampNTZType)


def row_difference(rows: DataFrame, compared: Collection[str]) -> DataFrame:
    """Return each row whose number differs, once, with the difference as `CHANGE`.

    `rows` are those of both bags, with 1 or -1 as `CHANGE`. They are equal by the columns `compared`, which decide all
    others. Rows are read twice if they are many, so they are rows of files.
    """
    keys = {name: _keys(rows.schema[name]) for name in rows.columns if name in compared}
    if read_bytes(rows) > _WORTH_A_PASS and all(map(_is_hashed, (rows.schema[name] for name in keys))):
        rows = _of_unequal_places(rows, [key for keys_of_name in keys.values() for key in keys_of_name])
    return _grouped(rows, keys)


def surplus(rows: DataFrame, other: DataFrame) -> DataFrame:
    """Return the rows that `other` has less often, as often as it lacks them; both have the same columns.

    Unlike Spark's set operations, it takes columns of any type, and values that are identical for equal alone.
    """
    signed = rows.withColumn(CHANGE, F.lit(1)).unionByName(other.withColumn(CHANGE, F.lit(-1)))
    more = row_difference(signed, rows.columns).where(F.col(CHANGE) > 0)
    repeats = F.explode(F.array_repeat(F.lit(0), F.col(CHANGE).cast("int"))).alias(_PLACE)
    return more.select("*", repeats).select(*map(quoted, rows.columns))


def _grouped(rows: DataFrame, keys: dict[str, list[Column]]) -> DataFrame:
    """Return the difference by grouping all rows."""
    groups, any_values, names = [], [], {}
    for i, name in enumerate(name for name in rows.columns if name != CHANGE):
        own = keys.get(name, [])
        groups += [key.alias(f"k{i}_{j}") for j, key in enumerate(own)]
        is_key = len(own) == 1 and not holds_map(rows.schema[name].dataType)
        any_values += [] if is_key else [F.any_value(F.col(quoted(name))).alias(f"v{i}")]
        names[name] = f"k{i}_0" if is_key else f"v{i}"
    counted = rows.groupBy(*groups).agg(F.sum(CHANGE).alias(CHANGE), *any_values).where(F.col(CHANGE) != 0)
    return counted.select(*(F.col(value).alias(name) for name, value in names.items()), CHANGE)


def _of_unequal_places(rows: DataFrame, keys: list[Column]) -> DataFrame:
    """Return the rows of all places whose number of rows or hashes differs between the two bags."""
    values = [*keys, *(key.isNull() for key in keys)]
    first, second = F.xxhash64(*values), F.xxhash64(F.lit(1), *values)
    # A sum of halves cannot overflow.
    halves = [half for each in (first, second) for half in (F.shiftright(each, 32), each.bitwiseAND(F.lit(2**32 - 1)))]
    sums = [F.sum(F.col(CHANGE) * half).alias(f"sum{i}") for i, half in enumerate(halves)]
    placed = rows.withColumn(_PLACE, first.bitwiseAND(F.lit(_PLACES - 1)))
    totals = placed.groupBy(_PLACE).agg(F.sum(CHANGE).alias(CHANGE), *sums)
    is_unequal = " or ".join(f"{name} != 0" for name in totals.columns if name != _PLACE)
    unequal = totals.where(is_unequal).select(_PLACE).localCheckpoint()
    if unequal.isEmpty():
        return rows.limit(0)
    return placed.join(F.broadcast(unequal), _PLACE, "left_semi").drop(_PLACE)


def _keys(field: T.StructField) -> list[Column]:
    """Return the columns by which values are grouped. Spark groups no variants and no maps, but their text."""
    value = F.col(quoted(field.name))
    if holds_map(field.dataType):
        return [json_text(F.struct(value))]
    return [value, *distinguishing([field.name], {field.name: field.dataType})]


def _is_hashed(field: T.StructField) -> bool:
    kind = field.dataType
    if isinstance(kind, T.StringType):
        return kind.isUTF8BinaryCollation()
    return isinstance(kind, _HASHED) or holds_map(kind)
