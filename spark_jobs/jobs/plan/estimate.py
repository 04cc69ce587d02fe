"""The extent of a planned run, counted by Spark."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.plan import arrival_slices
from spark_jobs.jobs.plan.extent import Extent
from spark_jobs.jobs.plan.plan_request import Plan
from spark_jobs.jobs.stage.slices import whole
from spark_jobs.pipeline.model import Pipeline, Windows
from spark_jobs.replay import source_rows
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import window_assigners
from spark_jobs.replay.rows.prepare import prepare
from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.tables import source
from spark_jobs.tables.interval_condition import holds
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import CHANGED


def extent(spark: SparkSession, pipeline: Pipeline, lake: Lake, planned: Plan) -> Extent:
    """Return the extent of a planned run. Costs one pass over the source's event times."""
    frames = _read(spark, pipeline, lake, planned)
    files, size = _files(spark, pipeline, planned, frames)
    rows = _prepared(frames, pipeline)
    if pipeline.windows.are_missing:
        return Extent(rows.count(), files, size, None, None)
    oldest, newest = window_assigners.oldest_ms(F.col(c.TS_MS), pipeline.windows), F.col(c.WINDOW_MS)
    in_windows = F.col(c.VALID) & (oldest <= newest) & holds(planned.interval, f"timestamp_millis({c.WINDOW_MS})")
    totals = rows.agg(
        F.count("*").alias("rows"),
        F.min(F.when(in_windows, oldest)).alias("first"),
        F.max(F.when(in_windows, newest)).alias("last"),
    ).collect()[0]
    first, last = (
        None if ms is None else EPOCH + timedelta(milliseconds=ms) for ms in (totals["first"], totals["last"])
    )
    if first is not None and planned.interval.start is not None:
        first = max(first, planned.interval.start)
    return Extent(totals["rows"], files, size, first, last)


def _read(spark: SparkSession, pipeline: Pipeline, lake: Lake, planned: Plan) -> list[DataFrame]:
    """Return the rows that the run reads: of both inputs of a join, else of all sources together."""
    run = planned.run
    if pipeline.join is not None:
        inputs = arrival_slices.arrived_inputs(*source.inputs(spark, pipeline, run.pinned), pipeline, run)
        return [rows for rows in inputs if rows is not None]
    resumed = arrival_slices.resumption(spark, pipeline, lake, run, arrival_slices.base(spark, lake, run))
    rows = arrival_slices.read(spark, pipeline, run)
    if run.kind == CHANGED:
        return [source_rows.reaching(rows, pipeline, whole(run.interval))]
    return [rows if resumed is None else arrival_slices.mattering(rows, pipeline, resumed)]


def _files(spark: SparkSession, pipeline: Pipeline, planned: Plan, frames: list[DataFrame]) -> tuple[int, int]:
    if pipeline.replay.by_commit:
        return source.table_size(spark, planned.table)
    files = source.files_of(spark, frames)
    versions = zip(planned.tables.values(), planned.run.pinned.values(), strict=True)
    return files.count, sum(source.size_of(spark, table, version, files) for table, version in versions)


def _prepared(frames: list[DataFrame], pipeline: Pipeline) -> DataFrame:
    """Return the prepared rows of all sources; for a join only their times."""
    if pipeline.join is None:
        return prepare(frames[0], pipeline)
    alone = [pipeline.alone(united) for united in pipeline.sources] or [pipeline]
    timed = [
        prepare(rows, replace(of, windows=_grid(of.windows))).select(c.VALID, c.TS_MS, c.WINDOW_MS)
        for rows, of in zip(frames, alone, strict=True)
    ]
    return reduce(DataFrame.union, timed)


def _grid(windows: Windows) -> Windows:
    return Windows(size_ms=1) if windows.are_missing else windows
