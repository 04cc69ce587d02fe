"""A key is what windows are kept apart by, a tuple of columns; null is a key like any other."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import quoted


def key_columns(pipeline: Pipeline) -> list[Column]:
    """The columns of the key."""
    return [F.col(quoted(name)) for name in pipeline.windows.key]


def matching(rows: DataFrame, others: DataFrame, names: Sequence[str]) -> DataFrame:
    """Those of `rows` whose values under `names` are among those of `others`."""
    renamed = _apart(others.select(*map(quoted, names)), names)
    return rows.join(renamed.distinct(), _same(names), "left_semi")


def among(rows: DataFrame, few: DataFrame, names: Sequence[str], *, are: bool = True) -> DataFrame:
    """Those of `rows` whose values under `names` are among those of `few`, or are not; `few` are sent to all tasks."""
    renamed = _apart(few.select(*map(quoted, names)), names)
    return rows.join(F.broadcast(renamed), _same(names), "left_semi" if are else "left_anti")


def beside(left: DataFrame, right: DataFrame, names: Sequence[str]) -> DataFrame:
    """All of `left`, with what `right` has where `names` are equal; each of these once."""
    renamed = _apart(right, names)
    return left.join(renamed, _same(names), "left").drop(*map(_other, range(len(names))))


def _apart(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    return frame.withColumnsRenamed({name: _other(i) for i, name in enumerate(names)})


def _same(names: Sequence[str]) -> list[Column]:
    return [F.col(quoted(name)).eqNullSafe(F.col(_other(i))) for i, name in enumerate(names)]


def _other(number: int) -> str:
    return f"{c.PREFIX}other_{number}"
