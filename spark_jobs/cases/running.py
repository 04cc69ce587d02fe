"""Running the cases of files: each becomes an outcome, which has the lines that differ, or an error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from spark_jobs.cases import drawing as drawings
from spark_jobs.cases.case_file import Case, CaseError, CaseFile, load_readable
from spark_jobs.cases.comparing import UnknownTableError, differences
from spark_jobs.cases.drawing import Drawing
from spark_jobs.cases.engines import Engine, Reference, UnreplayedError, without_counts
from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline import PipelineError, load


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


@dataclass(frozen=True)
class CaseFailure:
    """A case that was not replayed, or a whole file if `name` is empty; `problem` names both.

    `is_input` is False for an error of the program.
    """

    file: Path
    name: str
    error: Exception
    problem: str

    @property
    def is_input(self) -> bool:
        """Return whether the file of cases or the pipeline file is wrong."""
        return isinstance(self.error, (CaseError, PipelineError))


def results(paths: Iterable[Path], engine: Engine) -> Iterator[CaseOutcome | CaseFailure]:
    """Replay each case of each file; an error of one affects no other."""
    for path in paths:
        try:
            file = load_readable(path)
        except CaseError as problem:
            yield CaseFailure(path, "", problem, str(problem))
            continue
        yield from (CaseFailure(path, name, problem, str(problem)) for name, problem in file.broken.items())
        yield from _results(file, engine)


def _results(file: CaseFile, engine: Engine) -> Iterator[CaseOutcome | CaseFailure]:
    for case in file.cases:
        try:
            yield _outcome(file, case, engine)
        except CaseError as problem:
            yield CaseFailure(file.path, case.name, problem, str(problem))
        except Exception as problem:  # noqa: BLE001  # it must not hide the results of other cases
            # Without settings, the pipeline file is wrong for all cases alike.
            of_case = "" if isinstance(problem, PipelineError) and not case.settings else f"case '{case.name}': "
            yield CaseFailure(file.path, case.name, problem, f"{file.path}: {of_case}{problem}")


def outcomes(file: CaseFile, engine: Engine) -> Iterator[CaseOutcome]:
    """Replay each case of a file. Raises CaseError for a case that cannot be replayed, and PipelineError."""
    for case in file.cases:
        yield _outcome(file, case, engine)


def _outcome(file: CaseFile, case: Case | Drawing, engine: Engine) -> CaseOutcome:
    began = perf_counter()
    lines = _of_drawing(file, case, engine) if isinstance(case, Drawing) else _of_case(file, case, engine)
    return CaseOutcome(file.path, case.name, perf_counter() - began, lines)


def _of_case(file: CaseFile, case: Case, engine: Engine) -> list[str]:
    pipeline = load(file.pipeline or "", overrides=case.settings)
    try:
        replayed = engine.tables(case, pipeline)
        compared = case if isinstance(engine, Reference) else without_counts(case)
        return differences(compared, replayed.tables, replayed.counts, replayed.columns)
    except (UnreplayedError, UnknownTableError) as problem:
        raise CaseError(f"{file.path}: case '{case.name}': {problem}") from problem


def _of_drawing(file: CaseFile, drawing: Drawing, engine: Engine) -> list[str]:
    try:
        return drawings.differences(drawing.steps, engine.steps(drawing), drawing.unit)
    except ValueError as problem:
        message = f"{file.path}: case '{drawing.name}': drawing: {problem}"
        code = problem.code if isinstance(problem, PipelineError) else ErrorCode.FILE_UNREADABLE
        raise CaseError(message, code=code) from problem
