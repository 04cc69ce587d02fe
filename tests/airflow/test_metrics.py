"""A task sends Spark's figures as Airflow sends its own metrics: through Airflow's settings, over real sockets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
from airflow.sdk._shared.observability.metrics import stats as shared_stats
from airflow.sdk.exceptions import AirflowFailException
from airflow.sdk.observability import stats
from airflow.sdk.observability.metrics import stats_utils

from spark_jobs.job_protocol import StepResult, StepState
from tests.airflow.scripted import PLAN, RESULT, Task, replay, run
from tests.support.sample_report_runs import FIGURES
from tidemark_airflow.tasks import metrics
from tidemark_airflow.tasks.run_steps import StepOperator

pytestmark = pytest.mark.airflow

MEASURED = {**RESULT, "figures": FIGURES}
#: Sends the figures of a step in a separate process, as Airflow's task runner sets metrics up.
SENDING = """
from airflow.sdk.observability import stats
from airflow.sdk.observability.metrics import stats_utils
from spark_jobs.job_protocol import StepResult, StepState
from tidemark_airflow.tasks import metrics
stats.initialize(factory=stats_utils.get_stats_factory(), export_legacy_names=True)
figures = {"rows_read": 12.0, "native_share": 0.625}
metrics.emit(StepResult("replay", "r1", "sales", StepState.DONE, "", figures=figures))
"""


@pytest.fixture(name="statsd")
def _statsd(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[str]]]:
    """A StatsD server; returns the lines that have come, without the name of a metric of another program."""
    pytest.importorskip("statsd", reason="Airflow needs the package statsd for [metrics] statsd_on")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(0.2)
        monkeypatch.setenv("AIRFLOW__METRICS__STATSD_ON", "True")
        monkeypatch.setenv("AIRFLOW__METRICS__STATSD_HOST", "127.0.0.1")
        monkeypatch.setenv("AIRFLOW__METRICS__STATSD_PORT", str(server.getsockname()[1]))
        initialize()

        def lines() -> list[str]:
            received: list[str] = []
            while True:
                try:
                    received += server.recv(65536).decode().splitlines()
                except TimeoutError:
                    return [line for line in received if ".tidemark." in line]

        yield lines
    # Airflow leaves the socket of its client to the end of the process.
    client: Any = shared_stats._backend
    if client is not None:
        client.statsd.close()
    monkeypatch.undo()
    initialize()


def initialize() -> None:
    """Set metrics up as Airflow's task runner does."""
    stats.initialize(factory=stats_utils.get_stats_factory(), export_legacy_names=True)


def test_a_task_sends_every_figure_of_its_step_to_statsd(job: Callable[..., str], statsd: Callable[[], Any]) -> None:
    returned, task = run(replay(job(0, MEASURED)))
    assert sorted(statsd()) == sorted(
        line
        for name, value in FIGURES.items()
        for line in (
            f"airflow.tidemark.step.{name}:{value}|g",
            f"airflow.tidemark.step.{name}.sales.replay:{value}|g",
        )
    )
    assert returned["figures"] == task.pushed["figures"] == FIGURES


def test_tags_have_the_pipeline_and_the_step(
    job: Callable[..., str], statsd: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__METRICS__STATSD_INFLUXDB_ENABLED", "True")
    monkeypatch.setenv("AIRFLOW__METRICS__LEGACY_NAMES_ON", "False")
    initialize()
    run(replay(job(0, MEASURED)))
    received = statsd()
    assert "airflow.tidemark.step.native_share,pipeline=sales,step=replay:0.625|g" in received
    assert len(received) == len(FIGURES)


def test_a_task_behind_sends_the_figures_of_its_own_step(statsd: Callable[[], list[str]]) -> None:
    audited = {**RESULT, "step": "audit", "figures": {"seconds": 3.0}}
    task = Task(PLAN, replay={**MEASURED, "following": [audited]})
    StepOperator(step="audit", application="/nowhere/step.py").execute({"ti": task})  # type: ignore[typeddict-item]
    assert "airflow.tidemark.step.seconds.sales.audit:3.0|g" in (received := statsd())
    assert len(received) == 2


def test_a_job_of_several_steps_sends_the_figures_of_each(
    job: Callable[..., str], statsd: Callable[[], list[str]]
) -> None:
    steps = [{**RESULT, "step": step, "figures": {"seconds": 1.0}} for step in ("replay", "audit")]
    run(replay(job(0, {**RESULT, "step": "report", "following": steps})))
    received = statsd()
    assert {"airflow.tidemark.step.seconds.sales.replay:1.0|g", "airflow.tidemark.step.seconds.sales.audit:1.0|g"} <= {
        *received
    }
    assert len(received) == 4


def test_a_blocked_step_sends_its_figures_too(job: Callable[..., str], statsd: Callable[[], list[str]]) -> None:
    blocked = {**MEASURED, "step": "audit", "state": "blocked", "error": "1 of 8 checks failed"}
    with pytest.raises(AirflowFailException):
        run(StepOperator(step="audit", application=job(3, blocked)))
    assert "airflow.tidemark.step.skew.sales.audit:1.75|g" in statsd()


def test_a_step_without_spark_sends_nothing(job: Callable[..., str], statsd: Callable[[], list[str]]) -> None:
    run(replay(job(0, RESULT)))
    assert statsd() == []


def test_a_name_of_a_pipeline_is_one_part_of_a_name(statsd: Callable[[], list[str]]) -> None:
    metrics.emit(StepResult("replay", "r1", "a.b ü", StepState.DONE, "", figures={"seconds": 1.0}))
    assert "airflow.tidemark.step.seconds.a__b__.replay:1.0|g" in statsd()


def test_without_metrics_of_airflow_a_task_ends_as_before(job: Callable[..., str]) -> None:
    returned, _ = run(replay(job(0, MEASURED)))
    assert returned["state"] == "done"


def test_figures_reach_opentelemetry_before_the_process_ends() -> None:
    received: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        metrics_of_airflow = {
            "AIRFLOW__METRICS__OTEL_ON": "True",
            "AIRFLOW__METRICS__OTEL_HOST": "127.0.0.1",
            "AIRFLOW__METRICS__OTEL_PORT": str(server.server_port),
            "NO_PROXY": "127.0.0.1",
        }
        subprocess.run([sys.executable, "-c", SENDING], env={**os.environ, **metrics_of_airflow}, check=True)
        server.shutdown()
    content = b"".join(received)
    for name in (b"airflow.tidemark.step.rows_read", b"airflow.tidemark.step.native_share"):
        assert name in content
    for tag in (b"pipeline", b"sales", b"step", b"replay"):
        assert tag in content
