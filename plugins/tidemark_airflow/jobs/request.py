"""The request of a DAG run, as it travels between tasks, and the command lines of `step.py` that it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from spark_jobs.job_protocol import Option, StepName
from tidemark_airflow.jobs.form_settings import refused_settings

#: The longest time that a step waits for another run on the same windows.
WAIT = "1 hour"


class IntervalsRequest(TypedDict, total=False):
    """How a range is cut into intervals of the length `every`, each a run; empty for a range in one piece."""

    every: str
    newest_first: bool
    only_missing: bool
    side_by_side: int


class Request(IntervalsRequest):
    """What a DAG run is started for. Moments are ISO 8601; None or empty is without bound."""

    pipeline_file: str
    start: NotRequired[str | None]
    end: NotRequired[str | None]
    arrived_to: NotRequired[str | None]
    overrides: NotRequired[dict[str, str]]
    restate: NotRequired[bool]
    changed: NotRequired[bool]
    slices: NotRequired[int]
    apart: NotRequired[bool]
    dry_run: NotRequired[bool]
    approve: NotRequired[bool]
    because: NotRequired[str]


def stages_slices_apart(request: Request) -> bool:
    """True if each slice is a separate task."""
    return bool(request.get("apart")) and (request.get("slices") or 1) > 1


def is_in_intervals(request: Request) -> bool:
    """True if the range is cut into intervals, with a run each."""
    return bool(request.get("every"))


def intervals_arguments(request: Request) -> list[str]:
    """`intervals FILE --from ISO --to ISO --every TIME [--newest-first] [--only-missing] [--set key=value ...]`."""
    flags = {Option.NEWEST_FIRST: request.get("newest_first"), Option.ONLY_MISSING: request.get("only_missing")}
    options = [option.value for option, is_set in flags.items() if is_set]
    every = [Option.EVERY.value, request.get("every") or ""]
    return [StepName.INTERVALS.value, *_run(request), *every, *options, *_overrides(request)]


def plan_arguments(request: Request, *, then: Sequence[str] = ()) -> list[str]:
    """`plan FILE [--from ISO] [--to ISO] [--arrived-to ISO] [--restate] [--changed] [--dry-run] [--set k=v ...]`.

    With `then`, `--then STEP,STEP` names the steps that the same job takes behind it, and `--slices N` their slices.
    """
    dry_run = [Option.DRY_RUN.value] if request.get("dry_run") else []
    behind = [Option.THEN.value, ",".join(then), *_slices(request)] if then else []
    return [StepName.PLAN.value, *_run(request), *dry_run, *_overrides(request), *behind]


def whole_run_arguments(request: Request) -> list[str]:
    """`run FILE [--from ISO] [--to ISO] [--restate] [--changed] --wait TIME [--slices N] [--set k=v ...]`."""
    return [StepName.RUN.value, *_run(request), Option.WAIT.value, WAIT, *_slices(request), *_overrides(request)]


def step_arguments(
    step: str, request: Request, run_id: str, *, because: str = "", part: str = "", then: Sequence[str] = ()
) -> list[str]:
    """`STEP FILE --run-id ID --wait TIME [--slices N] [--set key=value ...] [--slice NAME] [--because TEXT]`.

    With `then`, `--then STEP,STEP` names the steps that the same job takes behind it.
    """
    slices = _slices(request) if step in (StepName.REPLAY, StepName.WATERMARKS) else []
    own = [text for option, value in _own(because, part, then).items() if value for text in (option.value, value)]
    run = [Option.RUN_ID.value, run_id, Option.WAIT.value, WAIT]
    return [step, request["pipeline_file"], *run, *slices, *_overrides(request), *own]


def _slices(request: Request) -> list[str]:
    slices = request.get("slices")
    return [Option.SLICES.value, str(slices)] if slices else []


def _own(because: str, part: str, then: Sequence[str]) -> dict[Option, str]:
    return {Option.SLICE: part, Option.BECAUSE: because, Option.THEN: ",".join(then)}


def repair_arguments(pipeline_file: str, *, dry_run: bool) -> list[str]:
    """`repair FILE --dry-run`, or `repair FILE --wait TIME`."""
    own = [Option.DRY_RUN.value] if dry_run else [Option.WAIT.value, WAIT]
    return [StepName.REPAIR.value, pipeline_file, *own]


def maintain_arguments(pipeline_file: str) -> list[str]:
    """`maintain FILE --wait TIME`."""
    return [StepName.MAINTAIN.value, pipeline_file, Option.WAIT.value, WAIT]


def land_arguments(lake: str) -> list[str]:
    """`--lake DIR`, for a script that brings a source table."""
    return [Option.LAKE.value, lake]


def _run(request: Request) -> list[str]:
    bounds = {
        Option.FROM: request.get("start"),
        Option.TO: request.get("end"),
        Option.ARRIVED_TO: request.get("arrived_to"),
    }
    options = [text for option, moment in bounds.items() if moment for text in (option.value, moment)]
    flags = {Option.RESTATE: request.get("restate"), Option.CHANGED: request.get("changed")}
    return [request["pipeline_file"], *options, *(option.value for option, is_set in flags.items() if is_set)]


def _overrides(request: Request) -> list[str]:
    """Return the options of the overrides. Raises ValueError for one that no form may have: XComs can be edited."""
    overrides = request.get("overrides") or {}
    if refused := list(refused_settings(overrides)):
        raise ValueError("\n".join(refused))
    return [text for key, value in overrides.items() for text in (Option.SET.value, f"{key}={value}")]
