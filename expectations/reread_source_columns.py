"""Compute the times and the reason of a staged row again, from the source columns that the table keeps.

`late_events` and `invalid_events` have every column of the source. A source column with the name of a column of the
table is staged under another name (`carried_columns`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import INVALID_EVENTS, LATE_EVENTS
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import event_time, left_out
from spark_jobs.replay.rows.prepare import prepare
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.semantics.rows import carried_columns

_STAGED_PREFIX = f"{c.PREFIX}staged_"
# The columns that the tables add to the columns of the source.
_LATE_COLUMNS = tuple(column.name for column in LATE_EVENTS.own_columns if not column.when)
_INVALID_COLUMNS = tuple(column.name for column in INVALID_EVENTS.own_columns if not column.when)


def late_rows_matching_source(rows: DataFrame, pipeline: Pipeline, name: str) -> DataFrame:
    """Add the column `name` to late events: true if the source columns give the staged times.

    The row must also be valid, and satisfy `source.where`. The column is true for every row if the times cannot be
    computed again: in commit order, and if a source column is missing.
    """
    event = F.unix_micros(F.col(_staged("event_time"))) == F.col(c.EVENT_US)
    arrival_us = F.col(c.ARRIVAL_US) if pipeline.replay.in_rounds else F.coalesce(c.ARRIVAL_US, c.CLOCK_US)
    arrival = F.unix_micros(F.col(_staged("arrival_time"))).eqNullSafe(arrival_us)
    return _with_match(rows, _LATE_COLUMNS, pipeline, name, F.col(c.VALID) & F.col(c.KEPT) & event & arrival)


def invalid_rows_matching_source(rows: DataFrame, pipeline: Pipeline, name: str) -> DataFrame:
    """Add the column `name` to invalid events: true if the source columns give the staged reason.

    The column is true for every row if the reason cannot be computed again.
    """
    return _with_match(
        rows, _INVALID_COLUMNS, pipeline, name, F.col(_staged("reason")).eqNullSafe(left_out.reason(pipeline))
    )


def source_rows_of_invalid(rows: DataFrame) -> DataFrame:
    """Return staged invalid events with the columns of the source under their names, and the column `reason`."""
    names = carried_columns.origins(rows.schema)
    if "reason" in {name.lower() for name in names.values()}:
        return rows
    return rows.drop(*names.values()).withColumnsRenamed(names)


def _with_match(
    rows: DataFrame, table_columns: Sequence[str], pipeline: Pipeline, name: str, condition: Column
) -> DataFrame:
    """Add `name`, the value of `condition` over the staged columns and the columns of the prepared source row."""
    staged_names = {column.lower() for column in rows.columns}
    staged_copies = {_staged(column): F.col(column) for column in table_columns if column in staged_names}
    names = carried_columns.origins(rows.schema)
    source_rows = rows.withColumns(staged_copies).drop(*names.values()).withColumnsRenamed(names)
    if pipeline.replay.by_commit:
        return rows.withColumn(name, F.lit(True))
    try:
        compared = prepare(source_rows, _with_all_columns(pipeline)).withColumn(
            name, F.coalesce(condition, F.lit(False))
        )
    except (AnalysisException, event_time.TimeFieldError):
        return rows.withColumn(name, F.lit(True))
    staged_columns = [
        F.col(_staged(column) if column in table_columns else quoted(names.get(column, column))).alias(column)
        for column in rows.columns
    ]
    return compared.select(*staged_columns, name)


def _with_all_columns(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline that reads all columns of staged rows."""
    sources = tuple(replace(u, source=replace(u.source, select=(), exclude=())) for u in pipeline.sources)
    return replace(pipeline, source=replace(pipeline.source, select=(), exclude=()), sources=sources)


def _staged(name: str) -> str:
    return f"{_STAGED_PREFIX}{name}"
