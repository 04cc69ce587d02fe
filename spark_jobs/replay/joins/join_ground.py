"""The ground of a window join: census, calendar and watermarks of both inputs, for the stages of their windows.

Law (rules 95, 96): a window fires at the first emission at which every source has passed it,

    F(T) = max over the sources s of F_s(T)

with F_s the first passage of the calendar. `JoinGround` computes F so. Without such a form (`co_group.fires_panes`),
`UnitedGround` reads it off the advances of the united sources.
"""

from __future__ import annotations

from functools import cached_property, partial, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.ground import Ground
from spark_jobs.replay.joins import join_watermark
from spark_jobs.replay.joins.inputs import Inputs
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import emission
from spark_jobs.replay.source_rows import PlacedRows
from spark_jobs.replay.store import Store
from spark_jobs.replay.watermark.census import CLOSE_CELL, FIRE_CELL, census, gathered
from spark_jobs.replay.windows import calendar as by_window
from spark_jobs.semantics.watermark.union import union
from spark_jobs.session import SmallPlans

_CELLS = {"fires_epoch": FIRE_CELL, "closes_epoch": CLOSE_CELL}
_CLOCKS = {"fires_epoch": "fires_us", "closes_epoch": "closes_us"}


class _BothInputs(Ground):
    """The ground of the rows of both inputs, which have their place and epoch."""

    def __init__(
        self, inputs: Inputs, rows: PlacedRows, pipeline: Pipeline, store: Store, until_us: int | None
    ) -> None:
        super().__init__(rows, pipeline, store, until_us=until_us)
        self._inputs = inputs

    @cached_property
    def compiled(self) -> Pipeline:
        """The pipeline itself: its aggregates are the engine's own, and groups are sets of rows."""
        return self.pipeline


class UnitedGround(_BothInputs):
    """The ground of united sources, which have one watermark."""

    def _advances(self) -> DataFrame:
        return join_watermark.advances(self._inputs, self.moving, union, until_us=self.until_us)


class JoinGround(_BothInputs):
    """The ground of sources that each move a separate watermark.

    The census has the index of a group's source as `source`. The calendar lacks the partitions' watermarks.
    """

    @cached_property
    def _counted(self) -> tuple[DataFrame, SmallPlans | None]:
        alone = [
            census(self._inputs.rows.where(source.of), source.pipeline).withColumn("source", F.lit(number))
            for number, source in enumerate(self._inputs.sources)
        ]
        groups = reduce(partial(DataFrame.unionByName, allowMissingColumns=True), alone)
        return gathered(self.store.keep("census", lambda: groups)), None

    @cached_property
    def calendar(self) -> DataFrame:
        """When each window fires and closes (`calendar.calendar`)."""
        return self.store.keep("calendar", self._calendar)

    def _calendar(self) -> DataFrame:
        passed = self.store.keep("passages", self._passages)
        emissions = passed.where("fires_epoch is not null").select(F.col("fires_epoch").alias("epoch")).distinct()
        reached = join_watermark.after(emissions, self.census, self._inputs).withColumnRenamed("epoch", "fires_epoch")
        joined = passed.join(reached, "fires_epoch", "left")
        clocked = emission.clocked(joined, _CLOCKS, self.census, self.pipeline)
        return self._ended(clocked)

    def _passages(self) -> DataFrame:
        """The epochs that fire and close each window, if they happen: `window_ms`, `fires_epoch`, `closes_epoch`."""
        windows = by_window.windows_of_groups(self.census, self.pipeline)
        cells = {name: F.col(cell) for name, cell in _CELLS.items()}
        alone = [
            by_window.first_passages(
                join_watermark.of_source(self.census, number), windows, source.pipeline, cells
            ).withColumnsRenamed({name: f"{name}_{number}" for name in cells})
            for number, source in enumerate(self._inputs.sources)
        ]
        beside = reduce(lambda frame, other: frame.join(other, "window_ms", "left"), alone, windows)
        slowest = {name: _latest([F.col(f"{name}_{number}") for number in range(len(alone))]) for name in cells}
        together = beside.select("window_ms", *(epoch.alias(name) for name, epoch in slowest.items()))
        return emission.happened(together, list(cells), self.census, self.pipeline, until_us=self.until_us)

    def _ended(self, dated: DataFrame) -> DataFrame:
        """Windows that no emission passes fire and close when the input ends, if it does."""
        if not self.pipeline.replay.closes:
            return dated
        end = self.census.agg(F.coalesce(F.lit(self.until_us).cast("long"), F.max("last_clock_us")).alias("end_us"))
        closing = {name: F.coalesce(name, "end_us") for name in _CLOCKS.values()}
        return dated.crossJoin(F.broadcast(end)).withColumns(closing).drop("end_us")

    def missed_watermarks(self, epochs: DataFrame) -> DataFrame:
        """Compute the watermark before the rows of each of `epochs`: `EPOCH`, `WATERMARK_MS`."""
        reached = join_watermark.before(epochs, self.census, self._inputs)
        return reached.select(F.col("epoch").alias(c.EPOCH), F.col("watermark_ms").alias(c.WATERMARK_MS))


def _latest(epochs: list[Column]) -> Column:
    """The latest of the epochs, null if one of them is."""
    if len(epochs) == 1:
        return epochs[0]
    return F.when(reduce(Column.__and__, [epoch.isNotNull() for epoch in epochs]), F.greatest(*epochs))
