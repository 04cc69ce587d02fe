"""One step of a run as a program, for spark-submit: `step.py STEP PIPELINE_FILE [options]`.

Says how it ended in its exit code (0 done, 1 failed, 2 wrong input, 3 blocked by quality), in a line on standard error,
and, whatever happens, in the JSON file that `--result` names.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.jobs import progress
from spark_jobs.jobs.errors import BlockedError, InputError, StaleError
from spark_jobs.jobs.operate import repair as repairing
from spark_jobs.jobs.options import parse_overrides
from spark_jobs.jobs.plan.dry_run import foreseen, in_words
from spark_jobs.jobs.runs import failures
from spark_jobs.jobs.runs.outcome import Outcome
from spark_jobs.jobs.runs.runner import SLICE, STEPS, WATERMARKS, Runner
from spark_jobs.pipeline import Pipeline, PipelineError, load
from spark_jobs.pipeline.durations import parse_duration
from spark_jobs.session import open_session
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import REPAIR

DONE, FAILED, WRONG_INPUT, BLOCKED = 0, 1, 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the step; returns the exit code."""
    asked = _parser().parse_args(arguments)
    began = monotonic()
    code, result = _take(asked)
    result["seconds"] = round(monotonic() - began, 3)
    progress.to_stderr(asked.step, result["error"] or result["message"])
    try:
        if asked.result:
            _write(Path(asked.result), result)
    except OSError as problem:
        progress.to_stderr(asked.step, f"--result: {asked.result} could not be written: {problem}")
        return code or FAILED
    return code


def _write(target: Path, result: dict[str, Any]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".partial")
    partial.write_text(json.dumps(result, indent=1, default=str))
    partial.replace(target)


def moment(text: str) -> datetime:
    """An ISO 8601 time, UTC unless it carries an offset."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"found the time '{text}', expected ISO 8601, such as 2013-07-01T00:00:00Z") from None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def interval(start: str | None, end: str | None) -> Interval:
    """The windows between two ISO 8601 times, empty or absent for no bound. Raises InputError."""
    return Interval(moment(start) if start else None, moment(end) if end else None)


def seconds(option: str, duration: str) -> float:
    """A duration such as `10 minutes` in seconds. Raises InputError."""
    try:
        return parse_duration(duration) / 1000
    except ValueError as problem:
        raise InputError(f"{option}: {problem}") from None


def _take(asked: argparse.Namespace) -> tuple[int, dict[str, Any]]:
    name = ""

    def failed(state: str, error: str) -> dict[str, Any]:
        return asdict(Outcome(asked.step, asked.run_id or "", name, state, error.splitlines()[0], error=error))

    try:
        pipeline = load(asked.pipeline, overrides=parse_overrides(asked.set))
        name = pipeline.name
        outcomes = _outcomes(asked, pipeline)
    except (PipelineError, InputError) as problem:
        return WRONG_INPUT, failed("stale" if isinstance(problem, StaleError) else "failed", str(problem))
    except BlockedError as problem:
        return BLOCKED, failed("asks" if problem.asks else "blocked", str(problem))
    except Exception as problem:
        import traceback

        traceback.print_exc()
        return FAILED, failed("failed", failures.told(problem))
    result = asdict(outcomes[-1])
    for outcome in outcomes:
        for part in ("counts", "checks", "versions"):
            result[part] = {**getattr(outcome, part), **result[part]}
    return DONE, result


def _outcomes(asked: argparse.Namespace, pipeline: Pipeline) -> list[Outcome]:
    spark = open_session(f"tidemark {asked.step} {pipeline.name}")
    lake, wait_s = Lake.of(pipeline.name), seconds("--wait", asked.wait)
    runner = Runner(spark, pipeline, lake, progress=progress.to_stderr, slices=asked.slices, wait_s=wait_s)
    if asked.step == "run":
        return runner.run(*_asked(asked), restate=asked.restate)
    if asked.step == "plan" and asked.dry_run:
        return [_foreseen(asked, spark, pipeline, lake)]
    if asked.step == "plan":
        return [runner.plan(*_asked(asked), restate=asked.restate)[1]]
    if asked.step == REPAIR:
        due = repairing.find(spark, pipeline, lake)
        return [repairing.foreseen(due, pipeline) if asked.dry_run else repairing.repair(runner, due, pipeline)]
    if not asked.run_id:
        raise InputError(f"{asked.step}: needs --run-id, which the step plan gives")
    run = runner.find(asked.run_id)
    if asked.step == "publish" and asked.because:
        run = runner.accept(run, asked.because)
    if asked.step == SLICE:
        return [runner.stage_slice(run, asked.slice)]
    return [runner.step(asked.step, run)]


def _foreseen(asked: argparse.Namespace, spark: SparkSession, pipeline: Pipeline, lake: Lake) -> Outcome:
    """What the plan would be."""
    found = foreseen(spark, pipeline, lake, *_asked(asked), restate=asked.restate)
    counts = {name: found[name] for name in ("source_rows", "source_files", "source_bytes")}
    return Outcome("plan", found["run_id"], pipeline.name, "foreseen", in_words(found), counts)


def _asked(asked: argparse.Namespace) -> tuple[Interval, datetime | None]:
    return interval(asked.start, asked.end), moment(asked.arrived_to) if asked.arrived_to else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="step.py", description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=[*STEPS, WATERMARKS, SLICE, "run", REPAIR])
    parser.add_argument("pipeline", help="the pipeline file")
    parser.add_argument("--run-id", help="the planned run; for every step but plan, run and repair")
    parser.add_argument("--because", help="of the step publish: why a run is published that its checks have blocked")
    parser.add_argument("--from", dest="start", help="first window's start, ISO 8601")
    parser.add_argument("--to", dest="end", help="end of the last window, ISO 8601")
    parser.add_argument("--arrived-to", help="read what arrived before this, ISO 8601")
    parser.add_argument("--restate", action="store_true", help="replace results of the pipeline with other settings")
    parser.add_argument(
        "--dry-run", action="store_true", help="of the steps plan and repair: only say what it would be"
    )
    parser.add_argument("--slices", type=int, default=1, help="how many stretches of windows to write one by one")
    parser.add_argument("--slice", default="", help="of the step slice: which of those that the step watermarks gave")
    parser.add_argument("--wait", default="0s", help="how long to wait for another process on the same windows")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a pipeline setting")
    parser.add_argument("--result", help="where to write how it ended, as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
