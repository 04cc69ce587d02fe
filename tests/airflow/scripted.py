"""Tasks outside of Airflow's runner, whose job is a script: what they return, push to others and add to assets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Asset, AssetAlias

from tidemark_airflow.jobs.assets import PUBLISHED
from tidemark_airflow.tasks.run_steps import PublishOperator, StepOperator
from tidemark_airflow.tasks.spark_job import SparkJobOperator

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
PLAN = {**RESULT, "step": "plan", "message": f"run {RUN}", "counts": {}, "request": REQUEST}
STALE = {**RESULT, "state": "stale", "error": "plan again", "message": "plan again"}


class Task:
    """The task instance that a task pushes its results to and pulls the plan from."""

    #: As Airflow counts attempts: clearing a task is another attempt.
    try_number = 1
    #: The labels of its metrics.
    stats_tags: Mapping[str, str] = {}

    def __init__(self, plan: Mapping[str, Any], **returned: Mapping[str, Any]) -> None:
        self.pushed: dict[str, Any] = {}
        self._returned = {"plan": plan, **returned}

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value

    def xcom_pull(self, *, task_ids: str, key: str = "return_value") -> Mapping[str, Any] | None:
        return self._returned.get(task_ids if key == "return_value" else f"{task_ids}_{key}")


def run(operator: SparkJobOperator, plan: Mapping[str, Any] = PLAN) -> tuple[Any, Task]:
    """Execute a task outside of Airflow's task runner."""
    task = Task(plan)
    return operator.execute({"ti": task}), task  # type: ignore[typeddict-item]


def replay(application: str) -> StepOperator:
    return StepOperator(step="replay", application=application)


class Events(dict[Any, Any]):
    """Takes the events that a task adds to its outlets."""

    def __init__(self) -> None:
        super().__init__()
        self.added: list[tuple[str, Any]] = []

    def __missing__(self, outlet: AssetAlias) -> Events:
        assert outlet == PUBLISHED
        return self

    def add(self, asset: Asset, extra: Any) -> None:
        self.added.append((asset.uri, extra))


def published(plan: Mapping[str, Any], application: str, **returned: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the events that publishing adds to assets, behind a plan and the results of the steps between."""
    events = Events()
    context: Any = {"ti": Task(plan, **returned), "outlet_events": events}
    PublishOperator(application=application).execute(context)
    return events.added
