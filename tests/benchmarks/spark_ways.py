"""The ways that are programs for a Spark session: each writes its windows or pairs of the same events to Delta.

    ours        Tidemark's replay alone: watermarks, panes, results, late rows, invalid rows, published; no audit
    plain       groupBy(key, window(...)), as people write it
    tuned       the same, with everything done by hand that makes it faster
    streaming   Structured Streaming over the same table, in one micro-batch: the fastest setting
    streaming_by_hour   the same with a micro-batch an hour, so that its watermark moves; only if it is named

Only `ours` knows an arrival order, so only there can a row be late. The other ways have all that makes them fast and
right: the same cores, memory and Delta settings. No row is counted against them that they do not have to report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamReader

from spark_jobs.job_protocol import StepName, StepState
from spark_jobs.jobs.publish import publish as publishing
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.session import interpreting, open_session
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Step
from tests.benchmarks import pipelines
from tests.benchmarks.pipelines import lake_of, pipeline_of
from tests.benchmarks.shapes import (
    BOUND_MS,
    GAP_MS,
    LATENESS_MS,
    LONG_SIZE_MS,
    SECOND_SQL,
    SIZE_MS,
    SLIDE_MS,
    WITHIN_MS,
    Shape,
)

_AGGREGATES = ("events", "total", "mean", "highest")


@dataclass(frozen=True)
class Work:
    """What a way has done: what it counted, and the seconds of its steps, if it has any."""

    counts: Mapping[str, int] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SparkWay:
    """One of the programs: `open_session` gives its session, `write` does its work into an empty folder."""

    open_session: Callable[[str], SparkSession]
    write: Callable[[SparkSession, Path, Path, Shape], Work]


def audit(spark: SparkSession, events: Path, out: Path) -> Mapping[str, int]:
    """Check what `ours` has staged in `out`: what a run does between replay and publish."""
    runner = Runner(spark, pipeline_of(events), lake_of(out))
    return runner.step(StepName.AUDIT, runner.latest()).counts


def _ours(
    spark: SparkSession, events: Path, out: Path, shape: Shape, settings: Mapping[str, str] | None = None
) -> Work:
    return replayed(spark, pipeline_of(events, shape, settings), lake_of(out))


def replayed(spark: SparkSession, pipeline: Pipeline, lake: Lake) -> Work:
    """Plan, replay and publish a pipeline, without audit and report."""
    runner = Runner(spark, pipeline, lake)
    planned, plan = runner.begin(Interval())
    replay = runner.step(StepName.REPLAY, runner.find(planned.run.run_id))
    # The runner publishes after an audit only; here nothing is audited.
    began = datetime.now(UTC)
    versions = publishing.publish(spark, lake, planned.run)
    published = Step(StepName.PUBLISH, StepState.DONE, began, datetime.now(UTC), versions=versions)
    ledger.record(interpreting(spark), lake, planned.run, published)
    seconds = (published.finished_at - began).total_seconds()
    return Work(replay.counts, {"plan": plan.seconds, "replay": replay.seconds, "publish": seconds})


def _as_people_open_it(app_name: str) -> SparkSession:
    """A session with nothing set but what a session needs, cores and memory as the other ways have them."""
    session = open_session(app_name)
    session.conf.unset("spark.databricks.delta.snapshotPartitions")
    return session


def _plain(spark: SparkSession, events: Path, out: Path, shape: Shape) -> Work:
    results = _as_people_write_it(_table(spark, events), shape)
    results.write.format("delta").mode("overwrite").save(str(out / "results"))
    return Work()


def _as_people_write_it(table: DataFrame, shape: Shape) -> DataFrame:
    """The windows or pairs of a table, or of a stream."""
    if shape is Shape.JOIN:
        return _pairs(table, F.lit(True))
    windows = {
        Shape.TUMBLING: F.window("event_time", _interval(SIZE_MS)),
        Shape.SLIDING: F.window("event_time", _interval(LONG_SIZE_MS), _interval(SLIDE_MS)),
        Shape.SESSION: F.session_window("event_time", _interval(GAP_MS)),
    }
    grouped = table.groupBy("key", windows[shape].alias("window")).agg(*_aggregates())
    return grouped.select("key", "window.start", "window.end", *_AGGREGATES).toDF(
        "key", "window_start", "window_end", *_AGGREGATES
    )


def _pairs(table: DataFrame, also: Column, *more: str) -> DataFrame:
    """The pairs of a table's first and second rows; `also` is one more condition, on the columns `more` of both."""
    names = ("event_id", "key", "event_time", *more)
    first = table.where(f"not ({SECOND_SQL})").select(*names)
    second = table.where(SECOND_SQL).select(*(F.col(name).alias(f"second_{name}") for name in names))
    until = F.expr(f"event_time + interval '{WITHIN_MS // 1000}' second")
    near = F.col("second_event_time").between(F.col("event_time"), until)
    joined = first.join(second, (F.col("key") == F.col("second_key")) & near & also)
    return joined.select("key", F.col("event_id").alias("first_id"), F.col("second_event_id").alias("second_id"))


