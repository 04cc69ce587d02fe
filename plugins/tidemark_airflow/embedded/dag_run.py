"""Run a DAG once in this process, with no server: `python -m tidemark_airflow.dag_run DAG_ID RESULT.json`.

The run is kept in the metadata database, as any other. The result file has how each task ended (`run_end`). The process
needs the variables of an installation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemark_airflow.embedded import metadata
from tidemark_airflow.embedded.run_end import RunEnd, TaskEnd
from tidemark_airflow.jobs.progress import print_progress
from tidemark_airflow.jobs.task_ids import FAILURE

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun
    from airflow.sdk import DAG


def run(dag_id: str) -> RunEnd:
    """Run the DAG once, now."""
    from airflow.utils.state import DagRunState

    print_progress("airflow", "preparing its database")
    metadata.make_ready()
    dag, problem = _find(dag_id)
    if dag is None:
        return RunEnd(DagRunState.FAILED.value, [], problem)
    print_progress("airflow", f"running {dag_id}")
    ended = dag.test()
    return RunEnd(str(ended.state), list(_tasks(dag, ended)))


def _find(dag_id: str) -> tuple[DAG | None, str]:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.sdk import conf

    bag = DagBag(conf.get("core", "dags_folder"))
    dag_ids = ", ".join(sorted(bag.dags)) or "none"
    return bag.dags.get(dag_id), "\n".join([f"there is no DAG {dag_id}; found: {dag_ids}", *bag.import_errors.values()])


def _tasks(dag: DAG, ended: DagRun) -> Iterator[TaskEnd]:
    from airflow.models.xcom import XCOM_RETURN_KEY

    instances = {instance.task_id: instance for instance in ended.get_task_instances()}
    for task in dag.topological_sort():
        instance = instances[task.task_id]
        returned, failure = (_xcom(instance, key) for key in (XCOM_RETURN_KEY, FAILURE))
        yield TaskEnd.of(task.task_id, instance.state, instance.duration, returned, failure)


def _xcom(instance: Any, key: str) -> Any:
    return instance.xcom_pull(task_ids=instance.task_id, key=key)


def main(arguments: list[str]) -> int:
    """Run the DAG and write how it ended; the exit code is 0 whenever that could be written."""
    dag_id, result_file = arguments
    content = json.dumps(run(dag_id).to_json(), default=str)
    Path(result_file).write_text(content, encoding="utf-8")
    return 0
