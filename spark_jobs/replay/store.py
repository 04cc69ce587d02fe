"""A store holds what a replay computes once: intermediates that several steps read, and the tables that it writes.

Law: the engine computes the same rows with every store. A store decides only if and where rows are stored.

    keep     an intermediate by its name, computed at most once
    write    a part of a table, written at most once
    read     a part that was written, with its working columns

`MemoryStore` serves the Python API. The jobs have a store over the lake's staging area.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.session import SmallPlans


class Store(Protocol):
    """Where a replay keeps intermediates and writes tables."""

    def keep(self, name: str, compute: Callable[[], DataFrame], plans: SmallPlans | None = None) -> DataFrame:
        """Compute rows by `compute` unless `name` is kept already; return the kept rows.

        With `plans`, the result belongs to the session of small plans, and so do plans that begin with it.
        """

    def write(self, table: str, part: str, frame: DataFrame) -> None:
        """Add `frame` to `table` as the part of that name, unless that part is there."""

    def read(self, table: str, part: str) -> DataFrame:
        """Return a written part, with its working columns. Raises LookupError if it was not written."""


class MemoryStore:
    """Keeps intermediates as local checkpoints. A written part stays a lazy DataFrame: nothing is stored for it.

    `stored` are intermediates by name that are stored already.
    """

    def __init__(self, stored: Mapping[str, DataFrame] | None = None) -> None:
        self._frames: dict[str, DataFrame] = dict(stored or {})
        self._parts: dict[tuple[str, str], DataFrame] = {}

    def keep(self, name: str, compute: Callable[[], DataFrame], plans: SmallPlans | None = None) -> DataFrame:
        """Compute rows by `compute` unless `name` is kept already; return the kept rows, in their session."""
        if name not in self._frames:
            self._frames[name] = compute().localCheckpoint()
        return self._frames[name]

    def write(self, table: str, part: str, frame: DataFrame) -> None:
        """Remember `frame` as a part of `table`."""
        self._parts.setdefault((table, part), frame)

    def read(self, table: str, part: str) -> DataFrame:
        """Return a written part. Raises LookupError if it was not written."""
        if (table, part) not in self._parts:
            raise LookupError(f"{table}: found no part {part}; write it before it is read")
        return self._parts[table, part]

    def table(self, table: str) -> DataFrame:
        """Return all parts of a table together, without working columns."""
        parts = [_published(frame) for (name, _), frame in self._parts.items() if name == table]
        return reduce(DataFrame.unionByName, parts)


def _published(frame: DataFrame) -> DataFrame:
    return frame.select(*(F.col(quoted(name)) for name in frame.columns if not name.startswith(c.PREFIX)))
