"""Rows that are left out by a rule or as duplicates, on columns (`semantics.rows.left_out`).

A row is a duplicate iff an earlier kept row has its identity. An identity is the JSON text of the values, with one text
for 0.0 and -0.0. So per identity the least position decides:

    hashes       hashes of identities that more than one kept row has: one aggregation of numbers
    first rows   for the identities of these hashes: the least position, and how many identical rows have it
    duplicates   rows of such an identity at a later position, and all but one of the identical first rows

The first rows are few and are computed once. They come from all rows that have arrived, so slices and runs that go on
leave out the same rows. Only where first rows have identical copies, the rows are read a second time to number them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.model import Pipeline, Source
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.json_text import json_text
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.semantics.rows.left_out import LeftOut

_HASH, _PLACE = c.PREFIX + "hash", c.PREFIX + "place_of_row"
_FIRST, _COPIES = c.PREFIX + "first", c.PREFIX + "copies"


def identity(rows: DataFrame, source: Source) -> dict[str, Column]:
    """Return the column `IDENTITY` by its name; no column for a source without `deduplicate`."""
    if not source.deduplicate:
        return {}
    names = {name.lower(): name for name in rows.columns}
    values = [F.col(quoted(names.get(name.lower(), name))).alias(f"v{i}") for i, name in enumerate(source.deduplicate)]
    is_named = F.lit(True)
    for value in values:
        is_named = is_named & value.isNotNull()
    kinds = rows.select(*values).schema
    alike = [_unsigned(value, field.dataType).alias(field.name) for value, field in zip(values, kinds, strict=True)]
    return {c.IDENTITY: F.when(is_named, json_text(F.struct(*alike)))}


def _unsigned(value: Column, kind: T.DataType) -> Column:
    """Return a value in which each -0.0 is 0.0: the two are equal. A MAP with floats becomes an array of its entries.

    Equal NaN have the same text. Text with a collation is compared by its bytes.
    """
    if not _has_floats(kind):
        return value
    match kind:
        case T.ArrayType():
            return F.transform(value, lambda item: _unsigned(item, kind.elementType))
        case T.MapType():
            entry = T.StructType([T.StructField("key", kind.keyType), T.StructField("value", kind.valueType)])
            return _unsigned(F.map_entries(value), T.ArrayType(entry))
        case T.StructType():
            fields = (_unsigned(value[field.name], field.dataType).alias(field.name) for field in kind)
            return F.when(value.isNotNull(), F.struct(*fields))
        case _:
            return value + F.lit(0.0).cast(kind)


def _has_floats(kind: T.DataType) -> bool:
    match kind:
        case T.ArrayType():
            return _has_floats(kind.elementType)
        case T.MapType():
            return _has_floats(kind.keyType) or _has_floats(kind.valueType)
        case T.StructType():
            return any(_has_floats(field.dataType) for field in kind)
        case _:
            return isinstance(kind, (T.FloatType, T.DoubleType))


def quarantined(rows: DataFrame, source: Source) -> DataFrame:
    """Return `rows` with `RULE`, and without it in `KEPT`; unchanged for a source without rules."""
    if not source.quarantine:
        return rows
    broken = F.coalesce(*(F.when(F.expr(rule.unexpected), F.lit(rule.name)) for rule in source.quarantine))
    ruled = rows.withColumn(c.RULE, F.when(F.col(c.VALID) & F.col(c.KEPT), broken))
    return ruled.withColumn(c.KEPT, F.col(c.KEPT) & F.col(c.RULE).isNull())


def of_source(prepared: DataFrame, number: int) -> DataFrame:
    """Return the rows of one of several sources, with its number and with identities of this source alone."""
    rows = prepared.withColumn(c.SOURCE, F.lit(number))
    if c.IDENTITY not in rows.columns:
        return rows
    return rows.withColumn(c.IDENTITY, F.concat(F.lit(f"{number}:"), F.col(c.IDENTITY)))


def first_rows(prepared: DataFrame, position: Column, among: DataFrame | None = None) -> DataFrame:
    """Return the identities of several kept rows with the first position and the number of rows at it.

    `among`, prepared rows, limits the result to their identities.
    """
    named = prepared.where(F.col(c.VALID) & F.col(c.KEPT) & F.col(c.IDENTITY).isNotNull())
    hashed = named.withColumn(_HASH, F.xxhash64(c.IDENTITY))
    if among is not None:
        identities = among.where(F.col(c.IDENTITY).isNotNull()).select(F.xxhash64(c.IDENTITY).alias(_HASH)).distinct()
        hashed = hashed.join(identities, _HASH, "left_semi")
    several = hashed.groupBy(_HASH).agg(F.count("*").alias("rows")).where("rows > 1").select(_HASH)
    placed = hashed.join(several, _HASH, "left_semi").select(c.IDENTITY, position.alias(_FIRST))
    copies = placed.groupBy(c.IDENTITY, _FIRST).agg(F.count("*").alias(_COPIES))
    return (
        copies.groupBy(c.IDENTITY)
        .agg(F.min(F.struct(_FIRST, _COPIES)).alias("least"), F.sum(_COPIES).alias("rows"))
        .where("rows > 1")
        .select(c.IDENTITY, f"least.{_FIRST}", f"least.{_COPIES}")
    )


def have_copies(firsts: DataFrame) -> bool:
    """Return whether identical rows share a first position."""
    return not firsts.where(F.col(_COPIES) > 1).isEmpty()


def without_duplicates(prepared: DataFrame, position: Column, firsts: DataFrame, *, copies: bool) -> DataFrame:
    """Return `prepared` with `IS_DUPLICATE`, and without duplicates in `KEPT`.

    `firsts` is `first_rows`, `copies` is `have_copies` of it.
    """
    beside = prepared.withColumn(_PLACE, position).join(firsts, c.IDENTITY, "left")
    is_named = F.col(c.VALID) & F.col(c.KEPT) & F.col(_FIRST).isNotNull()
    judged = beside.withColumn(c.IS_DUPLICATE, is_named & (F.col(_PLACE) > F.col(_FIRST)))
    if copies:
        is_copy = is_named & (F.col(_COPIES) > 1) & (F.col(_PLACE) == F.col(_FIRST))
        alike = Window.partitionBy(c.IDENTITY).orderBy(F.lit(0))
        numbered = judged.where(is_copy).withColumn(c.IS_DUPLICATE, F.row_number().over(alike) > 1)
        judged = judged.where(~F.coalesce(is_copy, F.lit(False))).unionByName(numbered)
    return judged.withColumn(c.KEPT, F.col(c.KEPT) & ~F.col(c.IS_DUPLICATE)).drop(_PLACE, _FIRST, _COPIES)


def reason(pipeline: Pipeline) -> Column:
    """Return why a prepared row is in `invalid_events`: its invalid time, or the rule that it breaks; else null."""
    return F.coalesce(c.REASON, c.RULE) if pipeline.source.quarantine else F.col(c.REASON)


def grouping(rows: DataFrame) -> dict[str, Column]:
    """Return the column `left_out` of the census by its name; no column where only `where` leaves rows out."""
    by_reason = {c.RULE: (LeftOut.QUARANTINED, F.col(c.RULE).isNotNull())} if c.RULE in rows.columns else {}
    if c.IS_DUPLICATE in rows.columns:
        by_reason[c.IS_DUPLICATE] = (LeftOut.DUPLICATES, F.col(c.IS_DUPLICATE))
    if not by_reason:
        return {}
    cases = [F.when(holds, F.lit(why.value)) for why, holds in by_reason.values()]
    return {"left_out": F.coalesce(*cases)}
