"""Own columns: what a source row that a table keeps says of itself, read again as the replay has read it.

`late_events` and `invalid_events` keep every column of the source, so that their times, and the reason why a row is
invalid, can be told a second time. A source column that has given way to one of ours is there as `source_<name>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import INVALID_EVENTS, LATE_EVENTS
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import event_time
from spark_jobs.replay.rows.prepare import prepare

_GIVEN_WAY = "source_"
# The columns that the tables add to the columns of the source.
_LATE = tuple(column.name for column in LATE_EVENTS.own_columns if not column.when)
_INVALID = tuple(column.name for column in INVALID_EVENTS.own_columns if not column.when)


def late_rows_matching_source(rows: DataFrame, pipeline: Pipeline, name: str) -> DataFrame:
    """The late events with `name`: whether the row is valid, kept by `where`, and its times are those of its columns.

    True of every row where that cannot be told: commits are no columns, and a part of the source's may be missing.
    """
    event = F.unix_micros(F.col(_told("event_time"))) == F.col(c.EVENT_US)
    arrived = F.col(c.ARRIVAL_US) if pipeline.replay.in_rounds else F.coalesce(c.ARRIVAL_US, c.CLOCK_US)
    arrival = F.unix_micros(F.col(_told("arrival_time"))).eqNullSafe(arrived)
    return _beside(rows, _LATE, pipeline, name, F.col(c.VALID) & F.col(c.KEPT) & event & arrival)


def invalid_rows_matching_source(rows: DataFrame, pipeline: Pipeline, name: str) -> DataFrame:
    """The invalid events with `name`: whether their reason is the one that their columns give.

    True of every row where that cannot be told.
    """
    return _beside(rows, _INVALID, pipeline, name, F.col(_told("reason")).eqNullSafe(F.col(c.REASON)))


def _beside(rows: DataFrame, added: Sequence[str], pipeline: Pipeline, name: str, holds: Column) -> DataFrame:
    """`rows` with the condition `holds` on what is told and what the prepared row says."""
    there = {column.lower() for column in rows.columns}
    told = {_told(one): F.col(one) for one in added if one in there}
    opened = reduce(_restored, added, rows.withColumns(told))
    if pipeline.replay.by_commit:
        return rows.withColumn(name, F.lit(True))
    try:
        judged = prepare(opened, pipeline).withColumn(name, F.coalesce(holds, F.lit(False)))
    except (AnalysisException, event_time.TimeFieldError):
        return rows.withColumn(name, F.lit(True))
    given = [F.col(_told(one)).alias(one) if one in added else _as_staged(one, judged) for one in rows.columns]
    return judged.select(*given, name)


def _restored(rows: DataFrame, added: str) -> DataFrame:
    """`rows` with the source's own column in place of the one called `added`, if that has taken its name."""
    given_way = next((name for name in rows.columns if name.lower() == _GIVEN_WAY + added), None)
    return rows if given_way is None else rows.drop(added).withColumnRenamed(given_way, added)


def _as_staged(name: str, judged: DataFrame) -> Column:
    there = name if name in judged.columns else name.removeprefix(_GIVEN_WAY)
    return F.col(f"`{there}`").alias(name)


def _told(name: str) -> str:
    return f"{c.PREFIX}told_{name}"
