"""Alerts: Airflow's notifiers, or any callable that takes a context, told of tasks that failed and of checks that did.

    ALERTS = [SmtpNotifier(to="data@company", subject="{{ ti.dag_id }}: {{ ti.task_id }}", html_content="...")]

A task that fails for good is told once, behind its retries. Checks that fail a run are a failed task; those that only
warn, or that a person is asked about, are told when `audit` has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from airflow.sdk import Context

Alert = Callable[[Context], Any]


def of_failures(alerts: Sequence[Alert]) -> dict[str, Any]:
    """What every task of a DAG is to have besides."""
    return {"on_failure_callback": list(alerts)} if alerts else {}


def of_checks(alerts: Sequence[Alert]) -> dict[str, Any]:
    """What the task `audit` is to have besides."""
    return {"on_success_callback": [_WhenChecksFailed(alert) for alert in alerts]} if alerts else {}


class _WhenChecksFailed:
    """Tells an alert where the task has ended with checks that failed."""

    def __init__(self, alert: Alert) -> None:
        self.alert = alert

    def __call__(self, context: Context) -> None:
        said = context["ti"].xcom_pull(task_ids=context["ti"].task_id) or {}
        counts = said.get("counts") or {}
        if counts.get("checks_failed") or said.get("state") == "asks":
            self.alert(context)
