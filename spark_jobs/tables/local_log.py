"""The commits of a Delta table in a local folder, read without Spark: a JSON file for each, a line for each action."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def changes(folder: Path, after: int, newest: int) -> dict[int, list[dict[str, Any]]] | None:
    """Return the actions of each version in `(after, newest]` of the table in `folder`, oldest first.

    Returns None if Delta has deleted the log of one of these versions, as `delta_log.changes` does.
    """
    files = {version: folder / "_delta_log" / f"{version:020d}.json" for version in range(after + 1, newest + 1)}
    if not all(file.is_file() for file in files.values()):
        return None
    return {version: _actions(file) for version, file in files.items()}


def commits(folder: Path, *, oldest_first: bool = False) -> Iterator[list[dict[str, Any]]]:
    """Yield the actions of each commit to the table in `folder`, the newest first; none if there is no table.

    Each commit is read when needed. For tables whose log Delta does not delete.
    """
    files = sorted((folder / "_delta_log").glob(f"{'[0-9]' * 20}.json"), reverse=not oldest_first)
    return map(_actions, files)


def _actions(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
