"""Alerts: called once a task has failed for good, and for failed checks that do not fail their task."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.pipeline import load
from tests.airflow.clone import Clone
from tidemark_airflow.dags.alerts import of_checks
from tidemark_airflow.dags.dags import accept_dag, backfill_dag, pipeline_dag, repair_dag

pytestmark = pytest.mark.airflow


class Audit:
    """The task instance of an audit that has ended so."""

    task_id = "audit"

    def __init__(self, returned: dict[str, Any] | None) -> None:
        self._returned = returned

    def xcom_pull(self, *, task_ids: str) -> dict[str, Any] | None:
        assert task_ids == "audit"
        return self._returned


@pytest.mark.parametrize(
    ("returned", "called"),
    [
        ({"state": "done", "counts": {"checks_passed": 40, "checks_failed": 0}}, False),
        ({"state": "done", "counts": {"checks_passed": 39, "checks_failed": 1}}, True),
        ({"state": "asks", "counts": {}, "error": "1 of 40 checks failed"}, True),
        ({"state": "unchanged", "counts": {}}, False),
        (None, False),
    ],
)
def test_an_alert_is_called_for_checks_that_fail_where_the_run_goes_on(
    returned: dict[str, Any] | None, called: bool
) -> None:
    contexts: list[Any] = []
    (callback,) = of_checks([contexts.append])["on_success_callback"]
    context = {"ti": Audit(returned)}
    callback(context)
    assert contexts == [context] * called


def test_every_task_calls_the_alerts_when_it_has_failed(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_LAKE", str(clone.lake))
    pipeline = load(clone.add("sales", more="repair: {max_too_late_rows: 3}\n"))
    contexts: list[Any] = []
    alerts = [contexts.append]
    of_all = [make(clone.root / "dags/pipelines", alerts=alerts) for make in (backfill_dag, accept_dag)]
    for dag in (pipeline_dag(pipeline, alerts=alerts), repair_dag(pipeline, alerts=alerts), *of_all):
        assert dag is not None
        tasks: list[Any] = dag.tasks
        assert all(list(task.on_failure_callback) == alerts for task in tasks)
    silent = pipeline_dag(pipeline)
    assert not any(task.on_failure_callback or task.on_success_callback for task in silent.tasks)
