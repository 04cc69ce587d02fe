"""A task is as its job says: done, failed, wrong input, blocked, or gone without a word. A script plays Spark."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk import Asset, AssetAlias
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from spark_jobs.runtime import RuntimeSetupError
from tests.airflow.waiting import until
from tidemark_airflow import operators
from tidemark_airflow.approval import ApproveOperator, ApproveRepairOperator, asked
from tidemark_airflow.assets import PUBLISHED, is_repair, results_of
from tidemark_airflow.operators import (
    ExplainOperator,
    LandOperator,
    PlanOperator,
    PublishOperator,
    SparkJobOperator,
    StepOperator,
)
from tidemark_airflow.repair import LookOperator, RepairOperator

pytestmark = pytest.mark.airflow

RUN = "r0123456789abcde"
RESULT = {
    "step": "replay",
    "run_id": RUN,
    "pipeline": "sales",
    "state": "done",
    "message": "3 windows",
    "counts": {"rows_read": 12_000, "on_time": 11_999, "too_late": 1},
    "checks": {},
    "versions": {},
    "report": None,
    "error": None,
    "seconds": 1.5,
}
REQUEST = {"pipeline_file": "/p/sales.yaml", "start": None, "end": None, "overrides": {"windows.size": "2 hours"}}
PLAN = {"run_id": RUN, "request": REQUEST, "counts": {}, "versions": {}, "report": None}

# What stands in for spark-submit: it takes Spark's options away and runs the script, as spark-submit does.
_SUBMIT = """#!{python}
import os, sys
script = next(i for i, word in enumerate(sys.argv) if word.endswith(".py"))
os.execv(sys.executable, [sys.executable, *sys.argv[script:]])
"""
_JOB = """
import json, pathlib, sys
print("[tidemark] replay: working")
pathlib.Path({arguments!r}).write_text(json.dumps(sys.argv[1:]))
if {result!r}:
    pathlib.Path(sys.argv[sys.argv.index("--result") + 1]).write_text({result!r})
{then}
sys.exit({code})
"""


class Task:
    """The task instance that a task pushes its results to and pulls the plan from."""

    def __init__(self, plan: Mapping[str, Any], **said: Mapping[str, Any]) -> None:
        self.pushed: dict[str, Any] = {}
        self._said = {"plan": plan, **said}

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value

    def xcom_pull(self, *, task_ids: str, key: str = "return_value") -> Mapping[str, Any] | None:
        return self._said.get(task_ids if key == "return_value" else f"{task_ids}_{key}")


@pytest.fixture(name="job")
def _job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Makes a script that ends as it is told, and a spark-submit to run it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    submit = folder / "spark-submit"
    submit.write_text(_SUBMIT.format(python=sys.executable), encoding="utf-8")
    submit.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setattr(operators, "process_environment", lambda base: {**base, "PATH": path})
    monkeypatch.setattr(operators, "spark_conf", lambda: {"spark.sql.session.timeZone": "UTC"})
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", '{"conn_type": "spark", "host": "local[1]"}')

    def make(code: int, said: Mapping[str, Any] | str | None, then: str = "") -> str:
        result = said if isinstance(said, str) else json.dumps(said) if said else ""
        script = tmp_path / "job.py"
        text = _JOB.format(arguments=str(tmp_path / "arguments.json"), result=result, then=then, code=code)
        script.write_text(text, encoding="utf-8")
        return str(script)

    return make


@pytest.fixture(name="arguments")
def _arguments(tmp_path: Path) -> Callable[[], list[str]]:
    """What the script was given, but for the result file."""

    def read() -> list[str]:
        given: list[str] = json.loads((tmp_path / "arguments.json").read_text(encoding="utf-8"))
        assert given[-2] == "--result"
        return given[:-2]

    return read


@pytest.fixture(name="logged")
def _logged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What operators and the hook below them log, wherever Airflow's logging of the moment would send it."""
    lines: list[str] = []

    class Log(logging.Logger):
        def _log(self, level: int, msg: object, args: Any, **_: Any) -> None:  # type: ignore[override]
            lines.append(str(msg) % args if args else str(msg))

    log = Log("test", logging.INFO)
    monkeypatch.setattr(SparkJobOperator, "log", log)
    monkeypatch.setattr(SparkSubmitHook, "log", log)
    return lines


