"""The words of verdicts, for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.explain.explanations import INVALID, LEFT_OUT, UNASSIGNED, LifeStep, Meeting, Step
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.semantics.spec import Join, Strategy

#: The words of a fate.
FATES: Mapping[str, str] = {
    "on_time": "on time",
    "late": "late, within the allowed lateness",
    "too_late": "too late: no window took it, late_events has it",
    UNASSIGNED: "in no window: its event time lies between two windows",
    INVALID: "invalid",
    LEFT_OUT: "left out by source.where or source.deduplicate",
}
#: The words of a fate where `windows.late_data` is `drop`.
FATES_DROPPED: Mapping[str, str] = {
    **FATES,
    "too_late": "too late: no window took it, and windows.late_data drop does not keep it",
}
#: The words of a fate in a join by interval.
FATES_OF_INTERVAL: Mapping[str, str] = {
    **FATES,
    "on_time": "on time: it could join (rule 90)",
    "too_late": "too late: it joined nothing, late_events has it (rule 91)",
}
#: The words of a fate in a join as of a time.
FATES_AS_OF: Mapping[str, str] = {
    **FATES,
    "on_time": "on time (rule 104)",
    "too_late": "late: it counts as far as its key allows, late_events has it (rule 104)",
}
#: The words of a meeting of two rows in a join by interval.
MEETINGS: Mapping[str, str] = {
    Meeting.JOINED: "joined",
    Meeting.TOO_LATE: "not joined, too late",
    Meeting.EXPIRED: "not joined, the earlier row had been dropped",
}
#: The words of a meeting of two rows in a join as of a time.
MEETINGS_AS_OF: Mapping[str, str] = {
    Meeting.JOINED: "joined",
    Meeting.TOO_LATE: "not joined, the version came after the emission",
    Meeting.EXPIRED: "not joined, dropped for a newer version",
    Meeting.WAITING: "not joined yet, the row waits for the watermark",
}


def fates(join: Join | None, *, drops_late: bool = False) -> Mapping[str, str]:
    """Return the words of fates for rows of a join, or without one; `drops_late`: late rows are not kept."""
    if join is None or join.by_window:
        return FATES_DROPPED if drops_late else FATES
    return FATES_AS_OF if join.is_as_of else FATES_OF_INTERVAL


def bound_setting(strategy: Strategy) -> str:
    """Return what a pipeline file changes for another bound or lag."""
    match strategy:
        case Strategy.TIME_LAG:
            return "watermark.lag"
        case Strategy.MONOTONOUS:
            # This strategy allows no bound.
            return f"watermark.strategy {Strategy.BOUNDED_OUT_OF_ORDERNESS} and watermark.out_of_orderness"
        case _:
            return "watermark.out_of_orderness"


def bound_now(strategy: Strategy, ms: int) -> str:
    """Return the bound or lag, or the strategy without one."""
    return str(strategy) if strategy is Strategy.MONOTONOUS else format_duration(ms)


def rows(count: int) -> str:
    """Return a number of rows: `1 row`, `1,200 rows`."""
    return "1 row" if count == 1 else f"{count:,} rows"


def event(step: LifeStep) -> str:
    """Return what happened in a step of a window."""
    if step.step is Step.ROW:
        return f"{step.input or 'row'} {str(step.verdict).replace('_', ' ')}"
    if step.pane is not None:
        return f"pane {step.pane.pane_index} {step.pane.timing.replace('_', ' ')}, {rows(step.pane.row_count)}"
    return "closed"
