"""Groups as panes: both inputs replayed as united sources, whose windows gather the rows of each side.

Law (rules 95-97): a co-group is the window operator over the union of both inputs; its channels are those of a union.
So its groups are the panes of a pipeline with these sources, and whatever such a pipeline has, of windows and of
watermarks, a co-group has. It is for windows that are no single calendar of two sources, and for watermarks that no
closed form tells.
"""

from __future__ import annotations

from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.joining import JoiningPipeline
from spark_jobs.pipeline.model import Pipeline, Windows
from spark_jobs.replay.engine import Replay, SessionReplay
from spark_jobs.replay.joins import join_watermark
from spark_jobs.replay.joins.inputs import LEFT, RIGHT, SIDE, Inputs, pipelines_of
from spark_jobs.replay.panes.aggregates import aggregate_column
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.sessions import session_panes
from spark_jobs.replay.sessions.session_components import UNCLEAN
from spark_jobs.replay.watermark.census import moving
from spark_jobs.replay.windows import lateness
from spark_jobs.semantics.watermark.union import union


def fires_panes(joining: JoiningPipeline, spec: Windows) -> bool:
    """Whether the groups of these windows are the panes of united sources."""
    lags = any(one.watermark.follows_clock for one in pipelines_of(joining, spec))
    return not spec.is_tumbling or lags or join_watermark.reads_advances(joining)


def taken(on_time: DataFrame, late_rows: DataFrame, spec: Windows) -> DataFrame:
    """The rows that a window took: `side` (0: left), `at_ms` (their newest window's start), `is_late`, `row_count` (1).

    `on_time` are in time for all of their windows, `late_rows` (`late_events.late_rows`) are not. A row counts as late
    if its newest window had fired.
    """
    fired = F.col(c.WINDOW_MS) < lateness.oldest_on_time_ms(F.col(c.WATERMARK_MS), spec)
    behind = late_rows.where(~F.col(c.TOO_LATE))
    return _counted(on_time, F.col(c.WINDOW_MS), F.lit(False)).union(_counted(behind, F.col(c.WINDOW_MS), fired))


def _counted(rows: DataFrame, at_ms: Column, is_late: Column) -> DataFrame:
    return rows.select(
        F.col(SIDE).alias("side"), at_ms.alias("at_ms"), is_late.alias("is_late"), F.lit(1).alias("row_count")
    )


def grouped(inputs: Inputs, rows: DataFrame, pipeline: Pipeline, until_us: int | None) -> Grouped:
    """Replay the `rows` of `inputs`, which are united, with all that the aggregates of `pipeline` ask for."""
    kind = GroupedSessions if pipeline.windows.is_session else Grouped
    return kind(inputs, rows, pipeline, until_us)


class Grouped(Replay):
    """The result for rows that have their place and epoch already."""

    def __init__(self, inputs: Inputs, rows: DataFrame, pipeline: Pipeline, until_us: int | None) -> None:
        self._inputs = inputs
        self._pipeline = pipeline
        self._until_us = until_us
        self._prepared = rows

    @cached_property
    def _rows(self) -> DataFrame:
        return self._prepared

    @property
    def taken(self) -> DataFrame:
        """The rows that a window took, or will (see `taken`); of a session `at_ms` is its start."""
        return taken(self._on_time, self.late_rows, self._pipeline.windows)

    @cached_property
    def timeline(self) -> DataFrame:
        """The advances of the united watermark."""
        groups = moving(self.census, self._pipeline)
        return join_watermark.advances(self._inputs, groups, union, until_us=self._until_us).localCheckpoint()


class GroupedSessions(Grouped, SessionReplay):
    """The same for sessions, which are those of both sides together."""

    @property
    def taken(self) -> DataFrame:
        """The rows of clean components, told by what is collected of each side, and those that the scan gave a pane."""
        clean = self.components.where(~F.col(UNCLEAN))
        collected = zip((LEFT, RIGHT), self._pipeline.windows.aggregates, strict=True)
        sizes = F.array(
            *(
                F.struct(F.lit(side).alias("side"), F.size(aggregate_column(one.name)).alias("row_count"))
                for side, one in collected
            )
        )
        told = clean.select(F.col(c.WINDOW_MS).alias("at_ms"), F.explode(sizes).alias("of"))
        return told.select("of.side", "at_ms", F.lit(False).alias("is_late"), "of.row_count").union(self._scanned_rows)

    @property
    def _scanned_rows(self) -> DataFrame:
        told = self._scanned.where("is_late is not null")
        panes = self._scanned_panes
        once = panes if self._pipeline.windows.discards else session_panes.latest(panes)
        shown = session_panes.rows_in(once, told, self._pipeline)
        starts = shown.select("component", "rank", F.unix_millis("window_start").alias("start_ms"))
        # What no pane shows yet waits in a session that is open.
        of_rows = told.select("component", "rank", "is_late").join(starts, ["component", "rank"], "left")
        ranked = self._ranked.withColumnsRenamed({c.COMPONENT: "component", c.RANK: "rank"})
        found = of_rows.join(ranked, ["component", "rank"])
        return _counted(found, F.coalesce("start_ms", c.WINDOW_MS), F.col("is_late") == 1)