def run(operator: SparkJobOperator, plan: Mapping[str, Any] = PLAN) -> tuple[Any, Task]:
    """Execute a task outside of Airflow's task runner."""
    task = Task(plan)
    return operator.execute({"ti": task}), task  # type: ignore[typeddict-item]


def replay(application: str) -> StepOperator:
    return StepOperator(step="replay", application=application)


def test_a_job_that_is_done_gives_its_result_counts_and_run_to_the_tasks_behind_it(job: Callable[..., str]) -> None:
    returned, task = run(replay(job(0, RESULT)))
    assert returned | RESULT == returned
    assert returned["task_seconds"] > 0
    assert task.pushed == {"run_id": RUN, "counts": RESULT["counts"]}


def test_the_counts_stand_in_the_log_as_a_block(job: Callable[..., str], logged: list[str]) -> None:
    run(replay(job(0, RESULT)))
    lines = [line.rstrip() for line in logged]
    block = lines[lines.index("replay: done. 3 windows") :]
    assert block[1:4] == [
        "  rows_read             12,000",
        "  on_time               11,999",
        "  too_late                   1",
    ]
    assert "[tidemark] replay: working" in lines


def test_a_step_is_asked_for_by_argument(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
    run(replay(job(0, RESULT)))
    assert arguments() == [
        "replay",
        "/p/sales.yaml",
        "--run-id",
        RUN,
        "--wait",
        "1 hour",
        "--set",
        "windows.size=2 hours",
    ]


def test_a_plan_hands_on_what_was_asked(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
    request = {**REQUEST, "start": "2013-07-01T00:00:00+00:00", "end": "2013-07-02T00:00:00+00:00"}
    returned, _ = run(PlanOperator(request=request, application=job(0, {**RESULT, "step": "plan"})))
    wanted = ["--from", request["start"], "--to", request["end"], "--set", "windows.size=2 hours"]
    assert arguments() == ["plan", "/p/sales.yaml", *wanted]
    assert returned["request"] == request


def test_a_plan_is_told_how_far_arrivals_go_and_that_results_are_restated(
    job: Callable[..., str], arguments: Callable[[], list[str]]
) -> None:
    request = {**REQUEST, "arrived_to": "2013-07-02T00:00:00+00:00", "restate": True}
    run(PlanOperator(request=request, application=job(0, {**RESULT, "step": "plan"})))
    wanted = ["--arrived-to", request["arrived_to"], "--restate", "--set", "windows.size=2 hours"]
    assert arguments() == ["plan", "/p/sales.yaml", *wanted]


def test_landing_is_told_the_lake(
    job: Callable[..., str], arguments: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_LAKE", "/the/lake")
    operator = LandOperator(script="land_flights.py")
    assert Path(operator.application).is_file()
    operator.application = job(0, RESULT)
    run(operator)
    assert arguments() == ["--lake", "/the/lake"]


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        (1, AirflowException, "replay failed (exit code 1): the disk is full"),
        (2, AirflowFailException, "replay was given wrong input: the disk is full"),
        (3, AirflowFailException, "replay is blocked by quality: the disk is full"),
        (7, AirflowException, "replay failed (exit code 7): the disk is full"),
    ],
)
def test_a_job_that_failed_fails_its_task_with_the_reason_and_without_retry_where_none_helps(
    job: Callable[..., str], code: int, kind: type[Exception], said: str
) -> None:
    failed = {**RESULT, "state": "failed", "error": "the disk is full"}
    operator, task = replay(job(code, failed)), Task(PLAN)
    with pytest.raises(AirflowException) as raised:
        operator.execute({"ti": task})  # type: ignore[typeddict-item]
    assert type(raised.value) is kind
    assert str(raised.value) == said
    assert task.pushed["failure"] == {"exit_code": code, "reason": said}
    assert task.pushed["run_id"] == RUN


def test_a_closed_gate_names_the_checks_that_failed(job: Callable[..., str]) -> None:
    failure = {"suite": "panes", "expectation": "no gap in pane numbers", "observed": "3 rows", "unexpected_count": 3}
    checks = {"passed": 40, "failed": 12, "failures": [failure] * 12}
    blocked = {**RESULT, "state": "blocked", "error": "12 of 52 checks failed", "checks": checks}
    with pytest.raises(AirflowFailException) as raised:
        run(replay(job(3, blocked)))
    first, *rest = str(raised.value).splitlines()
    assert first == "replay is blocked by quality: 12 of 52 checks failed"
    assert rest[0] == "  panes: no gap in pane numbers: observed 3 rows, 3 unexpected"
    assert rest[-1] == "  and 2 more"


@pytest.mark.parametrize("said", [None, "{", "[1]"])
def test_a_job_that_left_no_result_is_no_success(job: Callable[..., str], said: str | None) -> None:
    with pytest.raises(AirflowException) as raised:
        run(replay(job(0, said, then="print('half way')")))
    assert not isinstance(raised.value, AirflowFailException)
    assert str(raised.value).startswith("replay ended without saying how; it left no result")
    assert str(raised.value).endswith("half way")


def test_a_job_that_was_killed_may_be_tried_again_and_says_what_it_was_doing(job: Callable[..., str]) -> None:
    then = "print('in the middle', flush=True); import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(AirflowException) as raised:
        run(replay(job(0, None, then=then)))
    assert not isinstance(raised.value, AirflowFailException)
    assert str(raised.value).startswith("replay was killed by signal 9")
    assert str(raised.value).endswith("in the middle")


def test_killing_a_task_ends_spark_and_all_that_it_started(job: Callable[..., str], tmp_path: Path) -> None:
    pids = tmp_path / "pids.json"
    child = "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    told = f"pathlib.Path({str(pids)!r} + '.new').write_text(json.dumps([os.getpid(), p.pid]))"
    then = f"import os, subprocess\n{child}\n{told}\nos.rename({str(pids)!r} + '.new', {str(pids)!r})\np.wait()"
    operator = replay(job(0, None, then=then))
    ended: list[BaseException] = []

    def execute() -> None:
        try:
            run(operator)
        except AirflowException as error:
            ended.append(error)

    thread = threading.Thread(target=execute)
    thread.start()
    until(pids.exists)
    started = [psutil.Process(pid) for pid in json.loads(pids.read_text(encoding="utf-8"))]
    operator.on_kill()
    thread.join()
    until(lambda: not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in started))
    assert "was killed by signal 9" in str(ended[0])


