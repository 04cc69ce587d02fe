"""A replacement of few rows of an intermediate: the rows with some keys give way to other rows.

Keys are compared as Spark groups them, so null equals null.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.watermark.census import is_small

_KEY = c.PREFIX + "replaced_"


@dataclass(frozen=True)
class Replacement:
    """The rows with a key of `keys` give way to `rows`. Both are stored; the columns of `keys` are among theirs."""

    keys: DataFrame
    rows: DataFrame

    def of(self, before: DataFrame) -> DataFrame:
        """Return the rows after the replacement of rows of `before`."""
        return without(before, self.keys).unionByName(self.rows.select(*before.columns))

    def after(self, first: Replacement) -> Replacement:
        """Return the replacement that does both, `first` before this one."""
        return Replacement(first.keys.unionByName(self.keys).distinct(), self.of(first.rows))

    @property
    def is_small(self) -> bool:
        """Whether so few rows are replaced that reading them with the others costs little."""
        return is_small(self.keys) and is_small(self.rows)


def with_keys(rows: DataFrame, keys: DataFrame) -> DataFrame:
    """Return the rows with one of the stored `keys`."""
    return _joined(rows, keys, "left_semi")


def without(rows: DataFrame, keys: DataFrame) -> DataFrame:
    """Return the rows without one of the stored `keys`."""
    return _joined(rows, keys, "left_anti")


def _joined(rows: DataFrame, keys: DataFrame, how: str) -> DataFrame:
    few = F.broadcast(keys) if is_small(keys) else keys
    named = few.withColumnsRenamed({name: _KEY + name for name in keys.columns})
    same = reduce(Column.__and__, (rows[name].eqNullSafe(F.col(_KEY + name)) for name in keys.columns))
    return rows.join(named, same, how)
