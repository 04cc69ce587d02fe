"""Intermediates of all rows, of a run that itself reads only some: a later run over changes begins with them.

A run over changes stores the census and the calendar around its windows. Those of all rows are the earlier run's, of
which it replaces a few rows. So it stores a copy of the earlier run's files, and beside it the replacement: nothing is
read or computed that did not change.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.replay.replacement import Replacement
from spark_jobs.tables import staging
from spark_jobs.tables.lake import Lake

_WHOLE, _KEYS, _ROWS = "whole", "replaced", "replacing"


@dataclass(frozen=True)
class Intermediate:
    """Rows that a run has stored under `name`, with a replacement of some of them."""

    spark: SparkSession
    lake: Lake
    run_id: str
    name: str
    replacement: Replacement | None = None

    def rows(self, reader: SparkSession | None = None) -> DataFrame:
        """Return the rows, read by `reader`."""
        rows = self.unreplaced(reader)
        return rows if self.replacement is None else self.replacement.of(rows)

    def unreplaced(self, reader: SparkSession | None = None) -> DataFrame:
        """Return the rows before the replacement."""
        return staging.read_work(reader or self.spark, self.lake, self.run_id, self.name)


def stored(spark: SparkSession, lake: Lake, run_id: str, name: str) -> Intermediate | None:
    """Return an intermediate of all rows that a run has stored; None without such rows."""
    if staging.has_work(lake, run_id, f"{_WHOLE}/{name}"):
        return Intermediate(spark, lake, run_id, f"{_WHOLE}/{name}", _replacement(spark, lake, run_id, name))
    if is_of_nearby_rows(lake, run_id) or not staging.has_work(lake, run_id, name):
        return None
    return Intermediate(spark, lake, run_id, name)


def is_of_nearby_rows(lake: Lake, run_id: str) -> bool:
    """Return whether the intermediates that a run has stored under their own names are of nearby rows alone."""
    return staging.has_work(lake, run_id, f"{_WHOLE}/census")


def store_replaced(run_id: str, name: str, before: Intermediate, replacement: Replacement | None) -> None:
    """Store the intermediate `before` after a replacement, as that of a run, unless the run has stored it."""
    spark, lake, whole = before.spark, before.lake, f"{_WHOLE}/{name}"
    if staging.has_work(lake, run_id, whole):
        return
    every = replacement or before.replacement
    if replacement is not None and before.replacement is not None:
        every = replacement.after(before.replacement)
    if every is not None and not every.is_small:
        staging.write_work_once(lambda: every.of(before.unreplaced()), lake, run_id, whole, spark)
        return
    if every is not None:
        staging.write_work_once(lambda: every.keys, lake, run_id, f"{_KEYS}/{name}", spark)
        staging.write_work_once(lambda: every.rows, lake, run_id, f"{_ROWS}/{name}", spark)
    staging.copy_work_once(lake, before.run_id, before.name, run_id, whole)


def _replacement(spark: SparkSession, lake: Lake, run_id: str, name: str) -> Replacement | None:
    if not staging.has_work(lake, run_id, f"{_KEYS}/{name}"):
        return None
    keys, rows = (staging.read_work(spark, lake, run_id, f"{part}/{name}") for part in (_KEYS, _ROWS))
    return Replacement(keys, rows)
