"""The tasks of Nexmark that need Spark, each in a separate process.

    python -m tests.benchmarks.nexmark_tasks TASK --events FOLDER --out FOLDER --result FILE

A task is a query, `load` (make Delta tables of the generator's lines in OUT), or `compare-QUERY` (Tidemark's answer in
OUT beside that of Flink).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from time import monotonic

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline import load
from spark_jobs.session import open_session
from spark_jobs.tables.lake import Lake
from tests.benchmarks.spark_ways import Work, replayed

QUERIES = ("q5", "q7", "q8", "q11")
#: 2025-01-01, the time of the first event.
BASE_MS = 1_735_689_600_000

_SQL = Path(__file__).parent / "nexmark_queries"
_SCHEMAS = {
    "person": "id long, name string, emailAddress string, creditCard string, city string, state string, "
    "dateTime long, extra string",
    "auction": "id long, itemName string, description string, initialBid long, reserve long, dateTime long, "
    "expires long, seller long, category long, extra string",
    "bid": "auction long, bidder long, price long, dateTime long, extra string",
}
_TIMES = ("dateTime", "expires")


def main() -> None:
    """Do the task that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task")
    for name in ("events", "out", "result"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    options = parser.parse_args()
    spark = open_session(f"nexmark {options.task}")
    began = monotonic()
    work = _task(options.task)(spark, options.events, options.out)
    result = {"work_seconds": monotonic() - began, **asdict(work)}
    spark.stop()
    options.result.write_text(json.dumps(result, indent=1), encoding="utf-8")


def _task(name: str) -> Callable[[SparkSession, Path, Path], Work]:
    if name == "load":
        return _load
    if name.startswith("compare-"):
        return lambda spark, events, out: _compare(spark, name.removeprefix("compare-"), out)
    return lambda spark, events, out: _query(spark, name, events, out)


def _load(spark: SparkSession, events: Path, text: Path) -> Work:
    """Write one file a table: Flink's SQL reads several files in any order, and a table's rows are in time order."""
    for name, schema in _SCHEMAS.items():
        lines = spark.read.csv(str(text / name), schema=schema, sep="\t", quote="", escape="\x00")
        times = {time: F.timestamp_millis(time) for time in _TIMES if time in lines.columns}
        lines.withColumns(times).coalesce(1).write.format("delta").save(str(events / name))
    return Work()


def _query(spark: SparkSession, query: str, events: Path, out: Path) -> Work:
    """Replay and publish the query's pipeline, then run its statement over the published tables."""
    pipeline = load(_SQL / f"{query}.yaml", environ={"TIDEMARK_BENCH_EVENTS": str(events)})
    lake = Lake(str(out), query)
    work = replayed(spark, pipeline, lake)
    table = "pairs" if pipeline.join else "window_results"
    for name, path in ((table, lake.path(table)), ("bid", str(events / "bid"))):
        spark.read.format("delta").load(path).createOrReplaceTempView(name)
    began = monotonic()
    statement = (_SQL / f"{query}.spark.sql").read_text(encoding="utf-8")
    spark.sql(statement).write.format("delta").save(str(out / "answer"))
    return Work(work.counts, {**work.steps, "query": monotonic() - began})


def _compare(spark: SparkSession, query: str, folder: Path) -> Work:
    ours = spark.read.format("delta").load(str(folder / f"{query}-ours" / "answer"))
    flink = spark.read.parquet(str(folder / f"{query}-flink")).select(*ours.columns)
    differing = ours.exceptAll(flink).count() + flink.exceptAll(ours).count()
    return Work({"rows": ours.count(), "differing": differing})


if __name__ == "__main__":
    main()