def _tuned(spark: SparkSession, events: Path, out: Path, shape: Shape) -> Work:
    # As many reducers as cores: the groups fit into memory, and each reducer costs a file and its scheduling.
    spark.conf.set("spark.sql.shuffle.partitions", spark.sparkContext.defaultParallelism)
    # Nothing here is skewed or of unknown size: there is nothing to adapt to.
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    table = _table(spark, events)
    by_hand: dict[Shape, Callable[[DataFrame], DataFrame]] = {
        Shape.TUMBLING: _tuned_windows,
        Shape.SLIDING: _tuned_sliding_windows,
        Shape.SESSION: partial(_as_people_write_it, shape=shape),
        Shape.JOIN: _tuned_pairs,
    }
    (
        by_hand[shape](table)
        .write.format("delta")
        .mode("overwrite")
        # Minima and maxima of seven columns cost as much as a column to write; readers ask for times.
        .option("delta.dataSkippingStatsColumns", "key" if shape is Shape.JOIN else "window_start")
        .save(str(out / "results"))
    )
    return Work()


def _tuned_windows(table: DataFrame) -> DataFrame:
    # A long as grouping key in place of `window`, a struct of two timestamps: smaller to hash, to shuffle, to compare.
    grouped = table.groupBy("key", _start_ms(SIZE_MS).alias("start_ms")).agg(*_aggregates())
    return grouped.select("key", *_window(SIZE_MS), *_AGGREGATES)


def _tuned_sliding_windows(table: DataFrame) -> DataFrame:
    """Count every slide once, and put the six slides of a window together."""
    slides = table.groupBy("key", _start_ms(SLIDE_MS).alias("slide_ms")).agg(*_aggregates())
    starts = F.array(*(F.col("slide_ms") - F.lit(before) for before in range(0, LONG_SIZE_MS, SLIDE_MS)))
    windows = slides.withColumn("start_ms", F.explode(starts)).groupBy("key", "start_ms")
    total, events = F.sum("total"), F.sum("events")
    grouped = windows.agg(
        events.alias("events"), total.alias("total"), (total / events).alias("mean"), F.max("highest").alias("highest")
    )
    return grouped.select("key", *_window(LONG_SIZE_MS), *_AGGREGATES)


def _tuned_pairs(table: DataFrame) -> DataFrame:
    """Join by key and minute: a row meets those of two minutes, not those of the day."""
    minute = F.floor(F.unix_millis("event_time") / WITHIN_MS)
    # A first row looks into its own minute and into the next.
    minutes = F.explode(F.when(F.expr(SECOND_SQL), F.array(minute)).otherwise(F.array(minute, minute + 1)))
    return _pairs(table.withColumn("minute", minutes), F.col("minute") == F.col("second_minute"), "minute")


def _streaming(spark: SparkSession, events: Path, out: Path, shape: Shape) -> Work:
    return _stream(spark.readStream.format("delta"), events, out, shape)


def _streaming_by_hour(spark: SparkSession, events: Path, out: Path, shape: Shape) -> Work:
    return _stream(spark.readStream.format("delta").option("maxFilesPerTrigger", 1), events, out, shape)


def _stream(reader: DataStreamReader, events: Path, out: Path, shape: Shape) -> Work:
    # Its delay is both of our settings in one: how late a row may come and still be counted. A join has no lateness.
    delay_ms = BOUND_MS if shape is Shape.JOIN else BOUND_MS + LATENESS_MS
    rows = reader.load(str(events)).withWatermark("event_time", _interval(delay_ms))
    results = _as_people_write_it(rows, shape)
    # Streaming does not adapt the number of reducers, and each keeps separate state: 200, the default, is far slower.
    results.sparkSession.conf.set("spark.sql.shuffle.partitions", results.sparkSession.sparkContext.defaultParallelism)
    query = (
        results.writeStream.format("delta")
        .outputMode("append")
        .option("checkpointLocation", str(out / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(out / "results"))
    )
    query.awaitTermination()
    return Work()


def _table(spark: SparkSession, path: Path) -> DataFrame:
    return spark.read.format("delta").load(str(path))


def _aggregates() -> list[Column]:
    functions = (F.count("*"), F.sum("value"), F.avg("value"), F.max("value"))
    return [function.alias(name) for name, function in zip(_AGGREGATES, functions, strict=True)]


def _interval(length_ms: int) -> str:
    return f"{length_ms // 1000} seconds"


def _start_ms(step_ms: int) -> Column:
    event_ms = F.unix_millis("event_time")
    return event_ms - F.pmod(event_ms, F.lit(step_ms))


def _window(size_ms: int) -> tuple[Column, Column]:
    start_ms, end_ms = F.col("start_ms"), F.col("start_ms") + F.lit(size_ms)
    return F.timestamp_millis(start_ms).alias("window_start"), F.timestamp_millis(end_ms).alias("window_end")


SPARK_WAYS = {
    "tuned": SparkWay(open_session, _tuned),
    "ours": SparkWay(open_session, _ours),
    "ours_per_event": SparkWay(open_session, partial(_ours, settings=pipelines.PER_EVENT)),
    "ours_every_second": SparkWay(open_session, partial(_ours, settings=pipelines.EVERY_SECOND)),
    "plain": SparkWay(_as_people_open_it, _plain),
    "streaming": SparkWay(open_session, _streaming),
    "streaming_by_hour": SparkWay(open_session, _streaming_by_hour),
}
