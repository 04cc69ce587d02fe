"""A task whose driver runs on a cluster: it gets the driver's answer by the lake, also if its worker is lost meanwhile.

A script plays spark-submit: it starts the driver apart, and ends. A server plays the master, which knows drivers.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from spark_jobs.tables import exchange
from tests.airflow.scripted import PLAN, REQUEST, RESULT, Task, replay
from tests.airflow.waiting import until
from tidemark_airflow.tasks import spark_job
from tidemark_airflow.tasks.cluster_submission import Submission, require_unpacked
from tidemark_airflow.tasks.spark_job import SparkJobOperator

# Airflow's provider leaves the pipe of each question for the driver's state open.
pytestmark = [pytest.mark.airflow, pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")]

FIRST_DRIVER = "driver-20260101000000-1"
PIPELINE = "name: sales\n"
_SUBMIT = """#!{python}
import json, os, subprocess, sys
folder = {folder!r}
with open(folder + "/submitted.json", "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
driver = "driver-20260101000000-" + str(len(open(folder + "/submitted.json").readlines()))
first = next(i for i, word in enumerate(sys.argv) if word.endswith("driver.py"))
command = [sys.executable, *sys.argv[first:first + 1], *sys.argv[first + 2:]]
subprocess.Popen(command, env={{**os.environ, "DRIVER": driver}}, start_new_session=True)
print("26/01/01 00:00:00 INFO ClientEndpoint: Driver successfully submitted as " + driver)
"""
_DRIVER = """
import json, os, pathlib, sys
from spark_jobs.job_protocol import StepResult
from spark_jobs.tables import exchange
folder = pathlib.Path({folder!r})
(folder / "pipeline.yaml").write_text(exchange.read_pipeline(sys.argv[2]))
(folder / "arguments.json").write_text(json.dumps(sys.argv[1:]))
address = sys.argv[sys.argv.index("--variables") + 1]
(folder / "variables.json").write_text(json.dumps(exchange.read_variables(address)))
answer = {answer!r}
if answer:
    exchange.write_answer(StepResult.from_json(json.loads(answer)), sys.argv[sys.argv.index("--result") + 1])
(folder / os.environ["DRIVER"]).write_text({state!r})
"""


class State(dict[str, Any]):
    """Airflow's store of a task's state."""

    def set(self, key: str, value: Any) -> None:
        self[key] = json.loads(json.dumps(value))

    def delete(self, key: str) -> None:
        self.pop(key, None)


class Cluster:
    """The cluster: `drive` makes its driver, `submitted` are the arguments of each submission."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.lake, self.port = folder, folder / "lake", port

    def drive(self, answer: Mapping[str, Any] | None, state: str = "FINISHED") -> str:
        script = self.folder / "driver.py"
        text = json.dumps(answer) if answer else ""
        script.write_text(_DRIVER.format(folder=str(self.folder), answer=text, state=state), encoding="utf-8")
        return str(script)

    @property
    def submitted(self) -> list[list[str]]:
        file = self.folder / "submitted.json"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    @property
    def arguments(self) -> list[str]:
        arguments: list[str] = json.loads((self.folder / "arguments.json").read_text())
        return arguments

    @property
    def objects(self) -> list[str]:
        return sorted(str(path.relative_to(self.lake)) for path in self.lake.rglob("*") if path.is_file())


def _master(folder: Path) -> type[BaseHTTPRequestHandler]:
    class Master(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state = folder / self.path.rsplit("/", 1)[-1]
            driver = {"driverState": state.read_text() if state.exists() else "RUNNING", "submissionId": state.name}
            # As Spark writes it; Airflow's provider reads lines.
            content = json.dumps({**driver, "success": True}, indent=2, separators=(",", " : ")).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    return Master


@pytest.fixture(name="cluster")
def _cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    submit = tmp_path / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(_SUBMIT.format(python=sys.executable, folder=str(tmp_path)), encoding="utf-8")
    submit.chmod(0o755)
    path = f"{submit.parent}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setattr(spark_job, "process_environment", lambda base: {**base, "PATH": path})
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("TIDEMARK_LAKE", str(tmp_path / "lake"))
    monkeypatch.setenv("TIDEMARK_LEASE_SECONDS", "30")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("TIDEMARK_DB_PASSWORD", "hunter2-secret")
    (tmp_path / "lake").mkdir()
    (tmp_path / "sales.yaml").write_text(PIPELINE)
    with ThreadingHTTPServer(("127.0.0.1", 0), _master(tmp_path)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        extra = {"deploy-mode": "cluster", "rest-port": server.server_port}
        connection = {"conn_type": "spark", "host": "spark://127.0.0.1", "port": 7077, "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
        yield Cluster(tmp_path, server.server_port)
        server.shutdown()


def run(operator: SparkJobOperator, cluster: Cluster, state: State) -> Any:
    plan = {**PLAN, "request": {**REQUEST, "pipeline_file": str(cluster.folder / "sales.yaml")}}
    context: Any = {"ti": Task(plan), "task_state_store": state}
    return operator.execute(context)


def test_the_answer_of_a_driver_comes_through_the_lake(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    # Tests with Spark set it for their process.
    monkeypatch.delenv("TIDEMARK_DRIVER_MEMORY", raising=False)
    state = State()
    returned = run(replay(cluster.drive({**RESULT, "exit_code": 0})), cluster, state)
    assert returned | RESULT == returned
    assert (cluster.folder / "pipeline.yaml").read_text() == PIPELINE
    variables = [text for text in cluster.arguments if "=" in text and not text.startswith("windows")]
    assert variables == ["AWS_REGION=eu-central-1"]
    assert json.loads((cluster.folder / "variables.json").read_text()) == {
        "TIDEMARK_LAKE": str(cluster.lake),
        "TIDEMARK_LEASE_SECONDS": "30",
        "TIDEMARK_DB_PASSWORD": "hunter2-secret",
    }
    assert (state, cluster.objects) == ({}, [])
    [submitted] = cluster.submitted
    assert submitted[submitted.index("--deploy-mode") + 1] == "cluster"
    assert submitted[submitted.index("--class") + 1] == "org.apache.spark.deploy.PythonRunner"
    assert "secret" not in str(submitted)


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        ({**RESULT, "state": "failed", "error": "no table", "exit_code": 2}, AirflowFailException, "no table"),
        ({**RESULT, "state": "failed", "error": "lost a disk", "exit_code": 1}, AirflowException, "lost a disk"),
        (None, AirflowException, f"Driver {FIRST_DRIVER} exited with status FAILED"),
    ],
)
def test_a_driver_that_fails_fails_the_task(
    cluster: Cluster, answer: Mapping[str, Any] | None, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words) as failed:
        run(replay(cluster.drive(answer, "FAILED")), cluster, State())
    assert isinstance(failed.value, AirflowFailException) == (error is AirflowFailException)


def test_an_attempt_behind_a_lost_worker_waits_for_the_driver_that_runs(cluster: Cluster) -> None:
    script, state = cluster.drive({**RESULT, "exit_code": 0}), State()
    lost = replay(script)
    monkey = pytest.MonkeyPatch()
    # The worker is lost as soon as the driver is known.
    monkey.setattr(lost, "poll_until_complete", _lost)
    with pytest.raises(KeyboardInterrupt):
        run(lost, cluster, state)
    assert state["spark_job_id"] == FIRST_DRIVER
    assert run(replay(script), cluster, state)["state"] == "done"
    assert len(cluster.submitted) == 1
    assert (state, cluster.objects) == ({}, [])


def test_another_attempt_submits_a_driver_again_that_died_without_an_answer(cluster: Cluster) -> None:
    state = State()
    with pytest.raises(AirflowException):
        run(replay(cluster.drive(None, "ERROR")), cluster, state)
    assert run(replay(cluster.drive({**RESULT, "exit_code": 0})), cluster, state)["state"] == "done"
    assert len(cluster.submitted) == 2


def test_an_answer_is_used_even_if_the_cluster_no_longer_knows_the_driver(cluster: Cluster) -> None:
    script, state = cluster.drive({**RESULT, "exit_code": 0}), State()
    lost = replay(script)
    pytest.MonkeyPatch().setattr(lost, "poll_until_complete", _ended_after(cluster))
    with pytest.raises(KeyboardInterrupt):
        run(lost, cluster, state)
    (cluster.folder / FIRST_DRIVER).write_text("KILLED")
    assert run(replay(script), cluster, state)["state"] == "done"
    assert len(cluster.submitted) == 1


def _lost(*_: object) -> None:
    raise KeyboardInterrupt


def _ended_after(cluster: Cluster) -> Callable[..., None]:
    def wait(*_: object) -> None:
        until(lambda: any(name.endswith(exchange.ANSWER) for name in cluster.objects), every_s=0.1)
        raise KeyboardInterrupt

    return wait


@pytest.mark.parametrize(
    ("master", "home", "refused"),
    [
        ("yarn", "", ""),
        ("spark://master:7077", "", "found hdfs:///t.tar.gz and no TIDEMARK_CLUSTER_HOME, expected an absolute path"),
        ("k8s://https://cluster", "", "Set TIDEMARK_CLUSTER_HOME to the folder of the image"),
        ("k8s://https://cluster", "./tidemark", "found hdfs:///t.tar.gz and TIDEMARK_CLUSTER_HOME ./tidemark"),
        ("k8s://https://cluster", "/opt/spark/work-dir/tidemark", ""),
        ("spark://master:7077", "/opt/tidemark", ""),
    ],
)
def test_a_package_without_a_path_that_its_manager_can_start_is_refused(master: str, home: str, refused: str) -> None:
    environ = {"TIDEMARK_PACKAGE": "hdfs:///t.tar.gz", "TIDEMARK_CLUSTER_HOME": home}
    expected = pytest.raises(AirflowFailException, match=refused) if refused else contextlib.nullcontext()
    with expected:
        require_unpacked(master, environ)


def test_a_refused_package_fails_the_task_before_it_submits(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_PACKAGE", "hdfs:///t.tar.gz")
    with pytest.raises(AirflowFailException, match=r"^TIDEMARK_PACKAGE: found hdfs"):
        run(replay(cluster.drive({**RESULT, "exit_code": 0})), cluster, State())
    assert cluster.submitted == []


def test_each_manager_gets_the_paths_of_its_nodes() -> None:
    conf = {"spark.driver.extraClassPath": f"{sys.prefix}/share/tidemark/jars/*"}
    script = f"{sys.prefix}/lib/python3.11/site-packages/spark_jobs/jobs/step.py"
    of_yarn = Submission.of("yarn", script, ["plan"], conf, {"TIDEMARK_PACKAGE": "s3a://company/tidemark.tar.gz"})
    assert (of_yarn.application, of_yarn.archives) == (script, "s3a://company/tidemark.tar.gz#tidemark")
    assert of_yarn.conf["spark.driver.extraClassPath"] == "./tidemark/share/tidemark/jars/*"
    assert of_yarn.variables == {"PYSPARK_PYTHON": "./tidemark/bin/python"}
    in_image = Submission.of(
        "k8s://https://cluster", script, ["plan"], conf, {"TIDEMARK_CLUSTER_HOME": "/opt/tidemark"}
    )
    assert in_image.application == "local:///opt/tidemark/lib/python3.11/site-packages/spark_jobs/jobs/step.py"
    assert in_image.conf["spark.pyspark.python"] == "/opt/tidemark/bin/python"
    unpacked = {"TIDEMARK_CLUSTER_HOME": "/work/tidemark", "TIDEMARK_PACKAGE": "s3a://company/tidemark.tar.gz"}
    in_pod = Submission.of("k8s://https://cluster", script, ["plan"], conf, unpacked)
    assert in_pod.application.startswith("local:///work/tidemark/lib/")
    assert in_pod.archives == "s3a://company/tidemark.tar.gz#tidemark"
    standalone = Submission.of("spark://master:7077", script, ["plan"], conf, {})
    assert standalone.arguments == [script, "", "plan"]
    assert standalone.application.startswith(f"{sys.prefix}/share/tidemark/jars/")
