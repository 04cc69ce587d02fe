"""One step of a run as a program, for spark-submit: `step.py STEP PIPELINE_FILE [options]`.

The exit code is 0 done, 1 failed, 2 wrong input, 3 blocked by quality. Standard error ends with a line on how the step
ended; the JSON object at the address of `--result` has all of it, whatever happens. The address is a file, or an object
of a store: a driver on a cluster answers its caller on another machine.

With `--then` the same Spark takes the steps behind it as well, up to the first that is not done. The exit code is that
of the step itself: the result of a later step belongs to the caller's task for it.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from time import monotonic
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.code_of_error import code_of
from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import ExitCode, Option, StepName, StepResult, StepState
from spark_jobs.jobs import progress
from spark_jobs.jobs.errors import BlockedError, InputError, StaleError
from spark_jobs.jobs.operate import repair
from spark_jobs.jobs.options import optional_moment, parse_interval, parse_overrides, parse_seconds, set_variables
from spark_jobs.jobs.plan import dry_run
from spark_jobs.jobs.plan.delta_rs_source import NeedsSparkError
from spark_jobs.jobs.runs import failures, intervals_step, maintain_step, plan_step
from spark_jobs.jobs.runs.either_engine import by_either_engine
from spark_jobs.jobs.runs.intervals_step import Cutting
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.jobs.runs.steps import import_beside
from spark_jobs.jobs.step_options import step_parser
from spark_jobs.pipeline import Pipeline, PipelineError, load, parse
from spark_jobs.pipeline.environment import hide_values
from spark_jobs.runtime import garbage
from spark_jobs.runtime.caller import end_with_caller
from spark_jobs.session import open_session
from spark_jobs.tables import exchange
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.source_size import has_few_rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the step; returns the exit code."""
    options = step_parser(__doc__.splitlines()[0]).parse_args(arguments)
    set_variables(options)
    code, result = _Job(options).end()
    try:
        if options.result:
            exchange.write_answer(replace(result, exit_code=code), options.result)
    except LakeError as problem:
        progress.to_stderr(options.step, f"{Option.RESULT}: {problem}")
        return code or ExitCode.FAILED
    return code


