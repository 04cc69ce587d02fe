"""The result of a join that judges each row alone: it is late, on time or invalid, whatever its partners are.

An interval join and an as-of join differ in the condition for a late row, and in what a late row may still join.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.replay.joins.inputs import LEFT, RIGHT, SIDE, Inputs, is_side
from spark_jobs.replay.joins.join_watermark import Judged
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.windows.late_events import invalid_events


class JudgedJoin(ABC):
    """The tables of single rows, as lazy DataFrames."""

    _inputs: Inputs

    @cached_property
    def invalid_left(self) -> DataFrame:
        """The rows of the left input without a usable time: the columns of `invalid_events`."""
        return invalid_events(self._inputs.prepared[LEFT], self._inputs.pipelines[LEFT])

    @cached_property
    def invalid_right(self) -> DataFrame:
        """The rows of the right input without a usable time."""
        return invalid_events(self._inputs.prepared[RIGHT], self._inputs.pipelines[RIGHT])

    @cached_property
    def accepted_rows(self) -> DataFrame:
        """The rows that were not late: `side` (0: left), `at_ms` (event time), `is_late` (false), `row_count` (1)."""
        on_time = self._judged.near.where(~self._is_late())
        names = [SIDE, c.TS_MS]
        return (
            self._judged.ahead.select(names)
            .union(on_time.select(names))
            .select(
                F.col(SIDE).alias("side"),
                F.col(c.TS_MS).alias("at_ms"),
                F.lit(False).alias("is_late"),
                F.lit(1).alias("row_count"),
            )
        )

    def _late_rows(self, side: int) -> DataFrame:
        """Return the late rows of a side, of `Judged.near`."""
        return self._judged.near.where(is_side(side) & self._is_late())

    @property
    @abstractmethod
    def _judged(self) -> Judged:
        """The rows of both sides, judged by the watermark of the join."""

    @staticmethod
    @abstractmethod
    def _is_late() -> Column:
        """Return whether a row of `Judged.near` is late."""
