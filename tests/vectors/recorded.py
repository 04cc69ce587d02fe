"""Recorded scenarios and answers are files of JSON lines; lists of objects are written by column, to be small."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def paired(scenarios: Path, results: Path) -> tuple[tuple[dict[str, Any], dict[str, Any]], ...]:
    """Return each scenario of a file with its answer of the other; they are read once, so do not change them."""
    answers = {answer["id"]: answer for answer in lines(results)}
    return tuple((declared, answers[declared["id"]]) for declared in lines(scenarios))


def lines(path: Path) -> list[dict[str, Any]]:
    """Read the objects of a file, a line each."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as text:
        return [{name: _objects(value) for name, value in json.loads(line).items()} for line in text]


def _objects(value: Any) -> Any:
    """Give a list of objects that was written column by column, to be small, as the oracle writes it."""
    if not isinstance(value, dict) or not all(isinstance(column, list) for column in value.values()):
        return value
    rows = zip(*value.values(), strict=True)
    return [{name: item for name, item in zip(value, row, strict=True) if item is not None} for row in rows]
