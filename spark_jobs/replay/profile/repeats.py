"""Repeats: rows that fill windows although an equal row does, and that `source.deduplicate` could leave out.

Two rows are equal if they are equal in every column but the arrival time: a delivery that is repeated arrives later.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows.json_text import json_text
from spark_jobs.replay.rows.prepare import fills_windows, source_columns
from spark_jobs.replay.rows.quoting import quoted


def repeated_rows(prepared: DataFrame, pipeline: Pipeline) -> int:
    """Count the rows that fill windows and equal another row, without the first of each; reads each row once."""
    arrival = pipeline.source.arrival_time
    own = "" if arrival is None else arrival.expression.strip("`").lower()
    names = [name for name in source_columns(prepared) if name.lower() != own]
    hashed = F.xxhash64(json_text(F.struct(*(F.col(quoted(name)) for name in names)))).alias("content")
    groups = prepared.where(fills_windows()).groupBy(hashed).agg(F.count("*").alias("rows"))
    return int(groups.agg(F.coalesce(F.sum(F.col("rows") - F.lit(1)), F.lit(0))).collect()[0][0])
