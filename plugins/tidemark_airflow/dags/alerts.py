"""Alerts: Airflow's notifiers, or any callable that takes a context, called for failed tasks and for failed checks.

    ALERTS = [SmtpNotifier(to="data@company", subject="{{ ti.dag_id }}: {{ ti.task_id }}", html_content="...")]

An alert is called once for a task that fails for good, after its retries. Checks that block a run fail their task.
For checks that only warn, or that a person decides about, an alert is called when `audit` has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from airflow.sdk import Context

from spark_jobs.job_protocol import StepState
from tidemark_airflow.tasks.returned import result_of

Alert = Callable[[Context], Any]


def of_failures(alerts: Sequence[Alert]) -> dict[str, Any]:
    """Return the arguments by which every task of a DAG calls the alerts."""
    return {"on_failure_callback": list(alerts)} if alerts else {}


def of_checks(alerts: Sequence[Alert]) -> dict[str, Any]:
    """Return the arguments by which the task `audit` calls the alerts if checks failed."""
    return {"on_success_callback": [_WhenChecksFailed(alert) for alert in alerts]} if alerts else {}


class _WhenChecksFailed:
    """Calls an alert if the task has ended with failed checks."""

    def __init__(self, alert: Alert) -> None:
        self.alert = alert

    def __call__(self, context: Context) -> None:
        audit = result_of(context, context["ti"].task_id)
        if audit is not None and (audit.counts.get("checks_failed") or audit.state is StepState.NEEDS_APPROVAL):
            self.alert(context)
