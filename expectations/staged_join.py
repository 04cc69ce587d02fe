"""What a run of a join has staged, reduced to the columns that invariants look at.

A pair's rows are read again as their sources' rows were: their times, their keys, and the side that each belongs to.
Nothing else of a source's columns is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations.errors import AuditError
from expectations.staged_tables import WINDOW, StagedTables
from spark_jobs.pipeline.joining import joining
from spark_jobs.pipeline.model import Join, Order
from spark_jobs.replay.rows import event_time

FIRING = ("pane_index", "timing", "watermark")
#: By input: the names under which `StagedJoin.pairs` tells of its row.
SIDES = ("first", "second")

_OURS = "__tm_pair_"
_FATES = ("rows_read", "filtered", "on_time", "late", "unassigned")


class StagedJoin(StagedTables):
    """The reduced tables of a run, its pipeline, and the counts that its steps reported."""

    @property
    def names(self) -> tuple[str, str]:
        """The names of both inputs."""
        return self._join.names

    @cached_property
    def pairs(self) -> DataFrame:
        """Every pair.

        `event_time` (of a join by interval), `fired_at`, `window_start, window_end, pane_index, timing, watermark, key`
        (of one by window); of its rows, which are `first` and `second`: `first_ms` (event time), `first_us` (clock),
        `first_key`, and where one source is split `first_is_second`, whether its condition holds of it.
        """
        own = [name for name in self._columns["pairs"] if name not in self.names]
        rows = self._tables["pairs"].select(
            *(F.col(f"`{name}`").alias(_OURS + name) for name in own),
            *([] if self._join.by_interval else [_key(self._join.key[0]).alias(_OURS + "key")]),
            *(F.col(f"`{name}`").alias(_OURS + side) for name, side in zip(self.names, SIDES, strict=True)),
        )
        for number, side in enumerate(SIDES):
            # Expressions of the pipeline are about the source's columns: here these are the columns there are.
            opened = rows.select(*(name for name in rows.columns), f"{_OURS}{side}.*")
            told = {f"{_OURS}{side}_{name}": column for name, column in self._told(opened, number).items()}
            rows = opened.withColumns(told).select(*rows.columns, *told)
        left = [name for name in rows.columns if name not in {_OURS + side for side in SIDES}]
        return self._keep(rows.select(*(F.col(name).alias(name.removeprefix(_OURS)) for name in left)))

    @cached_property
    def late_events(self) -> DataFrame:
        """Every row that was too late to join, with its source."""
        return self._keep(self._tables["late_events"].select(*self._columns["late_events"]))

    @cached_property
    def invalid_events(self) -> DataFrame:
        """The source and the reason of every row without a usable time."""
        return self._keep(self._tables["invalid_events"].select(*self._columns["invalid_events"]))

    @property
    def _columns(self) -> Mapping[str, tuple[str, ...]]:
        by_interval = self._join.by_interval
        late = ("source", "event_time", "arrival_time", "watermark", "late_by_ms")
        return {
            "pairs": (*self.names, *(("event_time",) if by_interval else (*WINDOW, *FIRING)), "fired_at"),
            "late_events": late if by_interval else (*late, *WINDOW),
            "invalid_events": ("source", "reason"),
        }

    @property
    def _needed_counts(self) -> list[str]:
        return [f"{fate}_of_{name}" for name in self.names for fate in _FATES]

    @cached_property
    def _join(self) -> Join:
        if self.pipeline.join is None:
            raise AuditError(f"asked for the join of {self.pipeline.name}, found none")
        return self.pipeline.join

    def _told(self, opened: DataFrame, number: int) -> dict[str, Column]:
        """What is told of the row of an input, whose columns `opened` has."""
        source = joining(self.pipeline).inputs[number].source
        happened_us = event_time.micros(opened, source.event_time)
        clock_us = happened_us
        if self.pipeline.replay.order is Order.ARRIVAL and source.arrival_time is not None:
            clock_us = event_time.micros(opened, source.arrival_time)
        told = {"ms": event_time.millis(happened_us), "us": clock_us, "key": _key(self._join.key[number])}
        if self._join.second_when is not None:
            told["is_second"] = F.coalesce(F.expr(self._join.second_when), F.lit(False))
        return told


def _key(columns: tuple[str, ...]) -> Column:
    """The key, whatever its columns are called."""
    named = [F.col(f"`{name}`").alias(f"k{i}") for i, name in enumerate(columns)]
    return F.struct(*named) if named else F.lit(None).cast("string")
