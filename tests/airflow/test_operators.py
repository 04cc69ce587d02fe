"""A task ends as its job: done, failed, on wrong input, blocked, or without a result. A script plays Spark."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from airflow.providers.apache.spark.hooks import spark_submit
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from deltalake import write_deltalake

from spark_jobs.job_protocol import StepResult, StepState
from spark_jobs.runtime import RuntimeSetupError, first_use
from tests.airflow.scripted import PLAN, REQUEST, RESULT, RUN, Task, replay, run
from tests.airflow.waiting import until
from tidemark_airflow.jobs.links import report_address
from tidemark_airflow.jobs.outcome import WIDE, Outcome
from tidemark_airflow.tasks import spark_job
from tidemark_airflow.tasks.run_steps import LandOperator, PlanOperator, StepOperator

pytestmark = pytest.mark.airflow


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
        "  rows read             12,000",
        "  on time               11,999",
        "  too late                   1",
    ]
    assert "[tidemark] replay: working" in lines


def test_the_log_has_the_address_of_the_report_in_line_with_the_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://data.example/airflow/")
    counts = {"rows_read_of_the_payments": 7}
    result = StepResult("report", RUN, "sales", StepState.DONE, "written", counts=counts, report="/lake/r.html")
    address = report_address(result)
    assert address == f"https://data.example/airflow/tidemark/reports/tidemark_sales/{RUN}"
    lines = Outcome("report", 0, result).lines(address)
    assert lines[1:] == [
        "  rows read of the payments              7",
        "  seconds                              0.0",
        f"  report                    {address}",
    ]
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "")
    assert report_address(result) == ""
    assert Outcome("report", 0, result).lines()[-1].endswith("/lake/r.html")


def test_the_message_of_a_job_is_read_in_a_page_of_the_log_without_scrolling(
    job: Callable[..., str], logged: list[str]
) -> None:
    message = "would read 3,000 rows in 7 files (0.1 MiB) and replace windows from 2024-03-30 16:30 to 2024-03-31 02:00"
    run(replay(job(0, {**RESULT, "message": message})))
    (first,) = (i for i, line in enumerate(logged) if line.startswith("replay: done. would read"))
    assert " ".join(line.strip() for line in logged[first : first + 2]) == f"replay: done. {message}"
    assert logged[first + 1].startswith("  ")
    assert max(map(len, logged[first : first + 2])) <= WIDE


def test_a_step_is_requested_by_argument(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
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


@pytest.mark.parametrize("master", ["local[1]", "yarn", "k8s://https://cluster"])
def test_variables_of_the_worker_are_inherited_and_stand_in_no_command_line(
    job: Callable[..., str], logged: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, master: str
) -> None:
    monkeypatch.setattr(spark_submit, "kube_client", object(), raising=False)
    connection = {"conn_type": "spark", "host": master, "extra": {"deploy-mode": "client"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    monkeypatch.setenv("WAREHOUSE_LOGIN", "hunter2-hunter2")
    monkeypatch.setenv("TIDEMARK_LAKE", str(tmp_path / "lake"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    before = dict(os.environ)
    file = tmp_path / "environment.json"
    then = f"import os; pathlib.Path({str(file)!r}).write_text(json.dumps({{**os.environ}}))"
    operator = replay(job(0, RESULT, then=then))
    run(operator)
    inherited = json.loads(file.read_text())
    assert inherited["WAREHOUSE_LOGIN"] == "hunter2-hunter2"
    assert inherited["TIDEMARK_LAKE"] == str(tmp_path / "lake")
    assert Path(inherited["PYTHONPATH"], "spark_jobs", "__init__.py").is_file()
    assert dict(os.environ) == before
    assert operator._hook is not None
    submitted = operator._hook._build_spark_submit_command(operator.application)
    assert submitted[submitted.index("--master") + 1] == master
    assert "hunter2" not in " ".join([*submitted, *logged])
    assert not [word for word in submitted if "appMasterEnv" in word or "driverEnv" in word]


def test_java_compiles_fast_for_sources_of_few_rows(job: Callable[..., str], tmp_path: Path) -> None:
    write_deltalake(tmp_path / "events", pa.table({"id": [1, 2]}))
    file = tmp_path / "sales.yaml"
    file.write_text(f"""
name: sales
source: {{table: {tmp_path}/events, event_time: at, arrival_time: stored_at}}
watermark: {{out_of_orderness: 1 minute, emit: {{every: 1 minute}}}}
windows: {{kind: tumbling, size: 1 hour, key: [], aggregates: {{rows: count(*)}}}}
""")
    few, unknown = replay(job(0, RESULT)), replay(job(0, RESULT))
    run(few, {**PLAN, "request": {**REQUEST, "pipeline_file": str(file)}})
    run(unknown)
    options = [(operator.conf or {})["spark.driver.extraJavaOptions"] for operator in (few, unknown)]
    assert ["-XX:TieredStopAtLevel=1" in text for text in options] == [True, False]


def test_a_plan_hands_on_its_request(job: Callable[..., str], arguments: Callable[[], list[str]]) -> None:
    request = {**REQUEST, "start": "2013-07-01T00:00:00+00:00", "end": "2013-07-02T00:00:00+00:00"}
    returned, _ = run(PlanOperator(request=request, application=job(0, {**RESULT, "step": "plan"})))
    options = ["--from", request["start"], "--to", request["end"], "--set", "windows.size=2 hours"]
    assert arguments() == ["plan", "/p/sales.yaml", *options, "--without-spark"]
    assert returned["request"] == request


NEEDS_SPARK = {**RESULT, "step": "plan", "state": "needs_spark", "message": "Spark plans the run: no ledger yet"}
# Returns another result to the job with Spark.
_WITH_SPARK = """
if "--without-spark" not in sys.argv:
    pathlib.Path(sys.argv[-1]).write_text({result!r})
