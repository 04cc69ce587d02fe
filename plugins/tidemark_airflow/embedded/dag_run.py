"""One run of a DAG in this process, with no server: `python -m tidemark_airflow.dag_run DAG_ID RESULT.json`.

It is a run like any other, kept in the metadata database. The result file says how each task ended. Needs the variables
of an installation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemark_airflow.embedded import metadata
from tidemark_airflow.jobs.progress import say

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun
    from airflow.sdk import DAG


@dataclass(frozen=True)
class TaskEnd:
    """How a task ended: Airflow's state, seconds from start to end, what its job said, and why it failed."""

    task: str
    state: str | None
    seconds: float | None
    said: dict[str, Any] | None
    failure: dict[str, Any] | None


@dataclass(frozen=True)
class RunEnd:
    """How a run ended: Airflow's state, its tasks in their order, or why it never began."""

    state: str
    tasks: list[TaskEnd]
    problem: str | None = None


def run(dag_id: str) -> RunEnd:
    """Run the DAG once, now."""
    say("airflow", "preparing its database")
    metadata.make_ready()
    dag, problem = _find(dag_id)
    if dag is None:
        return RunEnd("failed", [], problem)
    say("airflow", f"running {dag_id}")
    ended = dag.test()
    return RunEnd(str(ended.state), list(_tasks(dag, ended)))


def _find(dag_id: str) -> tuple[DAG | None, str]:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.sdk import conf

    bag = DagBag(conf.get("core", "dags_folder"))
    found = ", ".join(sorted(bag.dags)) or "none"
    return bag.dags.get(dag_id), "\n".join([f"there is no DAG {dag_id}; found: {found}", *bag.import_errors.values()])


def _tasks(dag: DAG, ended: DagRun) -> Iterator[TaskEnd]:

    instances = {instance.task_id: instance for instance in ended.get_task_instances()}
    for task in dag.topological_sort():
        instance = instances[task.task_id]
        said, failure = (_xcom(instance, key) for key in ("return_value", "failure"))
        yield TaskEnd(task.task_id, instance.state, instance.duration, said, failure)


def _xcom(instance: Any, key: str) -> Any:
    return instance.xcom_pull(task_ids=instance.task_id, key=key)


def main(arguments: list[str]) -> int:
    """Run the DAG and write how it ended; the exit code is 0 whenever that could be written."""
    dag_id, result = arguments
    Path(result).write_text(json.dumps(asdict(run(dag_id)), default=str), encoding="utf-8")
    return 0
