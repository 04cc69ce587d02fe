"""The ids of tasks and the keys of what they push to XCom. A task that takes a step of a run has the step's name."""

from __future__ import annotations

from spark_jobs.job_protocol import StepName

LAND = StepName.LAND.value
#: Reads a filled form.
CHECK = "check"
PLAN = StepName.PLAN.value
#: Computes what all slices need, and stages one of them.
WATERMARKS, SLICE = StepName.WATERMARKS.value, StepName.SLICE.value
REPLAY, AUDIT = StepName.REPLAY.value, StepName.AUDIT.value
#: Waits for a person's decision.
APPROVE = "approve"
PUBLISH, REPORT = StepName.PUBLISH.value, StepName.REPORT.value
#: Reports a run that its checks have blocked.
REPORT_IF_BLOCKED = "report_if_blocked"
#: A run for each interval of a range: the group, the tasks that cut the range and that choose how many run at once, and
#: the last task, which lists how each interval ended.
INTERVALS, CUT, CHOOSE, SUMMARY = StepName.INTERVALS.value, "cut", "choose", "summary"
#: The task of an interval, by how many intervals are computed at once.
AT_A_TIME = {1: "one_at_a_time", 2: "two_at_a_time", 4: "four_at_a_time", 8: "eight_at_a_time"}
#: Finds the windows that are due for repair, and recomputes them.
LOOK, REPAIR = "look", StepName.REPAIR.value

#: Keys of XCom: the run, the counts and Spark's figures of a job, and for a failed job its exit code and reason.
RUN_ID, COUNTS, FIGURES, FAILURE = "run_id", "counts", "figures", "failure"


def in_intervals(task_id: str) -> str:
    """Return the id of a task of the group `intervals`."""
    return f"{INTERVALS}.{task_id}"