class _Job:
    """The step that the options request, and the steps behind it, in one Spark."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._pipeline: Pipeline | None = None
        self._runner: Runner | None = None
        self._results: list[StepResult] = []

    def end(self) -> tuple[ExitCode, StepResult]:
        """Take the step and the steps behind it, and return how the step ended whatever happens."""
        code, result = self._end(self._options.step, self._options.run_id or "", self._take)
        if code is not ExitCode.DONE or self._runner is None:
            return code, result
        return code, replace(result, following=tuple(self._behind(self._runner, result)))

    def _behind(self, runner: Runner, result: StepResult) -> Iterator[StepResult]:
        """Return the steps of a whole run or of a repair, which are taken; take those behind any other step."""
        match self._options.step:
            case StepName.RUN:
                return map(_hidden, self._results)
            case StepName.REPAIR:
                return map(_hidden, result.following)
            case _:
                return self._following(self._options.then, runner, result)

    def _take(self) -> StepResult:
        options = self._options
        self._pipeline = _load(options.pipeline, parse_overrides(options.set))
        if options.step == StepName.INTERVALS:
            return _intervals(options, self._pipeline)
        if options.without_spark:
            return _without_spark(options, self._pipeline)
        import_beside(options.then)
        self._runner = _runner(options, self._pipeline)
        take = partial(_take, options, self._runner, self._pipeline)
        self._results = by_either_engine(take, self._runner.spark, partial(progress.to_stderr, options.step))
        return _merged(self._results)

    def _following(self, steps: Sequence[StepName], runner: Runner, result: StepResult) -> Iterator[StepResult]:
        """Take the steps behind one that is done. If checks block the run, its report is the last of them.

        A step that fails is left to the caller, who may try it again: it has no result here.
        """
        for step in steps:
            code, behind = self._end(step, result.run_id, partial(_take_behind, runner, result.run_id, step))
            if code not in (ExitCode.DONE, ExitCode.BLOCKED):
                return
            yield behind
            if code is ExitCode.BLOCKED:
                if behind.state is StepState.BLOCKED:
                    yield from self._following([StepName.REPORT], runner, result)
                return

    def _end(self, step: str, run_id: str, take: Callable[[], StepResult]) -> tuple[ExitCode, StepResult]:
        """Take one step, and return how it ended, after a line of progress about it."""
        began = monotonic()

        def failed(error: str, problem: Exception, state: StepState = StepState.FAILED) -> StepResult:
            name = "" if self._pipeline is None else self._pipeline.name
            code = code_of(problem).value
            return _ended(StepResult.failed(step, error, state, run_id=run_id, pipeline=name, code=code), began)

        try:
            return ExitCode.DONE, _ended(take(), began)
        except StaleError as problem:
            return ExitCode.WRONG_INPUT, failed(str(problem), problem, StepState.STALE)
        except (PipelineError, InputError) as problem:
            return ExitCode.WRONG_INPUT, failed(str(problem), problem)
        except BlockedError as problem:
            state = StepState.NEEDS_APPROVAL if problem.needs_approval else StepState.BLOCKED
            blocked = failed(str(problem), problem, state)
            return ExitCode.BLOCKED, replace(blocked, run_id=problem.run_id, figures=problem.figures)
        except Exception as problem:
            traceback.print_exc()
            return ExitCode.FAILED, failed(failures.describe(problem), problem)


def _load(pipeline: str, overrides: Mapping[str, str]) -> Pipeline:
    """Load a pipeline file, or the object of a store that a caller made of it."""
    if "://" not in pipeline:
        return load(pipeline, overrides=overrides)
    text = exchange.read_pipeline(pipeline)
    return parse(text, origin=pipeline, overrides=overrides)


def _take_behind(runner: Runner, run_id: str, step: StepName) -> StepResult:
    return runner.step(step, runner.find(run_id))


def _ended(result: StepResult, began: float) -> StepResult:
    """Return the result with its seconds and without values of variables, after a line of progress about it."""
    ended = replace(_hidden(result), seconds=round(monotonic() - began, 3))
    progress.to_stderr(ended.step, ended.error or ended.message)
    return ended


def _hidden(result: StepResult) -> StepResult:
    error = None if result.error is None else hide_values(result.error)
    return replace(result, message=hide_values(result.message), error=error)


def _merged(results: Sequence[StepResult]) -> StepResult:
    """The last result, with the counts, checks and versions of all; what a later step has wins.

    Figures are those of one step, so several steps have none together.
    """
    parts: dict[str, Any] = {
        part: {name: value for result in results for name, value in getattr(result, part).items()}
        for part in ("counts", "checks", "versions")
    }
    return replace(results[-1], **parts, figures=results[0].figures if len(results) == 1 else {})


def _runner(options: argparse.Namespace, pipeline: Pipeline) -> Runner:
    few_rows = has_few_rows(pipeline)
    spark = open_session(f"tidemark {options.step} {pipeline.name}", few_rows=few_rows, compiles_plans=not few_rows)
    lake, wait_s = Lake.of(pipeline.name), parse_seconds(Option.WAIT, options.wait)
    return Runner(spark, pipeline, lake, progress=progress.to_stderr, slices=options.slices, wait_s=wait_s)


def _take(options: argparse.Namespace, runner: Runner, pipeline: Pipeline) -> list[StepResult]:
    lake = Lake.of(pipeline.name)
    match options.step:
        case StepName.RUN:
            request = _Request.of(options)
            return runner.run(request.interval, request.arrived_to, restate=request.restate, changed=request.changed)
        case StepName.PLAN:
            return [_plan(options, runner, pipeline, lake)]
        case StepName.REPAIR:
            return [_repair(options, runner, pipeline, lake)]
        case StepName.MAINTAIN:
            return [maintain_step.maintain(runner.spark, pipeline, lake, parse_seconds(Option.WAIT, options.wait))]
        case _:
            return [_take_planned(options, runner)]


def _without_spark(options: argparse.Namespace, pipeline: Pipeline) -> StepResult:
    """Return the result of a plan that Spark does not make, or that only Spark can make."""
    request = _Request.of(options)
    try:
        if options.step != StepName.PLAN or options.dry_run:
            raise NeedsSparkError("rows are counted")
        lake = Lake.of(pipeline.name)
        return plan_step.without_spark(
            pipeline, lake, request.interval, request.arrived_to, restate=request.restate, changed=request.changed
        )
    except NeedsSparkError as reason:
        return StepResult(options.step, "", pipeline.name, StepState.NEEDS_SPARK, f"Spark plans the run: {reason}")


def _intervals(options: argparse.Namespace, pipeline: Pipeline) -> StepResult:
    """Return the intervals of a range, which need no Spark."""
    every_ms = round(parse_seconds(Option.EVERY, options.every) * 1000)
    cutting = Cutting(every_ms, newest_first=options.newest_first, only_missing=options.only_missing)
    bounds = parse_interval(options.start, options.end)
    return intervals_step.intervals(pipeline, Lake.of(pipeline.name), bounds, cutting, progress.to_stderr)


def _plan(options: argparse.Namespace, runner: Runner, pipeline: Pipeline, lake: Lake) -> StepResult:
    request = _Request.of(options)
    if options.dry_run:
        return _preview(request, runner.spark, pipeline, lake)
    return runner.plan(request.interval, request.arrived_to, restate=request.restate, changed=request.changed)[1]


def _repair(options: argparse.Namespace, runner: Runner, pipeline: Pipeline, lake: Lake) -> StepResult:
    due = repair.find(runner.spark, pipeline, lake)
    return repair.preview(due, pipeline) if options.dry_run else repair.repair(runner, due, pipeline)


def _take_planned(options: argparse.Namespace, runner: Runner) -> StepResult:
    if not options.run_id:
        raise InputError(
            f"{options.step}: needs {Option.RUN_ID}, which the step {StepName.PLAN} returns",
            code=ErrorCode.OPTION_WRONG,
        )
    run = runner.find(options.run_id)
    if options.step == StepName.PUBLISH and options.because:
        run = runner.accept(run, options.because)
    if options.step == StepName.SLICE:
        return runner.stage_slice(run, options.slice)
    return runner.step(options.step, run)


@dataclass(frozen=True)
class _Request:
    """What a run is planned for."""

    interval: Interval
    arrived_to: datetime | None
    restate: bool
    changed: bool

    @classmethod
    def of(cls, options: argparse.Namespace) -> _Request:
        interval = parse_interval(options.start, options.end)
        return cls(interval, optional_moment(options.arrived_to), options.restate, options.changed)


def _preview(request: _Request, spark: SparkSession, pipeline: Pipeline, lake: Lake) -> StepResult:
    """Return what the plan would be."""
    planned = dry_run.foreseen(
        spark,
        pipeline,
        lake,
        request.interval,
        request.arrived_to,
        restate=request.restate,
        changed=request.changed,
    )
    counts = {name: planned[name] for name in ("source_rows", "source_files", "source_bytes")}
    message = dry_run.in_words(planned)
    return StepResult(StepName.PLAN, planned["run_id"], pipeline.name, StepState.DRY_RUN, message, counts)


if __name__ == "__main__":
    end_with_caller(os.environ)
    garbage.collect_rarely()
    sys.exit(main())
