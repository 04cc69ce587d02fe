"""The ways: four programs that make 10-minute windows of the same events, and write them to Delta.

    ours        Tidemark with everything published: watermarks, panes, results, late rows, invalid rows, ledger
    plain       groupBy(key, window(...)), as people write it
    tuned       the same, with everything done by hand that makes it faster
    streaming   Structured Streaming over the same table, in one micro-batch: the fastest setting
    streaming_by_hour   the same with a micro-batch an hour, so that its watermark moves; only if it is named

Only `ours` knows an arrival order, so only there can a row be late. The others are given all that they can be given to
be fast and right: the same cores, memory and Delta settings, and no row of them is counted against them that they do
not have to report.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamReader

from spark_jobs.jobs.publish import publish as publishing
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import load
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.session import interpreting, open_session
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Step

PIPELINE_FILE = Path(__file__).parent / "bench.yaml"

_SIZE_MS = 600_000
_AGGREGATES = ("events", "total", "mean", "highest")


@dataclass(frozen=True)
class Way:
    """One of the programs.

    `open_session` gives its session, `write` does its work on a table of events into an empty folder and gives what it
    counted, `results` reads its answer back: `key, window_start, events`. `reported` counts the rows that it has put
    aside, each where it can be looked at.
    """

    title: str
    open_session: Callable[[str], SparkSession]
    write: Callable[[SparkSession, Path, Path], Mapping[str, int]]
    results: Callable[[SparkSession, Path], DataFrame]
    reported: Callable[[SparkSession, Path], int] = lambda spark, out: 0


def pipeline_of(events: Path) -> Pipeline:
    """The benchmark's pipeline over the table of events; `TIDEMARK_BENCH_SIZE` may set the length of its windows."""
    size = os.environ.get("TIDEMARK_BENCH_SIZE") or f"{_SIZE_MS} ms"
    return load(PIPELINE_FILE, environ={"TIDEMARK_BENCH_EVENTS": str(events), "TIDEMARK_BENCH_SIZE": size})


def audit(spark: SparkSession, events: Path, out: Path) -> Mapping[str, int]:
    """Check what `ours` has staged in `out`: what a run does between replay and publish."""
    runner = Runner(spark, pipeline_of(events), _lake(out))
    return runner.step("audit", runner.latest()).counts


def _ours(spark: SparkSession, events: Path, out: Path) -> Mapping[str, int]:
    lake = _lake(out)
    runner = Runner(spark, pipeline_of(events), lake)
    planned, _ = runner.begin(Interval())
    counts = runner.step("replay", runner.find(planned.run.run_id)).counts
    # The runner publishes after an audit only; here the audit is a separate program, with its own time and memory.
    began = datetime.now(UTC)
    versions = publishing.publish(spark, lake, planned.run)
    published = Step("publish", "done", began, datetime.now(UTC), versions=versions)
    ledger.record(interpreting(spark), lake, planned.run, published)
    return counts


def _lake(out: Path) -> Lake:
    return Lake(str(out), "bench")


def _ours_results(spark: SparkSession, out: Path) -> DataFrame:
    results = spark.read.format("delta").load(_lake(out).path("window_results"))
    return results.select("key", "window_start", "events")


def _ours_reported(spark: SparkSession, out: Path) -> int:
    tables = ("late_events", "invalid_events")
    return sum(spark.read.format("delta").load(_lake(out).path(table)).count() for table in tables)


def _as_people_open_it(app_name: str) -> SparkSession:
    """A session with nothing set but what a session needs, cores and memory as the other ways have them."""
    session = open_session(app_name)
    session.conf.unset("spark.databricks.delta.snapshotPartitions")
    return session


def _plain(spark: SparkSession, events: Path, out: Path) -> Mapping[str, int]:
    table = spark.read.format("delta").load(str(events))
    results = table.groupBy("key", F.window("event_time", "10 minutes")).agg(*_aggregates())
    results.write.format("delta").mode("overwrite").save(str(out / "results"))
    return {}


def _tuned(spark: SparkSession, events: Path, out: Path) -> Mapping[str, int]:
    # As many reducers as cores: the groups fit into memory, and each reducer costs a file and its scheduling.
    spark.conf.set("spark.sql.shuffle.partitions", spark.sparkContext.defaultParallelism)
    # Nothing here is skewed or of unknown size: there is nothing to adapt to.
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    table = spark.read.format("delta").load(str(events))
    # A long as grouping key in place of `window`, a struct of two timestamps: smaller to hash, to shuffle, to compare.
    event_ms = F.unix_millis("event_time")
    start_ms = event_ms - F.pmod(event_ms, F.lit(_SIZE_MS))
    grouped = table.groupBy("key", start_ms.alias("start_ms")).agg(*_aggregates())
    results = grouped.select("key", *_window(F.col("start_ms")), *_AGGREGATES)
    (
        results.write.format("delta")
        .mode("overwrite")
        # Minima and maxima of seven columns cost as much as a column to write; readers ask for times.
        .option("delta.dataSkippingStatsColumns", "window_start")
        .save(str(out / "results"))
    )
    return {}


def _streaming(spark: SparkSession, events: Path, out: Path) -> Mapping[str, int]:
    return _stream(spark.readStream.format("delta"), events, out)


def _streaming_by_hour(spark: SparkSession, events: Path, out: Path) -> Mapping[str, int]:
    return _stream(spark.readStream.format("delta").option("maxFilesPerTrigger", 1), events, out)


def _stream(reader: DataStreamReader, events: Path, out: Path) -> Mapping[str, int]:
    results = (
        reader.load(str(events))
        # Its delay is both of our settings in one: how late a row may come and still be counted.
        .withWatermark("event_time", "11 minutes")
        .groupBy("key", F.window("event_time", "10 minutes"))
        .agg(*_aggregates())
    )
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
    return {}


def _aggregates() -> list[Column]:
    functions = (F.count("*"), F.sum("value"), F.avg("value"), F.max("value"))
    return [function.alias(name) for name, function in zip(_AGGREGATES, functions, strict=True)]


def _window(start_ms: Column) -> tuple[Column, Column]:
    end_ms = start_ms + F.lit(_SIZE_MS)
    return F.timestamp_millis(start_ms).alias("window_start"), F.timestamp_millis(end_ms).alias("window_end")


def _of_struct(spark: SparkSession, out: Path) -> DataFrame:
    table = spark.read.format("delta").load(str(out / "results"))
    return table.select("key", F.col("window.start").alias("window_start"), "events")


def _of_columns(spark: SparkSession, out: Path) -> DataFrame:
    return spark.read.format("delta").load(str(out / "results")).select("key", "window_start", "events")


WAYS = {
    "tuned": Way("plain Spark, tuned by hand", open_session, _tuned, _of_columns),
    "ours": Way("Tidemark, everything published", open_session, _ours, _ours_results, _ours_reported),
    "plain": Way("plain Spark, as people write it", _as_people_open_it, _plain, _of_struct),
    "streaming": Way("Structured Streaming, availableNow", open_session, _streaming, _of_struct),
    "streaming_by_hour": Way("Structured Streaming, by hour", open_session, _streaming_by_hour, _of_struct),
}
DEFAULT_WAYS = ("tuned", "ours", "plain", "streaming")
