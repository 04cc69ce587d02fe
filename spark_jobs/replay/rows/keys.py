"""Keys: the tuple of columns that partitions windows; null is a key like any other."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.quoting import quoted


def key_columns(pipeline: Pipeline) -> list[Column]:
    """Return the key columns."""
    return [F.col(quoted(name)) for name in pipeline.windows.key]


def matching(rows: DataFrame, keys: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the rows of `rows` whose values in `names` occur in `keys`."""
    renamed = _apart(keys.select(*map(quoted, names)), names)
    return rows.join(renamed.distinct(), _same(names), "left_semi")


def among(rows: DataFrame, few: DataFrame, names: Sequence[str], *, are: bool = True) -> DataFrame:
    """Return the rows of `rows` whose values in `names` occur, or do not occur, in `few`, which is broadcast."""
    renamed = _apart(few.select(*map(quoted, names)), names)
    return rows.join(F.broadcast(renamed), _same(names), "left_semi" if are else "left_anti")


def beside(left: DataFrame, right: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return all rows of `left` with the columns of `right` where `names` are equal (left join; nulls are equal)."""
    renamed = _apart(right, names)
    return left.join(renamed, _same(names), "left").drop(*map(_other, range(len(names))))


def _apart(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    return frame.withColumnsRenamed({name: _other(i) for i, name in enumerate(names)})


def _same(names: Sequence[str]) -> list[Column]:
    return [F.col(quoted(name)).eqNullSafe(F.col(_other(i))) for i, name in enumerate(names)]


def _other(number: int) -> str:
    return f"{c.PREFIX}other_{number}"
