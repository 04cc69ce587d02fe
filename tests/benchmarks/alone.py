"""Run one task of the benchmark in a separate process, so that no task warms up or crowds another.

    python -m tests.benchmarks.alone TASK --events TABLE --lake FOLDER --result FILE [--rows N --seed N]

A task is a way, `events` (make them), `audit` (check what `ours` has staged) or `answers` (compare all ways).
The result has the seconds of work after the session was up, the peak of memory, and the counts of the task.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.session import open_session
from tests.benchmarks.answers import answers
from tests.benchmarks.events import generate, path_of
from tests.benchmarks.machine import peak_memory_bytes
from tests.benchmarks.ways import WAYS, audit

_ROOT = Path(__file__).parents[2]
_TAIL_LINES = 20


class TaskFailedError(RuntimeError):
    """A task that did not end well; the message has the end of its output."""


def run(task: str, folder: Path, *, rows: int, seed: int) -> dict[str, Any]:
    """Run a task in a separate process and return its result, with the seconds of the whole process.

    `folder` holds the events, the lakes and the logs. Raises TaskFailedError.
    """
    result, log = folder / f"{task}.json", folder / f"{task}.log"
    result.unlink(missing_ok=True)
    paths = {"--events": path_of(folder, rows, seed), "--lake": folder / "lake", "--result": result}
    options = [str(part) for pair in {**paths, "--rows": rows, "--seed": seed}.items() for part in pair]
    began = monotonic()
    with log.open("w", encoding="utf-8") as output:
        command = [sys.executable, "-m", "tests.benchmarks.alone", task, *options]
        ended = subprocess.run(command, cwd=_ROOT, stdout=output, stderr=subprocess.STDOUT, check=False)
    seconds = monotonic() - began
    if ended.returncode or not result.exists():
        tail = "\n".join(log.read_text(encoding="utf-8").splitlines()[-_TAIL_LINES:])
        raise TaskFailedError(f"{task} ended with exit code {ended.returncode}; the end of {log}:\n{tail}")
    return {**json.loads(result.read_text(encoding="utf-8")), "process_seconds": seconds}


def main() -> None:
    """Do the task that the command line names."""
    options = _parser().parse_args()
    work = _work(options)
    opened = WAYS[options.task].open_session if options.task in WAYS else open_session
    spark = opened(f"benchmark {options.task}")
    began = monotonic()
    counts = work(spark)
    result = {
        "work_seconds": monotonic() - began,
        "peak_memory_bytes": peak_memory_bytes(),
        "said": dict(counts),
    }
    spark.stop()
    options.result.write_text(json.dumps(result, indent=1), encoding="utf-8")


def _work(options: argparse.Namespace) -> Callable[[SparkSession], Mapping[str, Any]]:
    if options.task in WAYS:
        out = options.lake / options.task
        shutil.rmtree(out, ignore_errors=True)
        return lambda spark: WAYS[options.task].write(spark, options.events, out)
    tasks: dict[str, Callable[[SparkSession], Mapping[str, Any]]] = {
        "events": lambda spark: generate(spark, options.events, options.rows, options.seed),
        "audit": lambda spark: audit(spark, options.events, options.lake / "ours"),
        "answers": lambda spark: answers(spark, options.lake, options.rows),
    }
    return tasks[options.task]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task")
    for name in ("events", "lake", "result"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ("rows", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    return parser


if __name__ == "__main__":
    main()
