"""Run one task of the benchmark in a separate process, so that no task warms up or crowds another.

    python -m tests.benchmarks.alone TASK --events TABLE --lake FOLDER --result FILE --rows N --seed N --shape SHAPE

A task is a way of Spark, `events` (make them), `audit` (check what `ours` has staged) or `answers` (compare all ways).
The result has the seconds of work after the session was up, in total and each time, and what the task counted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.session import open_session
from tests.benchmarks import environment, process
from tests.benchmarks.answers import answers
from tests.benchmarks.events import generate, path_of
from tests.benchmarks.shapes import Shape
from tests.benchmarks.spark_ways import SPARK_WAYS, Work, audit
from tests.benchmarks.ways import WAYS, Job, in_this_python


def run(
    task: str, folder: Path, *, rows: int, seed: int, shape: Shape = Shape.TUMBLING, times: int = 1
) -> dict[str, Any]:
    """Run a task in a separate process and return its result, with the seconds and the memory of the whole process.

    `folder` holds the events, the lakes and the logs. Raises TaskFailedError.
    """
    result = folder / f"{task}.json"
    result.unlink(missing_ok=True)
    job = Job(task, path_of(folder, rows, seed), rows, seed, shape, folder / "lake", result, times)
    way = WAYS.get(task)
    if way:
        shutil.rmtree(job.out, ignore_errors=True)
    if way and way.is_optional:
        environment.make()
    ended = process.run(
        task,
        way.command(job) if way else in_this_python(job),
        output=result if way and way.prints_result else folder / f"{task}.out",
        log=folder / f"{task}.log",
        environ={**os.environ, **(way.environ(job) if way else {})},
    )
    figures = (way.read if way else json.loads)(result.read_text(encoding="utf-8"))
    return {**figures, "process_seconds": ended.seconds, "peak_memory_bytes": ended.peak_memory_bytes}


def main() -> None:
    """Do the task that the command line names."""
    options = _parser().parse_args()
    opened = SPARK_WAYS[options.task].open_session if options.task in SPARK_WAYS else open_session
    spark = opened(f"benchmark {options.task}")
    seconds, work = [], Work()
    for out in _outs(options):
        began = monotonic()
        work = _work(spark, options, out)
        seconds.append({"work": monotonic() - began, **work.steps})
    spark.stop()
    result = {"work_seconds": sum(each["work"] for each in seconds), "each": seconds, **asdict(work)}
    options.result.write_text(json.dumps(result, indent=1), encoding="utf-8")


def _outs(options: argparse.Namespace) -> list[Path]:
    """An empty folder for each time; those of more than one time are not compared."""
    out = options.lake / options.task
    outs = [out] if options.times == 1 else [out.with_name(f"{out.name}-{n}") for n in range(options.times)]
    for folder in outs:
        shutil.rmtree(folder, ignore_errors=True)
    return outs


def _work(spark: SparkSession, options: argparse.Namespace, out: Path) -> Work:
    if options.task in SPARK_WAYS:
        return SPARK_WAYS[options.task].write(spark, options.events, out, options.shape)
    tasks: dict[str, Callable[[], Mapping[str, Any]]] = {
        "events": lambda: generate(spark, options.events, options.rows, options.seed),
        "audit": lambda: audit(spark, options.events, options.lake / "ours"),
        "answers": lambda: answers(spark, options.lake, options.rows, options.shape),
    }
    return Work(tasks[options.task]())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task")
    for name in ("events", "lake", "result"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ("rows", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--shape", type=Shape, choices=list(Shape), default=Shape.TUMBLING)
    parser.add_argument("--times", type=int, default=1)
    return parser


if __name__ == "__main__":
    main()
