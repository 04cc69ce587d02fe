"""A repair finds what is due, waits for a person, and recomputes it. A script plays Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowSkipException

from tests.airflow.scripted import PLAN, RESULT, RUN, STALE, Events, Task
from tidemark_airflow.jobs.assets import is_repair, results_of
from tidemark_airflow.tasks.approval import ApproveRepairOperator
from tidemark_airflow.tasks.repair import LookOperator, RepairOperator

pytestmark = pytest.mark.airflow


DUE = {
    **RESULT,
    "step": "repair",
    "run_id": "",
    "state": "foreseen",
    "message": "2 windows have missed 9 rows",
    "counts": {"repaired_windows": 2, "repaired_rows": 9},
}
NONE_DUE = {
    **DUE,
    "state": "unchanged",
    "message": "no window has",
    "counts": {"repaired_windows": 0, "repaired_rows": 0},
}


class Event:
    """An asset event, with the counts of a publishing."""

    def __init__(self, **counts: int) -> None:
        self.extra = {"counts": counts}


def looked(script: str, *events: Event) -> Any:
    """Return the result of the task `look`, started by these events, or by hand without any."""
    operator = LookOperator(pipeline_file="/p/sales.yaml", application=script)
    started = {"triggering_asset_events": {results_of("sales"): events}} if events else {}
    return operator.execute({"ti": Task(PLAN), **started})  # type: ignore[typeddict-item]


def repaired(look: Mapping[str, Any], script: str) -> tuple[Any, list[tuple[str, Any]]]:
    """Return the result of a repair behind this result of `look`, and the events that it adds."""
    events = Events()
    operator = RepairOperator(pipeline_file="/p/sales.yaml", application=script)
    context: Any = {"ti": Task(PLAN, look=look), "outlet_events": events}
    return operator.execute(context), events.added


def test_a_look_changes_nothing_and_is_not_taken_at_repairs_alone(
    job: Callable[..., str], arguments: Callable[[], list[str]]
) -> None:
    script = job(0, DUE)
    assert looked(script)["counts"] == DUE["counts"]
    assert arguments() == ["repair", "/p/sales.yaml", "--dry-run"]
    assert looked(script, Event(windows=3), Event(repaired_windows=2))["state"] == "foreseen"
    with pytest.raises(AirflowSkipException, match="nothing but repairs"):
        looked("/nowhere/step.py", Event(repaired_windows=2), Event(repaired_windows=1, windows=3))


def test_a_repair_is_an_event_of_the_asset(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
    repaired_result = {**DUE, "state": "done", "run_id": RUN, "versions": {"panes": 4}}
    returned, ((asset, extra),) = repaired(DUE, job(0, repaired_result))
    assert arguments() == ["repair", "/p/sales.yaml", "--wait", "1 hour"]
    assert returned["run_id"] == RUN
    assert asset == results_of("sales").uri
    assert is_repair(extra)
    assert (extra["run_id"], extra["versions"], extra["from"]) == (RUN, {"panes": 4}, None)


def test_nothing_due_is_nothing_repaired_and_no_question(job: Callable[..., str]) -> None:
    with pytest.raises(AirflowSkipException, match="no window has"):
        repaired(NONE_DUE, "/nowhere/step.py")
    with pytest.raises(AirflowSkipException, match="no window has"):
        ApproveRepairOperator().question({"ti": Task(PLAN, look=NONE_DUE)})  # type: ignore[typeddict-item]
    # Another process has repaired them since.
    assert repaired(DUE, job(0, NONE_DUE))[1] == []


def test_a_question_has_which_windows_are_repaired() -> None:
    question = ApproveRepairOperator().question({"ti": Task(PLAN, look=DUE)})  # type: ignore[typeddict-item]
    assert question.subject == "Repair 2 windows with 9 rows in sales?"
    assert question.body.startswith("2 windows have missed 9 rows. They")


def test_a_repair_that_another_run_has_overtaken_looks_again(job: Callable[..., str]) -> None:
    repaired_result = {**DUE, "state": "done", "run_id": RUN, "versions": {"panes": 4}}
    once = """
tried = pathlib.Path({tried!r})
if tried.exists():
    pathlib.Path(sys.argv[-1]).write_text({result!r})
    sys.exit(0)
tried.touch()
"""
    script = job(2, STALE)
    tried = str(Path(script).with_suffix(".tried"))
    script = job(2, STALE, then=once.format(tried=tried, result=json.dumps(repaired_result)))
    assert repaired(DUE, script)[0]["state"] == "done"
