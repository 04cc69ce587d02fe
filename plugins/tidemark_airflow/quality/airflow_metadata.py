"""What Airflow's metadata database says: the newest run of each DAG, broken pipeline files, what a DAG run has made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow.models.dagrun import DagRun
from airflow.models.errors import ParseImportError
from airflow.models.xcom import XCOM_RETURN_KEY, XComModel
from airflow.utils.session import create_session
from sqlalchemy import func, select

from tidemark_airflow.jobs.links import RUN_ID, pipeline_of
from tidemark_airflow.jobs.pipeline_files import BrokenPipelinesError

_PIPELINE = re.compile(r"[a-z][a-z0-9_]*")
_ACTIVE = ("queued", "running", "restarting")


@dataclass(frozen=True)
class DagRunState:
    """A run of a DAG, and Airflow's word for how it is."""

    run_id: str
    state: str

    @property
    def is_active(self) -> bool:
        """Whether it has not ended."""
        return self.state in _ACTIVE


@dataclass(frozen=True)
class Made:
    """A run of Tidemark that a DAG run has worked on."""

    pipeline: str
    run_id: str


def newest_runs(dags: Sequence[str]) -> dict[str, DagRunState]:
    """The run that was created last of each of these DAGs; without those that have none."""
    newest = select(func.max(DagRun.id)).where(DagRun.dag_id.in_(dags)).group_by(DagRun.dag_id)
    asked = select(DagRun.dag_id, DagRun.run_id, DagRun.state).where(DagRun.id.in_(newest))
    with create_session() as session:
        return {dag: DagRunState(run, str(state)) for dag, run, state in session.execute(asked)}


def dag_run(dag: str, run_id: str) -> DagRunState | None:
    """A run of a DAG, None if there is no such run."""
    asked = select(DagRun.run_id, DagRun.state).where(DagRun.dag_id == dag, DagRun.run_id == run_id)
    with create_session() as session:
        return next((DagRunState(run, str(state)) for run, state in session.execute(asked)), None)


def broken_files() -> list[str]:
    """What is wrong with pipeline files, a line a file, as the DAG processor has found it."""
    head = f"{BrokenPipelinesError.__name__}: "
    asked = select(ParseImportError.stacktrace).where(ParseImportError.stacktrace.contains(head))
    with create_session() as session:
        found = [str(trace).partition(head)[2].splitlines()[1:] for trace in session.scalars(asked)]
    return [line for lines in found for line in lines if line.strip()]


def made_by(dag: str, run_id: str) -> list[Made]:
    """The runs that the tasks of a DAG run name in their XComs, each once, in the order in which they were named.

    A step that failed has pushed `run_id` alone; whose run it was, the task `plan` or the DAG says.
    """
    asked = (
        select(XComModel.task_id, XComModel.key, XComModel.value)
        .where(XComModel.dag_id == dag, XComModel.run_id == run_id, XComModel.key.in_((XCOM_RETURN_KEY, "run_id")))
        .order_by(XComModel.timestamp)
    )
    with create_session() as session:
        told = [(row.key, XComModel.deserialize_value(row)) for row in session.execute(asked)]
    said = [value for key, value in told if key == XCOM_RETURN_KEY and isinstance(value, Mapping)]
    planned = next((name for one in said if (name := _text(one, "pipeline", _PIPELINE))), None)
    ours = planned or pipeline_of(dag)
    names = [(_text(one, "pipeline", _PIPELINE), _text(one, "run_id", RUN_ID)) for one in said]
    names += [(ours, value) for key, value in told if key == "run_id" and _is(value, RUN_ID)]
    made = (Made(pipeline or ours or "", run) for pipeline, run in names if run)
    return list(dict.fromkeys(one for one in made if one.pipeline))


def _text(said: Mapping[str, Any], key: str, shape: re.Pattern[str]) -> str | None:
    value = said.get(key)
    return value if _is(value, shape) else None


def _is(value: Any, shape: re.Pattern[str]) -> bool:
    return isinstance(value, str) and shape.fullmatch(value) is not None
