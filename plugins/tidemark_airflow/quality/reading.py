"""The contents of the pages of a pipeline and of a run, read from the lake; a problem in reading is one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from spark_jobs.tables import run_history
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake, data_docs_name, report_name
from spark_jobs.tables.run import Run
from spark_jobs.tables.run_history import History
from tidemark_airflow.quality import check_rows
from tidemark_airflow.quality.airflow_metadata import Made
from tidemark_airflow.quality.page_files import page_exists
from tidemark_airflow.quality.pages import RUNS, Part, RunView

#: The steps that the page of a pipeline reads: about a hundred runs.
STEPS = 500


@dataclass(frozen=True)
class PipelineRuns:
    """A pipeline's runs, and those of one part of its table with their failed checks; or the `problem` in reading."""

    history: History = field(default_factory=History)
    views: tuple[RunView, ...] = ()
    part: Part = field(default_factory=lambda: Part(1, 1))
    problem: str | None = None


def pipeline(name: str, page: int) -> PipelineRuns:
    """Return the runs of a pipeline and one page of them, from 1."""
    lake = Lake.of(name)
    try:
        history = run_history.newest(lake, STEPS)
    except LakeError as problem:
        return PipelineRuns(problem=str(problem))
    part = Part.of(page, len(history.runs), RUNS)
    return PipelineRuns(history, tuple(_with_checks(lake, history.runs[part.cut(RUNS)], failed_only=True)), part)


def run(name: str, run_id: str) -> RunView | str | None:
    """Return a run with all of its checks; None if the ledger does not have it, a line if it cannot be read."""
    lake = Lake.of(name)
    try:
        entry = run_history.find(lake, run_id)
    except LakeError as problem:
        return str(problem)
    return None if entry is None else _with_checks(lake, [entry])[0]


def of_dag_run(named_runs: Sequence[Made]) -> tuple[list[tuple[str, RunView]], list[str]]:
    """Return the runs that the ledgers have, each with its pipeline, and a line for each that cannot be read."""
    runs: list[tuple[str, RunView]] = []
    problems: list[str] = []
    for named in named_runs:
        page = run(named.pipeline, named.run_id)
        if isinstance(page, RunView):
            runs.append((named.pipeline, page))
        elif page is not None:
            problems.append(page)
    return runs, list(dict.fromkeys(problems))


def _with_checks(lake: Lake, runs: Sequence[Run], *, failed_only: bool = False) -> list[RunView]:
    try:
        checks, problem = check_rows.of_runs(lake, [run.run_id for run in runs], failed_only=failed_only), None
    except LakeError as error:
        checks, problem = {}, str(error)
    return [
        RunView(
            run,
            checks.get(run.run_id, ()),
            page_exists(lake, report_name(run.run_id)),
            problem,
            page_exists(lake, data_docs_name(run.run_id)),
        )
        for run in runs
    ]