"""


def test_a_plan_that_only_spark_can_make_starts_it_and_goes_on_with_the_tasks_behind(
    job: Callable[..., str], arguments: Callable[[], list[str]], logged: list[str]
) -> None:
    planned = json.dumps({**RESULT, "step": "plan"})
    script = job(0, NEEDS_SPARK, then=_WITH_SPARK.format(result=planned))
    with DAG("tidemark_sales", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)):
        plan = PlanOperator(request={**REQUEST, "slices": 3}, application=script)
        plan >> StepOperator(step="replay") >> StepOperator(step="audit")
    assert run(plan)[0]["state"] == "done"
    assert arguments()[-4:] == ["--then", "replay,audit", "--slices", "3"]
    assert "[tidemark] plan: Spark plans the run: no ledger yet" in logged
    dry_run = {**REQUEST, "dry_run": True}
    run(PlanOperator(request=dry_run, application=script))
    assert "--then" not in arguments()


def test_a_plan_has_options_for_arrivals_and_for_restated_results(
    job: Callable[..., str], arguments: Callable[[], list[str]]
) -> None:
    request = {**REQUEST, "arrived_to": "2013-07-02T00:00:00+00:00", "restate": True, "changed": True}
    run(PlanOperator(request=request, application=job(0, {**RESULT, "step": "plan"})))
    options = ["--arrived-to", request["arrived_to"], "--restate", "--changed", "--set", "windows.size=2 hours"]
    assert arguments() == ["plan", "/p/sales.yaml", *options, "--without-spark"]


def test_landing_has_the_lake_as_option(
    job: Callable[..., str], arguments: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_LAKE", "/the/lake")
    operator = LandOperator(script="land_flights.py")
    assert Path(operator.application).is_file()
    operator.application = job(0, RESULT)
    run(operator)
    assert arguments() == ["--lake", "/the/lake"]


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        (1, AirflowException, "replay failed (exit code 1): the disk is full"),
        (2, AirflowFailException, "replay failed on wrong input: the disk is full"),
        (3, AirflowFailException, "replay is blocked by quality: the disk is full"),
        (7, AirflowException, "replay failed (exit code 7): the disk is full"),
    ],
)
def test_a_job_that_failed_fails_its_task_with_the_reason_and_without_retry_where_none_helps(
    job: Callable[..., str], code: int, kind: type[Exception], message: str
) -> None:
    failed = {**RESULT, "state": "failed", "error": "the disk is full"}
    operator, task = replay(job(code, failed)), Task(PLAN)
    with pytest.raises(AirflowException) as raised:
        operator.execute({"ti": task})  # type: ignore[typeddict-item]
    assert type(raised.value) is kind
    assert str(raised.value) == message
    assert task.pushed["failure"] == {"exit_code": code, "reason": message}
    assert task.pushed["run_id"] == RUN


def test_a_task_that_failed_ends_with_the_code_of_the_error(job: Callable[..., str]) -> None:
    failed = {**RESULT, "state": "failed", "error": "plan it first", "code": "TM205"}
    with pytest.raises(AirflowFailException) as raised:
        run(replay(job(2, failed)))
    assert str(raised.value).splitlines() == [
        "replay failed on wrong input: plan it first",
        "code TM205: tidemark explain TM205",
    ]


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


@pytest.mark.parametrize("content", [None, "{", "[1]"])
def test_a_job_that_left_no_result_is_no_success(job: Callable[..., str], content: str | None) -> None:
    with pytest.raises(AirflowException) as raised:
        run(replay(job(0, content, then="print('half way')")))
    assert not isinstance(raised.value, AirflowFailException)
    assert str(raised.value).startswith("replay ended without a result")
    assert str(raised.value).endswith("half way")


def test_a_job_that_was_killed_may_be_tried_again_and_its_last_output_is_shown(job: Callable[..., str]) -> None:
    then = "print('in the middle', flush=True); import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(AirflowException) as raised:
        run(replay(job(0, None, then=then)))
    assert not isinstance(raised.value, AirflowFailException)
    assert str(raised.value).startswith("replay was killed by signal 9 without a result")
    assert str(raised.value).endswith("in the middle")


def test_killing_a_task_ends_spark_and_all_that_it_started(job: Callable[..., str], tmp_path: Path) -> None:
    pids = tmp_path / "pids.json"
    child = "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    write = f"pathlib.Path({str(pids)!r} + '.new').write_text(json.dumps([os.getpid(), p.pid]))"
    then = f"import os, subprocess\n{child}\n{write}\nos.rename({str(pids)!r} + '.new', {str(pids)!r})\np.wait()"
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


def test_a_machine_without_java_fails_the_task_at_once(
    job: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> dict[str, str]:
        raise RuntimeSetupError.no_java([])

    monkeypatch.setattr(spark_job, "spark_conf", refuse)
    with pytest.raises(AirflowFailException, match="Spark needs Java 17 or 21"):
        run(replay(job(0, RESULT)))


def test_first_use_without_a_network_fails_the_task_at_once(
    job: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeSetupError.jars_unresolved(["no network"])

    monkeypatch.setattr(first_use, "provide", refuse)
    with pytest.raises(AirflowFailException, match=r"could not be fetched .*no network"):
        run(replay(job(0, RESULT)))


def _is_zombie(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
