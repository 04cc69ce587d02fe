"""The YAML of a file of cases, or of a drawing, is read by the strict reader of pipeline files.

A key stands once and is text. Numbers are decimal and have no leading zero, `true` and `false` are the only booleans,
and aliases and tags are refused. Each problem has its line.
"""

from __future__ import annotations

from typing import Any

from spark_jobs.pipeline.document import Node, plain_value
from spark_jobs.pipeline.errors import Place, Problem, Problems, RefusedError, TooManyProblemsError
from spark_jobs.pipeline.reader import Reader


class YamlTextError(ValueError):
    """A text that is no YAML of this kind; a line for each problem."""


def read_document(text: str) -> Node:
    """Return the document of a YAML text. Raises YamlTextError."""
    problems = Problems()
    try:
        node = Reader(Place(""), str, problems).from_yaml(text)
    except TooManyProblemsError as stop:
        raise YamlTextError(_lines(problems)) from stop
    if problems:
        raise YamlTextError(_lines(problems))
    return node


def values_of(node: Node, key: str) -> Any:
    """Return a part of a document as Python values; `key` names it in errors. Raises YamlTextError."""
    try:
        return plain_value(node)
    except RefusedError as problem:
        raise YamlTextError(f"{key}: {problem}") from problem


def _lines(problems: Problems) -> str:
    return "\n".join(map(_line, problems.collected))


def _line(problem: Problem) -> str:
    line = "" if problem.place.line is None else f"line {problem.place.line}"
    return ": ".join(part for part in (line, problem.key, problem.message) if part)
