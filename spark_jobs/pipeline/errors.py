"""A problem is one thing wrong with a pipeline file: where it stands, which key, what was found, what is allowed.

A file's problems are collected and raised together as one `PipelineError`, whose text is meant for the author of the
file. Lines and columns count from 1. At most `MOST_PROBLEMS` are collected: a file with more is no pipeline file, and
each problem costs time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.printable import printable, shortened

#: The problems that are collected of one file.
MOST_PROBLEMS = 100
# A key is a name that people write; longer keys come from files that are no pipeline files.
_LONGEST_KEY = 120


@dataclass(frozen=True)
class Place:
    """Where something was written: a line of a file, or an override on top of it."""

    origin: str
    line: int | None = None
    column: int | None = None
    override: str | None = None

    def __str__(self) -> str:
        if self.override is not None:
            return f"{self.origin}: override '{self.override}'"
        return ":".join(str(part) for part in (self.origin, self.line, self.column) if part is not None)


@dataclass(frozen=True)
class Problem:
    """One thing wrong. `key` is dotted, `windows.size` or `windows.key[0]`, and empty for the file as a whole."""

    place: Place
    key: str
    message: str
    code: ErrorCode = ErrorCode.VALUE_WRONG

    def __str__(self) -> str:
        key = "" if self.key == self.place.override else shortened(self.key, _LONGEST_KEY)
        return printable(": ".join(part for part in (str(self.place), key, self.message) if part))


class TooManyProblemsError(Exception):
    """A file has `MOST_PROBLEMS` problems; the rest of it is not read."""


@dataclass
class Problems:
    """The problems of one file, in the order of their discovery."""

    collected: list[Problem] = field(default_factory=list)

    def add(self, problem: Problem) -> None:
        """Add a problem. Raises TooManyProblemsError with the last one that is collected."""
        self.collected.append(problem)
        if len(self.collected) >= MOST_PROBLEMS:
            raise TooManyProblemsError

    def __bool__(self) -> bool:
        return bool(self.collected)


class PipelineError(ValueError):
    """A pipeline that cannot be used, with its problems in the order of the file, overrides last."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=_position))
        super().__init__(self.problems)

    @property
    def code(self) -> ErrorCode:
        """The code of the first problem."""
        return self.problems[0].code if self.problems else ErrorCode.VALUE_WRONG

    def __str__(self) -> str:
        if len(self.problems) == 1:
            return str(self.problems[0])
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        number = f"{len(self.problems)} problems"
        if len(self.problems) == MOST_PROBLEMS:
            number += ", and the rest of the file is not checked"
        return f"{printable(self.problems[0].place.origin)}: {number}\n{lines}"


class RefusedError(Exception):
    """The reason why a value is refused, from code that does not know the place of the value."""

    def __init__(self, reason: str = "", *, code: ErrorCode = ErrorCode.VALUE_WRONG) -> None:
        super().__init__(reason)
        self.code = code


def _position(problem: Problem) -> tuple[bool, int, int]:
    place = problem.place
    return place.override is not None, place.line or 0, place.column or 0
