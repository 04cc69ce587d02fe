"""What the pages of a pipeline and of a run show, read from the lake; what cannot be read is said in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import Run
from tidemark_airflow.quality import check_rows, ledger
from tidemark_airflow.quality.airflow_metadata import Made
from tidemark_airflow.quality.lake_tables import LakeError
from tidemark_airflow.quality.ledger import History
from tidemark_airflow.quality.pages import RUNS, Part, Shown

#: The steps that the page of a pipeline reads: about a hundred runs.
STEPS = 500


@dataclass(frozen=True)
class Found:
    """A pipeline's runs, and those of one part of its table with their failed checks; or the `problem` in reading."""

    history: History = field(default_factory=History)
    shown: tuple[Shown, ...] = ()
    part: Part = field(default_factory=lambda: Part(1, 1))
    problem: str | None = None


def pipeline(name: str, page: int) -> Found:
    """The runs of a pipeline and one page of them, from 1."""
    lake = Lake.of(name)
    try:
        history = ledger.newest(lake, STEPS)
    except LakeError as problem:
        return Found(problem=str(problem))
    part = Part.of(page, len(history.runs), RUNS)
    return Found(history, tuple(_shown(lake, history.runs[part.cut(RUNS)], failed_only=True)), part)


def run(name: str, run_id: str) -> Shown | str | None:
    """A run with all of its checks; None if the ledger does not have it, or why it cannot be read."""
    lake = Lake.of(name)
    try:
        found = ledger.find(lake, run_id)
    except LakeError as problem:
        return str(problem)
    return None if found is None else _shown(lake, [found])[0]


def made(by: Sequence[Made]) -> tuple[list[tuple[str, Shown]], list[str]]:
    """The runs that are in the ledgers of their pipelines, each with its pipeline; and why others cannot be read."""
    found: list[tuple[str, Shown]] = []
    problems: list[str] = []
    for one in by:
        shown = run(one.pipeline, one.run_id)
        if isinstance(shown, Shown):
            found.append((one.pipeline, shown))
        elif shown is not None:
            problems.append(shown)
    return found, list(dict.fromkeys(problems))


def _shown(lake: Lake, runs: Sequence[Run], *, failed_only: bool = False) -> list[Shown]:
    try:
        told, problem = check_rows.of_runs(lake, [one.run_id for one in runs], failed_only=failed_only), None
    except LakeError as error:
        told, problem = {}, str(error)
    return [
        Shown(
            one,
            told.get(one.run_id, ()),
            ledger.is_there(lake.report_file(one.run_id)),
            problem,
            ledger.is_there(lake.data_docs_file(one.run_id)),
        )
        for one in runs
    ]
