"""The step intervals: a range cut into intervals, without those that are published. It reads the ledger, not Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import Option, StepName, StepResult, StepState
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.missing_intervals import PublishedWindows
from spark_jobs.jobs.progress import Progress
from spark_jobs.pipeline.intervals import IntervalsError, cut
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.tables.interval import Interval, in_words
from spark_jobs.tables.lake import Lake

_MILLISECOND = timedelta(milliseconds=1)
_OPTIONS = {"start": Option.FROM, "end": Option.TO, "every": Option.EVERY}


@dataclass(frozen=True)
class Cutting:
    """How a range is cut: into intervals of `every_ms`, in which order, and whether published ones are left out."""

    every_ms: int
    newest_first: bool = False
    only_missing: bool = False


def intervals(pipeline: Pipeline, lake: Lake, bounds: Interval, cutting: Cutting, progress: Progress) -> StepResult:
    """Return the intervals as `slices` of the result, each `START/END` in ISO 8601. Raises InputError, LakeError."""
    pieces = list(_cut(pipeline, bounds, cutting.every_ms))
    due = pieces
    if cutting.only_missing:
        windows = PublishedWindows(pipeline, lake)
        due = [piece for piece in pieces if _is_due(windows, piece, progress)]
    if cutting.newest_first:
        due = due[::-1]
    count = f"{len(pieces)} interval{'' if len(pieces) == 1 else 's'}"
    rest = len(pieces) - len(due)
    message = f"{count}, {rest} of them published before" if rest else count
    state = StepState.DONE if due else StepState.UNCHANGED
    names = [f"{_iso(piece.start)}/{_iso(piece.end)}" for piece in due]
    return StepResult(StepName.INTERVALS, "", pipeline.name, state, message, slices=names)


def _cut(pipeline: Pipeline, bounds: Interval, every_ms: int) -> Iterator[Interval]:
    start, end = bounds.start, bounds.end
    if start is None or end is None or start >= end:
        raise InputError(
            f"{Option.EVERY}: found the windows {in_words(bounds)}, and a range that is cut into intervals has a start "
            f"and a later end: give {Option.FROM} and {Option.TO}",
            code=ErrorCode.OPTION_WRONG,
        )
    try:
        pieces = cut((start - EPOCH) // _MILLISECOND, (end - EPOCH) // _MILLISECOND, every_ms, pipeline)
    except IntervalsError as problem:
        code = ErrorCode.OPTION_WRONG if problem.bound == "every" else ErrorCode.WINDOWS_CUT
        raise InputError(f"{_OPTIONS[problem.bound]}: {problem}", code=code) from problem
    return (Interval(EPOCH + first * _MILLISECOND, EPOCH + last * _MILLISECOND) for first, last in pieces)


def _is_due(windows: PublishedWindows, piece: Interval, progress: Progress) -> bool:
    standing = windows.standing(piece)
    verb = "left out" if standing.is_published else "taken"
    progress(StepName.INTERVALS, f"{verb}: {in_words(piece)}: {standing.reason}")
    return not standing.is_published


def _iso(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone(UTC).isoformat()
