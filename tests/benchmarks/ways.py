"""The ways: programs that compute the same windows or pairs of the same events, each as a process of its own.

A way's process leaves its results in a folder, and in a file how long it worked after it was up, and what it counted.
The ways of Spark are described in `spark_ways`; beside them are

    whole       the command `tidemark replay` on a fresh lake: plan, replay, audit, publish, report
    duckdb      DuckDB over the same Parquet files: what a batch query on this machine can do at best
    flink       a DataStream job over the same Parquet files, in the order of arrival, with the same watermarks

Flink has the time of arrival as its clock, so it gives Tidemark's answer. Its work is what Flink itself reports for the
job, without the start of its cluster.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from tests.benchmarks import environment, java_programs, pipelines
from tests.benchmarks.pipelines import lake_of
from tests.benchmarks.shapes import (
    BOUND_MS,
    EMIT_MS,
    GAP_MS,
    LATENESS_MS,
    LONG_SIZE_MS,
    OVERRIDES,
    SIZE_MS,
    SLIDE_MS,
    WITHIN_MS,
    Shape,
)


@dataclass(frozen=True)
class Job:
    """A task of the benchmark: its table of events, the folder of its results, the file of its figures.

    `times` is how often it does its work, each time into an empty folder.
    """

    task: str
    events: Path
    rows: int
    seed: int
    shape: Shape
    lake: Path
    result: Path
    times: int = 1

    @property
    def out(self) -> Path:
        """The folder of the results."""
        return self.lake / self.task


@dataclass(frozen=True)
class Way:
    """One of the programs.

    `command` runs it. `results` reads its answer back, `key, start, end, events`: milliseconds of a window, or the ids
    of a pair. `reported` counts the rows that it has put aside, each where it can be looked at. `read` makes figures of
    the text that it has left.
    """

    title: str
    command: Callable[[Job], Sequence[str]]
    results: Callable[[SparkSession, Path, Shape], DataFrame]
    reported: Callable[[SparkSession, Path], int] = lambda spark, out: 0
    environ: Callable[[Job], Mapping[str, str]] = lambda job: {}
    read: Callable[[str], dict[str, Any]] = json.loads
    prints_result: bool = False
    is_optional: bool = False


def in_this_python(job: Job) -> list[str]:
    """The command of a task that needs Spark."""
    places = {"--events": job.events, "--lake": job.lake, "--result": job.result}
    numbers = {"--rows": job.rows, "--seed": job.seed, "--times": job.times, "--shape": job.shape}
    options = [str(part) for pair in {**places, **numbers}.items() for part in pair]
    return [sys.executable, "-m", "tests.benchmarks.alone", job.task, *options]


def _whole(job: Job) -> list[str]:
    overrides = [part for key, text in OVERRIDES[job.shape].items() for part in ("--set", f"{key}={text}")]
    return [sys.executable, "-m", "spark_jobs.cli", "replay", str(pipelines.FILE), "--json", *overrides]


def _whole_environ(job: Job) -> dict[str, str]:
    return {**pipelines.environ_of(job.events), "TIDEMARK_LAKE": str(job.out)}


def _of_command(text: str) -> dict[str, Any]:
    answer = json.loads(text)
    steps = {step["step"]: step["seconds"] for step in answer["steps"]}
    return {"work_seconds": answer["seconds"], "counts": answer["counts"], "steps": steps}


def _duckdb(job: Job) -> list[str]:
    paths = {"--events": job.events, "--out": job.out, "--result": job.result, "--shape": job.shape}
    options = [str(part) for pair in paths.items() for part in pair]
    return [str(environment.python()), "-m", "tests.benchmarks.duck", *options]


def _flink(job: Job) -> list[str]:
    times = (BOUND_MS, EMIT_MS, LATENESS_MS, SIZE_MS, LONG_SIZE_MS, SLIDE_MS, GAP_MS, WITHIN_MS)
    places = (job.events, job.shape, job.out, job.result)
    return java_programs.command_of("WindowJob", [*places, java_programs.cores(), *times])


def _published(spark: SparkSession, out: Path, shape: Shape) -> DataFrame:
    table = "pairs" if shape is Shape.JOIN else "window_results"
    rows = spark.read.format("delta").load(lake_of(out).path(table))
    if shape is Shape.JOIN:
        return _pairs(rows, F.col("first.key"), F.col("first.event_id"), F.col("second.event_id"))
    return _windows(rows)


def _put_aside(spark: SparkSession, out: Path) -> int:
    tables = ("late_events", "invalid_events")
    return sum(spark.read.format("delta").load(lake_of(out).path(table)).count() for table in tables)


def _by_hand(spark: SparkSession, out: Path, shape: Shape) -> DataFrame:
    rows = spark.read.format("delta").load(str(out / "results"))
    return _pairs(rows) if shape is Shape.JOIN else _windows(rows)


def _of_duckdb(spark: SparkSession, out: Path, shape: Shape) -> DataFrame:
    rows = spark.read.parquet(str(out / "results.parquet"))
    if shape is Shape.JOIN:
        return _pairs(rows)
    return rows.select("key", F.col("start_ms").alias("start"), F.col("end_ms").alias("end"), "events")


def _of_flink(spark: SparkSession, out: Path, shape: Shape) -> DataFrame:
    """Read the last firing of every window: each counts at least the rows of those before."""
    rows = spark.read.parquet(str(out / "results"))
    if shape is Shape.JOIN:
        return _pairs(rows)
    last = rows.groupBy("key", "start_ms", "end_ms").agg(F.max("events").alias("events"))
    if shape is Shape.SESSION:
        last = _not_replaced(last)
    return last.toDF("key", "start", "end", "events")


def _not_replaced(sessions: DataFrame) -> DataFrame:
    """Return the sessions that are in no longer session: a late row that fires has replaced the others."""
    longer_first = Window.partitionBy("key").orderBy("start_ms", F.col("end_ms").desc())
    before = longer_first.rowsBetween(Window.unboundedPreceding, -1)
    latest_end = sessions.withColumn("latest_end_ms", F.max("end_ms").over(before))
    return latest_end.where("latest_end_ms is null or end_ms > latest_end_ms").drop("latest_end_ms")


def _late_of_flink(spark: SparkSession, out: Path) -> int:
    return spark.read.parquet(str(out / "late")).count()


def _windows(rows: DataFrame) -> DataFrame:
    times = (F.unix_millis(f"window_{side}").alias(side) for side in ("start", "end"))
    return rows.select("key", *times, "events")


def _pairs(
    rows: DataFrame, key: Column | str = "key", first: Column | str = "first_id", second: Column | str = "second_id"
) -> DataFrame:
    columns = {"key": key, "start": first, "end": second}
    named = ((F.col(column) if isinstance(column, str) else column).alias(name) for name, column in columns.items())
    return rows.select(*named, F.lit(1).cast("long").alias("events"))


WAYS = {
    "tuned": Way("plain Spark, tuned by hand", in_this_python, _by_hand),
    "whole": Way(
        "Tidemark, whole: the command `replay`",
        _whole,
        _published,
        _put_aside,
        environ=_whole_environ,
        read=_of_command,
        prints_result=True,
    ),
    "ours": Way("Tidemark, replay alone", in_this_python, _published, _put_aside),
    "plain": Way("plain Spark, as people write it", in_this_python, _by_hand),
    "streaming": Way("Structured Streaming, availableNow", in_this_python, _by_hand),
    "streaming_by_hour": Way("Structured Streaming, by hour", in_this_python, _by_hand),
    "duckdb": Way("DuckDB", _duckdb, _of_duckdb, is_optional=True),
    "flink": Way("Flink", _flink, _of_flink, _late_of_flink, is_optional=True),
    "ours_every_second": Way("Tidemark, replay alone, emit every second", in_this_python, _published, _put_aside),
    "ours_per_event": Way("Tidemark, replay alone, emit per event", in_this_python, _published, _put_aside),
}
#: Ways that are measured for tumbling windows alone: how often the watermark moves.
EMISSIONS = ("ours_every_second", "ours_per_event")
DEFAULT_WAYS = ("tuned", "whole", "ours", "plain", "streaming", "duckdb", "flink", *EMISSIONS)
