"""Airflow's metadata database: the newest run of each DAG, broken pipeline files, the runs of a DAG run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from airflow.models.dagrun import DagRun
from airflow.models.errors import ParseImportError
from airflow.models.xcom import XCOM_RETURN_KEY, XComModel
from airflow.utils.session import create_session
from sqlalchemy import func, select

from spark_jobs.job_protocol import RUN_ID, ProtocolError, StepResult
from tidemark_airflow.jobs.links import pipeline_of
from tidemark_airflow.jobs.pipeline_files import BrokenPipelinesError
from tidemark_airflow.jobs.task_ids import RUN_ID as RUN_ID_KEY

_PIPELINE = re.compile(r"[a-z][a-z0-9_]*")
_ACTIVE = ("queued", "running", "restarting")


@dataclass(frozen=True)
class DagRunState:
    """A run of a DAG, and Airflow's word for its state."""

    run_id: str
    state: str

    @property
    def is_active(self) -> bool:
        """True if it has not ended."""
        return self.state in _ACTIVE


@dataclass(frozen=True)
class Made:
    """A run of Tidemark that a DAG run has worked on."""

    pipeline: str
    run_id: str


def newest_runs(dags: Sequence[str]) -> dict[str, DagRunState]:
    """Return the newest run of each of these DAGs, without DAGs that have none."""
    newest = select(func.max(DagRun.id)).where(DagRun.dag_id.in_(dags)).group_by(DagRun.dag_id)
    query = select(DagRun.dag_id, DagRun.run_id, DagRun.state).where(DagRun.id.in_(newest))
    with create_session() as session:
        return {dag: DagRunState(run, str(state)) for dag, run, state in session.execute(query)}


def dag_run(dag: str, run_id: str) -> DagRunState | None:
    """Return a run of a DAG, None if there is no such run."""
    query = select(DagRun.run_id, DagRun.state).where(DagRun.dag_id == dag, DagRun.run_id == run_id)
    with create_session() as session:
        return next((DagRunState(run, str(state)) for run, state in session.execute(query)), None)


def broken_files() -> list[str]:
    """Return what is wrong with pipeline files, a line a file, by the import errors of the DAG processor."""
    head = f"{BrokenPipelinesError.__name__}: "
    query = select(ParseImportError.stacktrace).where(ParseImportError.stacktrace.contains(head))
    with create_session() as session:
        problems = [str(trace).partition(head)[2].splitlines()[1:] for trace in session.scalars(query)]
    return [line for lines in problems for line in lines if line.strip()]


def made_by(dag: str, run_id: str) -> list[Made]:
    """Return the runs that the tasks of a DAG run name in their XComs, each once, in the order of the XComs.

    A step that failed has pushed `run_id` alone; the pipeline of its run is that of the task `plan`, or of the DAG.
    """
    query = (
        select(XComModel.task_id, XComModel.key, XComModel.value)
        .where(XComModel.dag_id == dag, XComModel.run_id == run_id, XComModel.key.in_((XCOM_RETURN_KEY, RUN_ID_KEY)))
        .order_by(XComModel.timestamp)
    )
    with create_session() as session:
        pushed = [(row.key, XComModel.deserialize_value(row)) for row in session.execute(query)]
    results = [result for key, value in pushed if key == XCOM_RETURN_KEY and (result := _result(value)) is not None]
    pipeline = next((result.pipeline for result in results if result.pipeline), None) or pipeline_of(dag) or ""
    runs = [Made(result.pipeline or pipeline, result.run_id) for result in results if result.run_id]
    runs += [Made(pipeline, value) for key, value in pushed if key == RUN_ID_KEY and _is(value, RUN_ID)]
    return list(dict.fromkeys(run for run in runs if run.pipeline))


def _result(value: Any) -> StepResult | None:
    """Return a task's result, with names that can be parts of paths; None for what is no result."""
    try:
        result = StepResult.from_json(value)
    except ProtocolError:
        return None
    pipeline = result.pipeline if _is(result.pipeline, _PIPELINE) else ""
    run_id = result.run_id if _is(result.run_id, RUN_ID) else ""
    return replace(result, pipeline=pipeline, run_id=run_id)


def _is(value: Any, shape: re.Pattern[str]) -> bool:
    return isinstance(value, str) and shape.fullmatch(value) is not None
