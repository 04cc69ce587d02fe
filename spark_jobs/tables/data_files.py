"""Data files: rows read from Parquet files that a table's log names, without Delta.

Delta would need several jobs to load a table after each commit. A path is one file: characters that Spark takes for a
pattern of paths are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from spark_jobs.local_rows import no_rows
from spark_jobs.tables import stored_names

_PATTERN = re.compile(r"([\[\]{}*?\\,])")


def read(spark: SparkSession, schema: StructType, paths: Sequence[str], *, file_name: str = "") -> DataFrame:
    """Return the rows of files of a table with the columns `schema`, by stored or original names.

    The result has the original names. With `file_name` it also has a column of that name with the name of each row's
    file.
    """
    if not paths:
        return no_rows(spark, stored_names.original_schema(schema))
    rows = spark.read.schema(stored_names.stored_schema(schema)).parquet(*map(escaped, paths))
    if file_name:
        rows = rows.withColumn(file_name, F.col("_metadata.file_name"))
    return stored_names.original(rows)


def escaped(path: str) -> str:
    """Return a path as a pattern that matches that path alone."""
    return _PATTERN.sub(r"\\\1", path)


def read_bytes(rows: DataFrame) -> int:
    """Return how many bytes of files the rows are read from, as Spark's planner estimates it: too many if unsure."""
    plan = rows._jdf.queryExecution().optimizedPlan()  # noqa: SLF001  PySpark has no public name for it
    return int(str(plan.stats().sizeInBytes()))
