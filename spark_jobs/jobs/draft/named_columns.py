"""A named column is how a pipeline file refers to a leaf where it takes a column's name and no expression.

A leaf at the top level has its column's name. A field of a struct, and a key with a name that results cannot have, get
a new name in `source.columns`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from spark_jobs.jobs.draft.leaves import Leaf
from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.names import result_column

_MARK = re.compile(r"[^\w]+")


@dataclass(frozen=True)
class NamedColumn:
    """A name, and the SQL expression that `source.columns` gives it; None for a column of the table."""

    name: str
    expression: str | None = None


def named_column(leaf: Leaf, columns: Collection[str], *, is_key: bool) -> NamedColumn:
    """Return the name of a leaf. `columns` are the names that the table has already."""
    last = leaf.path[-1]
    if not leaf.is_nested and (not is_key or _is_result(last)):
        return NamedColumn(last)
    name = _MARK.sub("_", last).strip("_") or "column"
    names = {column.lower() for column in columns}
    candidates = [name, "_".join(_MARK.sub("_", part) for part in leaf.path)]
    candidates += [f"{name}_{number}" for number in range(2, len(names) + 4)]
    free = next(c for c in candidates if c.lower() not in names and _is_result(c))
    return NamedColumn(free, leaf.expression)


def _is_result(name: str) -> bool:
    try:
        result_column(name)
    except RefusedError:
        return False
    return True
