"""Running the cases of files: each becomes an outcome, which has the lines that differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from spark_jobs.cases import drawing as drawings
from spark_jobs.cases.case_file import Case, CaseError, CaseFile
from spark_jobs.cases.comparing import UnknownTableError, differences
from spark_jobs.cases.drawing import Drawing
from spark_jobs.cases.engines import Engine, Reference, UnreplayedError, without_counts
from spark_jobs.pipeline import load


@dataclass(frozen=True)
class CaseOutcome:
    """How a case ended; it passed if no line differs."""

    file: Path
    name: str
    seconds: float
    differences: Sequence[str]

    @property
    def passed(self) -> bool:
        """Return whether all is as expected."""
        return not self.differences


def outcomes(file: CaseFile, engine: Engine) -> Iterator[CaseOutcome]:
    """Replay each case of a file. Raises CaseError for a case that cannot be replayed, and PipelineError."""
    for case in file.cases:
        began = perf_counter()
        lines = _of_drawing(case, engine) if isinstance(case, Drawing) else _of_case(file, case, engine)
        yield CaseOutcome(file.path, case.name, perf_counter() - began, lines)


def _of_case(file: CaseFile, case: Case, engine: Engine) -> list[str]:
    pipeline = load(file.pipeline or "", overrides=case.settings)
    try:
        replayed = engine.tables(case, pipeline)
        compared = case if isinstance(engine, Reference) else without_counts(case)
        return differences(compared, replayed.tables, replayed.counts)
    except (UnreplayedError, UnknownTableError) as problem:
        raise CaseError(f"{file.path}: case '{case.name}': {problem}") from problem


def _of_drawing(drawing: Drawing, engine: Engine) -> list[str]:
    return drawings.differences(drawing.steps, engine.steps(drawing), drawing.unit)
