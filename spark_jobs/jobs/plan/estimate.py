"""How much a planned run has to do: what it reads, and the windows between the event times of that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.plan import arrival_slices
from spark_jobs.jobs.plan.plan import Plan
from spark_jobs.pipeline.model import Pipeline, Windows
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import window_assigners
from spark_jobs.replay.rows.prepare import prepare
from spark_jobs.tables import source
from spark_jobs.tables.lake import Lake

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Extent:
    """Rows, files and bytes of the sources that a run reads, and the first and last window that they lie in.

    Of files that hold a row it needs, all are counted. A join by interval has no windows.
    """

    source_rows: int
    source_files: int
    source_bytes: int
    first_window: datetime | None
    last_window: datetime | None


def extent(spark: SparkSession, pipeline: Pipeline, lake: Lake, planned: Plan) -> Extent:
    """Look at the source for what the run would read. Costs one pass over its event times."""
    frames = _read(spark, pipeline, lake, planned)
    files, size = _files(spark, pipeline, planned, frames)
    rows = _prepared(frames, pipeline)
    if pipeline.windows.are_missing:
        return Extent(rows.count(), files, size, None, None)
    oldest, newest = window_assigners.oldest_ms(F.col(c.TS_MS), pipeline.windows), F.col(c.WINDOW_MS)
    held = F.col(c.VALID) & (oldest <= newest) & planned.interval.holds(F.timestamp_millis(newest))
    found = rows.agg(
        F.count("*").alias("rows"),
        F.min(F.when(held, oldest)).alias("first"),
        F.max(F.when(held, newest)).alias("last"),
    ).collect()[0]
    first, last = (
        None if ms is None else _EPOCH + timedelta(milliseconds=ms) for ms in (found["first"], found["last"])
    )
    if first is not None and planned.interval.start is not None:
        first = max(first, planned.interval.start)
    return Extent(found["rows"], files, size, first, last)


def _read(spark: SparkSession, pipeline: Pipeline, lake: Lake, planned: Plan) -> list[DataFrame]:
    """The rows that the run reads: of both inputs of a join, else of all sources together."""
    run = planned.run
    if pipeline.join is not None:
        both = arrival_slices.arrived_inputs(*source.inputs(spark, pipeline, run.pinned), pipeline, run)
        return [rows for rows in both if rows is not None]
    resumed = arrival_slices.resumption(spark, pipeline, lake, run, arrival_slices.base(spark, lake, run))
    return [arrival_slices.read(spark, pipeline, run, resumed)]


def _files(spark: SparkSession, pipeline: Pipeline, planned: Plan, frames: list[DataFrame]) -> tuple[int, int]:
    if pipeline.replay.by_commit:
        return source.table_size(spark, planned.table)
    named = {file for rows in frames for file in rows.inputFiles()}
    versions = zip(planned.tables.values(), planned.run.pinned.values(), strict=True)
    return len(named), sum(source.size_of(spark, table, version, named) for table, version in versions)


def _prepared(frames: list[DataFrame], pipeline: Pipeline) -> DataFrame:
    """The rows of all sources, made ready: of those of a join the times alone."""
    if pipeline.join is None:
        return prepare(frames[0], pipeline)
    alone = [pipeline.alone(united) for united in pipeline.sources] or [pipeline]
    timed = [
        prepare(rows, replace(one, windows=_grid(one.windows))).select(c.VALID, c.TS_MS, c.WINDOW_MS)
        for rows, one in zip(frames, alone, strict=True)
    ]
    return reduce(DataFrame.union, timed)


def _grid(windows: Windows) -> Windows:
    return Windows(size_ms=1) if windows.are_missing else windows
