"""The overview: the newest run of each pipeline, and the ratios of the runs before it.

Pipelines are read side by side. A pipeline that cannot be read has the problem in its row, and the others are complete.
A page is answered within `WITHIN_S`, even if a remote lake is slow.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

from spark_jobs.job_protocol import RunState
from spark_jobs.tables import run_history
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake, report_name
from spark_jobs.tables.run import Run
from tidemark_airflow.jobs.links import dag_id
from tidemark_airflow.quality.airflow_metadata import DagRunState
from tidemark_airflow.quality.page_files import page_exists
from tidemark_airflow.quality.ratios import Ratios

#: Pipelines on one page, the steps that are read of each, and the runs that they are about.
PIPELINES, STEPS, TREND = 25, 40, 8
WITHIN_S = 10.0
_SIDE_BY_SIDE = 8


@dataclass(frozen=True)
class Row:
    """A pipeline; `run` None where it was never run, `problem` where its ledger cannot be read."""

    pipeline: str
    run: Run | None = None
    trend: tuple[Ratios | None, ...] = ()
    has_report: bool = False
    problem: str | None = None
    dag_run: DagRunState | None = None

    @property
    def is_failing(self) -> bool:
        """True if its ledger cannot be read, or its newest run or DAG run has failed."""
        of_run = self.run is not None and self.run.state in (RunState.BLOCKED, RunState.FAILED)
        return self.problem is not None or of_run or (self.dag_run is not None and self.dag_run.state == "failed")

    @property
    def ratios(self) -> Ratios | None:
        """Those of the run."""
        return None if self.run is None else Ratios.of(self.run.counts)


def rows(pipelines: Sequence[str], dag_runs: Mapping[str, DagRunState]) -> list[Row]:
    """Return a row a pipeline, in their order; `dag_runs` are the newest ones by DAG."""
    until = time.monotonic() + WITHIN_S
    reading = [(name, _pool().submit(_row, name, dag_runs.get(dag_id(name)))) for name in pipelines]
    return [_answer(name, future, until) for name, future in reading]


def _answer(pipeline: str, future: Future[Row], until: float) -> Row:
    try:
        return future.result(timeout=max(0.0, until - time.monotonic()))
    except LakeError as problem:
        return Row(pipeline, problem=str(problem))
    except TimeoutError:
        future.cancel()
        return Row(pipeline, problem=f"its ledger was not read within {WITHIN_S:.0f} s; load the page again")


def _row(pipeline: str, dag_run: DagRunState | None) -> Row:
    lake = Lake.of(pipeline)
    history = run_history.newest(lake, STEPS)
    if not history.runs:
        return Row(pipeline, dag_run=dag_run)
    run, *_ = history.runs
    trend = tuple(Ratios.of(past.counts) for past in reversed(history.runs[:TREND]))
    return Row(pipeline, run, trend, page_exists(lake, report_name(run.run_id)), dag_run=dag_run)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="tidemark-quality")