def test_what_a_job_leaves_running_ends_with_it(job: Callable[..., str], tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    silent = "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL"
    child = f"p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], {silent})"
    run(replay(job(0, RESULT, then=f"import subprocess\n{child}\npathlib.Path({str(pid)!r}).write_text(str(p.pid))")))
    until(lambda: not psutil.pid_exists(int(pid.read_text())) or _is_zombie(int(pid.read_text())))


class Events(dict[Any, Any]):
    """Takes the events that a task tells of its outlets."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, Any]] = []

    def __missing__(self, outlet: AssetAlias) -> Events:
        assert outlet == PUBLISHED
        return self

    def add(self, asset: Asset, extra: Any) -> None:
        self.told.append((asset.uri, extra))


def published(plan: Mapping[str, Any], application: str, **said: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What publishing tells of assets, behind a plan and what the steps between have said."""
    events = Events()
    context: Any = {"ti": Task(plan, **said), "outlet_events": events}
    PublishOperator(application=application).execute(context)
    return events.told


def test_publishing_tells_which_results_are_new(job: Callable[..., str]) -> None:
    plan = {**PLAN, "pipeline": "sales", "request": {**REQUEST, "start": "2024-03-04T00:00:00+00:00"}}
    said = {"replay": {"counts": {"rows_read": 9, "windows": 3}}, "audit": {"counts": {"checks_passed": 7}}}
    script = job(0, {**RESULT, "step": "publish", "counts": {}, "versions": {"panes": 4}})
    ((asset, extra),) = published(plan, script, **said)
    assert asset == results_of("sales").uri == "tidemark://sales/results"
    assert extra == {
        "pipeline": "sales",
        "run_id": RUN,
        "from": "2024-03-04T00:00:00+00:00",
        "to": None,
        "arrived_to": None,
        "counts": {"rows_read": 9, "windows": 3},
        "checks": {"passed": 7, "failed": None},
        "versions": {"panes": 4},
    }


def test_what_an_attempt_before_has_published_is_told_by_the_next(job: Callable[..., str]) -> None:
    plan, unchanged = {**PLAN, "pipeline": "sales"}, {**RESULT, "step": "publish", "state": "unchanged"}
    assert len(published(plan, job(0, unchanged))) == 1


STALE = {**RESULT, "state": "stale", "error": "plan again", "message": "plan again"}
# Says so of each step, and takes a whole run.
_STALE_BUT_RUN = """
if sys.argv[1] == "run":
    pathlib.Path(sys.argv[-1]).write_text({result!r})
    sys.exit(0)
"""


def test_a_run_over_arrivals_that_cannot_go_on_from_its_plan_is_taken_anew(
    job: Callable[..., str], arguments: Callable[[], list[str]]
) -> None:
    new = {**RESULT, "run_id": "r00000000000000f", "versions": {"panes": 4}}
    script = job(2, STALE, then=_STALE_BUT_RUN.format(result=json.dumps(new)))
    until = "2013-07-02T00:00:00+00:00"
    plan = {**PLAN, "pipeline": "sales", "request": {**REQUEST, "arrived_to": until}}
    returned, task = run(replay(script), plan)
    options = ["--arrived-to", until, "--wait", "1 hour", "--set", "windows.size=2 hours"]
    assert arguments() == ["run", "/p/sales.yaml", *options]
    assert (returned["run_id"], task.pushed["run_id"]) == (new["run_id"], new["run_id"])
    unchanged = job(0, {**new, "step": "publish", "state": "unchanged"})
    ((_, extra),) = published(plan, unchanged, replay=returned)
    assert (extra["run_id"], extra["arrived_to"]) == (new["run_id"], until)


def test_any_other_run_that_cannot_go_on_from_its_plan_is_for_a_person_to_plan_again(job: Callable[..., str]) -> None:
    with pytest.raises(AirflowFailException, match="replay was given wrong input: plan again"):
        run(replay(job(2, STALE)))


def test_what_another_run_has_published_is_told_by_that_one(job: Callable[..., str]) -> None:
    other = {**RESULT, "step": "publish", "state": "unchanged", "run_id": "r00000000000000f"}
    assert published({**PLAN, "pipeline": "sales"}, job(0, other)) == []


def test_what_was_published_before_the_plan_is_not_told_again() -> None:
    assert published({**PLAN, "pipeline": "sales", "versions": {"panes": 3}}, "/nowhere/step.py") == []


@pytest.mark.parametrize("step", ["replay", "audit", "publish", "report"])
def test_a_published_run_is_answered_without_starting_spark(step: str, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    report.touch()
    plan = {**PLAN, "pipeline": "sales", "counts": RESULT["counts"], "versions": {"panes": 3}, "report": str(report)}
    returned, task = run(StepOperator(step=step, application="/nowhere/step.py"), plan)
    assert (returned["state"], returned["step"], returned["versions"]) == ("unchanged", step, {"panes": 3})
    assert task.pushed == {"run_id": RUN, "counts": RESULT["counts"]}


def test_a_published_run_without_its_report_gets_it_made(
    job: Callable[..., str], arguments: Callable[[], list[str]], tmp_path: Path
) -> None:
    plan = {**PLAN, "versions": {"panes": 3}, "report": str(tmp_path / "gone.html")}
    run(StepOperator(step="report", application=job(0, RESULT)), plan)
    assert arguments()[0] == "report"


def test_a_dry_run_is_planned_and_nothing_else(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
    request = {**REQUEST, "dry_run": True}
    said = {**RESULT, "step": "plan", "message": "would read 3 rows"}
    returned, _ = run(PlanOperator(request=request, application=job(0, said)))
    assert arguments() == ["plan", "/p/sales.yaml", "--dry-run", "--set", "windows.size=2 hours"]
    for step in ("replay", "audit", "publish", "report"):
        with pytest.raises(AirflowSkipException, match="a dry run: would read 3 rows"):
            run(StepOperator(step=step, application="/nowhere/step.py"), returned)


def test_slices_are_the_replays(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
    for step, told in (("replay", ["--slices", "4"]), ("audit", [])):
        plan = {**PLAN, "request": {**REQUEST, "slices": 4}}
        run(StepOperator(step=step, application=job(0, RESULT)), plan)
        assert arguments() == [
            step,
            "/p/sales.yaml",
            "--run-id",
            RUN,
            "--wait",
            "1 hour",
            *told,
            "--set",
            "windows.size=2 hours",
        ]


@pytest.mark.parametrize("plan", [PLAN, {**PLAN, "request": {**REQUEST, "approve": True}, "versions": {"panes": 3}}])
def test_nobody_is_asked_where_nobody_has_to_be(plan: Mapping[str, Any]) -> None:
    ApproveOperator().execute({"ti": Task(plan)})  # type: ignore[typeddict-item]


def test_a_person_is_asked_with_what_would_be_published() -> None:
    request = {**REQUEST, "start": "2013-07-01T00:00:00+00:00"}
    text = asked({**PLAN, "request": request}, {"rows_read": 12_000, "too_late": 1, "checks_failed": 0})
    assert text.splitlines() == [
        "Windows: 2013-07-01T00:00:00+00:00 to without bound. All of its checks have passed.",
        "",
        "| | |",
        "|---|---:|",
        "| rows read | 12,000 |",
        "| too late | 1 |",
    ]


FAILED = "1 of 34 checks failed\n  run: too late ratio\n    such as:  <b>4</b> | 5"
ASKED = {**RESULT, "step": "audit", "state": "asks", "message": "1 of 34 checks failed", "error": FAILED}
YES = {"chosen_options": ["Approve"], "params_input": {}, "responded_by_user": {"id": "7", "name": "ada"}}


def test_where_a_person_decides_failed_checks_are_a_question(
    job: Callable[..., str], arguments: Callable[[], list[str]], logged: list[str]
) -> None:
    returned, _ = run(StepOperator(step="audit", application=job(3, ASKED)))
    assert returned["state"] == "asks"
    assert FAILED in "\n".join(logged)
    question = ApproveOperator().question({"ti": Task({**PLAN, "pipeline": "sales"}, audit=returned)})  # type: ignore[typeddict-item]
    assert question is not None
    assert question.subject == f"Publish run {RUN} of sales although checks have failed?"
    assert "      such as:  <b>4</b> | 5" in question.body, "as it is, and no Markdown"
    plan = {**PLAN, "pipeline": "sales"}
    accepted = ["--because", "approved in Airflow by ada"]
    published(plan, job(0, RESULT), audit=returned, approve=YES)
    assert arguments()[-2:] == accepted
    # Nobody has said yes, or nothing has failed.
    for said in ({"audit": returned}, {"audit": RESULT, "approve": YES}):
        published(plan, job(0, RESULT), **said)
        assert "--because" not in arguments()


def explained(application: str, **failure: Any) -> Any:
    """What the task behind an audit returns that has failed so."""
    task = Task(PLAN, audit_failure=failure) if failure else Task(PLAN)
    return ExplainOperator(application=application).execute({"ti": task})  # type: ignore[typeddict-item]


def test_what_checks_have_blocked_is_reported(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
    report = {**RESULT, "step": "report", "report": "/lake/report.html"}
    assert explained(job(0, report), exit_code=3, reason=FAILED)["report"] == "/lake/report.html"
    assert arguments()[:4] == ["report", "/p/sales.yaml", "--run-id", RUN]
    for failure in ({}, {"exit_code": 1, "reason": "no memory"}):
        with pytest.raises(AirflowSkipException, match="no check has blocked"):
            explained("/nowhere/step.py", **failure)


def test_a_reason_in_a_form_is_the_publishings(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
    published({**PLAN, "pipeline": "sales", "request": {**REQUEST, "because": "ada: known"}}, job(0, RESULT))
    assert arguments()[-2:] == ["--because", "ada: known"]


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
    """An asset event, with what a publishing has told."""

    def __init__(self, **counts: int) -> None:
        self.extra = {"counts": counts}


def looked(script: str, *events: Event) -> Any:
    """What the task that looks returns, started by these events, or by hand where there are none."""
    operator = LookOperator(pipeline_file="/p/sales.yaml", application=script)
    started = {"triggering_asset_events": {results_of("sales"): events}} if events else {}
    return operator.execute({"ti": Task(PLAN), **started})  # type: ignore[typeddict-item]


def repaired(said: Mapping[str, Any], script: str) -> tuple[Any, list[tuple[str, Any]]]:
    """What a repair behind a look that has said so returns, and the events of assets that it tells."""
    events = Events()
    operator = RepairOperator(pipeline_file="/p/sales.yaml", application=script)
    context: Any = {"ti": Task(PLAN, look=said), "outlet_events": events}
    return operator.execute(context), events.told


def test_a_look_changes_nothing_and_is_not_taken_at_repairs_alone(
    job: Callable[..., str], arguments: Callable[[], list[str]]
) -> None:
    script = job(0, DUE)
    assert looked(script)["counts"] == DUE["counts"]
    assert arguments() == ["repair", "/p/sales.yaml", "--dry-run"]
    assert looked(script, Event(windows=3), Event(repaired_windows=2))["state"] == "foreseen"
    with pytest.raises(AirflowSkipException, match="nothing but repairs"):
        looked("/nowhere/step.py", Event(repaired_windows=2), Event(repaired_windows=1, windows=3))


def test_a_repair_is_told_as_an_event_of_the_asset(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
    done = {**DUE, "state": "done", "run_id": RUN, "versions": {"panes": 4}}
    returned, ((asset, extra),) = repaired(DUE, job(0, done))
    assert arguments() == ["repair", "/p/sales.yaml", "--wait", "1 hour"]
    assert returned["run_id"] == RUN
    assert asset == results_of("sales").uri
    assert is_repair(extra)
    assert (extra["run_id"], extra["versions"], extra["from"]) == (RUN, {"panes": 4}, None)


def test_where_nothing_is_due_nothing_is_repaired_and_nobody_is_asked(job: Callable[..., str]) -> None:
    with pytest.raises(AirflowSkipException, match="no window has"):
        repaired(NONE_DUE, "/nowhere/step.py")
    with pytest.raises(AirflowSkipException, match="no window has"):
        ApproveRepairOperator().question({"ti": Task(PLAN, look=NONE_DUE)})  # type: ignore[typeddict-item]
    # Another process has repaired them since.
    assert repaired(DUE, job(0, NONE_DUE))[1] == []


def test_a_person_is_asked_which_windows_are_repaired() -> None:
    question = ApproveRepairOperator().question({"ti": Task(PLAN, look=DUE)})  # type: ignore[typeddict-item]
    assert question.subject == "Repair 2 windows with 9 rows in sales?"
    assert question.body.startswith("2 windows have missed 9 rows. They")


def test_a_repair_that_another_run_has_overtaken_looks_again(job: Callable[..., str]) -> None:
    done = {**DUE, "state": "done", "run_id": RUN, "versions": {"panes": 4}}
    once = """
tried = pathlib.Path({tried!r})
if tried.exists():
    pathlib.Path(sys.argv[-1]).write_text({result!r})
    sys.exit(0)
tried.touch()
"""
    script = job(2, STALE)
    tried = str(Path(script).with_suffix(".tried"))
    script = job(2, STALE, then=once.format(tried=tried, result=json.dumps(done)))
    assert repaired(DUE, script)[0]["state"] == "done"


def test_a_machine_without_java_is_told_so_at_once(job: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> dict[str, str]:
        raise RuntimeSetupError.no_java([])

    monkeypatch.setattr(operators, "spark_conf", refuse)
    with pytest.raises(AirflowFailException, match="Spark needs Java 17 or 21"):
        run(replay(job(0, RESULT)))


def test_a_cluster_that_would_keep_the_result_is_refused(
    job: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = {"conn_type": "spark", "host": "spark://10.0.0.1", "port": 7077, "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    with pytest.raises(AirflowFailException, match=r"deploy-mode cluster; .* set it to client"):
        run(replay(job(0, RESULT)))


def _is_zombie(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
