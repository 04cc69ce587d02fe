"""The next step after a run, in one sentence: nothing, a decision, or a setting that would take in late rows."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from spark_jobs.job_protocol import RunState
from spark_jobs.report.data import ReportData
from spark_jobs.report.text import counted, duration, number, share

#: A setting is proposed if it takes in this share of the too late rows.
_ENOUGH = 0.9
_FILE = "PIPELINE.yaml"
_UNITS_MS = (86_400_000, 3_600_000, 60_000, 1_000, 1)


@dataclass(frozen=True)
class NextStep:
    """The sentences, and the command to copy, if there is one."""

    words: str
    command: str = ""


def next_step(data: ReportData) -> NextStep:
    """Return what to do after the run."""
    match data.run.state:
        case RunState.PUBLISHED:
            return NextStep(f"{_published(data)}{_invalid(data)}{_too_late(data)}")
        case RunState.BLOCKED:
            return _blocked(data)
        case RunState.FAILED:
            return NextStep("Nothing was published. Correct the cause; the same command then continues the run.")
        case RunState.DISCARDED:
            return NextStep("Start the run again if you need its results.")
        case _:
            return NextStep("Nothing is published yet. The same command continues the run.")


def _published(data: ReportData) -> str:
    failed = sum(not check.success for check in data.checks)
    if failed:
        return f"The results are published although {counted(failed, 'check')} failed: look at the failed checks. "
    if data.counts.get("too_late") or data.counts.get("invalid"):
        return "The results are published. "
    return "Nothing to do: the results are published."


def _invalid(data: ReportData) -> str:
    invalid, read = data.counts.get("invalid", 0), data.counts.get("rows_read", 0)
    if not invalid:
        return ""
    return f"{share(invalid, read)} of the rows are invalid: invalid_events has them, each with its reason. "


def _too_late(data: ReportData) -> str:
    """Return the share of too late rows, and the allowed lateness that would take in most of them."""
    too_late, read = data.counts.get("too_late", 0), data.counts.get("rows_read", 0)
    if not too_late:
        return ""
    words = f"{share(too_late, read)} of the rows came too late"
    proposed = proposed_lateness(data)
    if proposed is None:
        return f"{words}."
    allowed_ms, rows, of = proposed
    part = "them all" if rows == of else f"{share(rows, of)} of them"
    return f"{words}: an allowed lateness of {duration(allowed_ms)} would take {part} in."


def proposed_lateness(data: ReportData) -> tuple[int, int, int] | None:
    """Return an allowed lateness, how many of the too late rows it takes in, and their number.

    It is the shortest edge of the histogram that takes in nine of ten, or the longest lateness in whole units. None
    without a histogram, and where a longer lateness also changes windows: sessions, and joins without windows.
    """
    lateness, total = data.lateness, sum(data.lateness.too_late)
    if not total or not data.closes or data.merging or (data.join is not None and not data.join.by_window):
        return None
    below = 0
    for i, rows in enumerate(lateness.too_late):
        below += rows
        is_open = lateness.open_ended and i == len(lateness.too_late) - 1
        if below >= _ENOUGH * total:
            return _whole(lateness.longest_ms + 1) if is_open else lateness.edges_ms[i + 1], below, total
    return None


def _whole(ms: int) -> int:
    """Return the duration, rounded up to whole units of its largest unit."""
    unit = next(unit for unit in _UNITS_MS if ms >= unit)
    return -(-ms // unit) * unit


def _blocked(data: ReportData) -> NextStep:
    failed = [check.expectation for check in data.checks if not check.success]
    if failed:
        reason = f"{number(len(failed))} of {counted(len(data.checks), 'check')} failed"
        place = "the failed checks below"
    else:
        reason = next(iter((data.run.error or "the gate refused the run").splitlines()), "").rstrip(".")
        place = "the reason above"
    words = f"Publishing is blocked: {reason}. Look at {place}. Correct the source or the settings and run again, or "
    file = shlex.quote(data.file) if data.file else _FILE
    command = f'tidemark accept {file} --run {shlex.quote(data.run.run_id)} --because "..."'
    return NextStep(f"{words}accept the results as they are:", command)
