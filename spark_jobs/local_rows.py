"""Frames of a few rows that this process has: parts of the plan, without a task and without a Python worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema


def local_rows(spark: SparkSession, rows: Sequence[tuple[Any, ...]], schema: T.StructType | str) -> DataFrame:
    """Return rows as a frame, in the order of the columns of `schema`. All types must be types of Arrow."""
    struct = _struct(schema)
    names = struct.fieldNames()
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], to_arrow_schema(struct))
    return spark.createDataFrame(table)


def no_rows(spark: SparkSession, schema: T.StructType | str) -> DataFrame:
    """Return a frame without rows, with nullable columns of any type. Spark removes it from plans."""
    columns = [F.lit(None).cast(field.dataType).alias(field.name) for field in _struct(schema).fields]
    return spark.range(1).select(*columns).where(F.lit(False))


def _struct(schema: T.StructType | str) -> T.StructType:
    return schema if isinstance(schema, T.StructType) else cast("T.StructType", T.StructType.fromDDL(schema))
