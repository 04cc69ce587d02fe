"""Groups as panes: both inputs replayed by the engine, with windows that gather the rows of each side.

Law (rules 95-97): a co-group is the window operator over the union of both inputs, with the channels of a union. So
its groups are the panes of a pipeline over the rows of both inputs, and the engine computes them as it computes any
panes. `join_ground` computes when windows fire.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.joining import JoiningPipeline
from spark_jobs.pipeline.model import Pipeline, Windows
from spark_jobs.replay.engine import Replay, replay_of
from spark_jobs.replay.joins import join_watermark
from spark_jobs.replay.joins.inputs import LEFT, RIGHT, SIDE, Inputs, pipelines_of
from spark_jobs.replay.joins.join_ground import JoinGround, UnitedGround
from spark_jobs.replay.panes.aggregates import aggregate_column
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.sessions import session_panes
from spark_jobs.replay.sessions.session_components import UNCLEAN
from spark_jobs.replay.source_rows import PlacedRows
from spark_jobs.replay.stages.pane_stages import PaneStages
from spark_jobs.replay.stages.session_stages import SessionStages
from spark_jobs.replay.store import MemoryStore
from spark_jobs.replay.windows import lateness
from spark_jobs.semantics.panes.window_operator import Timing


def fires_panes(joining: JoiningPipeline, spec: Windows) -> bool:
    """Whether the groups of these windows are the panes of united sources."""
    lags = any(pipeline.watermark.follows_clock for pipeline in pipelines_of(joining, spec))
    return not spec.is_tumbling or lags or join_watermark.reads_advances(joining)


def accepted_rows(on_time: DataFrame, late_rows: DataFrame, spec: Windows) -> DataFrame:
    """The rows that a window took: `side` (0: left), `at_ms` (their newest window's start), `is_late`, `row_count` (1).

    `on_time` are in time for all of their windows, `late_rows` (`late_events.late_rows`) are not. A row is late if its
    newest window had fired.
    """
    fired = F.col(c.WINDOW_MS) < lateness.oldest_on_time_ms(F.col(c.WATERMARK_MS), spec)
    behind = late_rows.where(~F.col(c.TOO_LATE))
    return _counted(on_time, F.col(c.WINDOW_MS), F.lit(False)).union(_counted(behind, F.col(c.WINDOW_MS), fired))


def _counted(rows: DataFrame, at_ms: Column, is_late: Column) -> DataFrame:
    return rows.select(
        F.col(SIDE).alias("side"), at_ms.alias("at_ms"), is_late.alias("is_late"), F.lit(1).alias("row_count")
    )


def grouped(inputs: Inputs, rows: DataFrame, pipeline: Pipeline, until_us: int | None) -> Grouped:
    """Replay the `rows` of `inputs` with the engine; they have all columns that the aggregates of `pipeline` read."""
    store = MemoryStore()
    kind = UnitedGround if inputs.are_united else JoinGround
    ground = kind(inputs, PlacedRows(rows, pipeline), pipeline, store, until_us)
    return Grouped(replay_of(ground, store), pipeline)


class Grouped:
    """The groups of both inputs, as the panes of a replay."""

    def __init__(self, replay: Replay, pipeline: Pipeline) -> None:
        self._replay, self._pipeline = replay, pipeline

    @property
    def panes(self) -> DataFrame:
        """Every group (`Replay.panes`)."""
        return self._replay.panes

    @property
    def late_rows(self) -> DataFrame:
        """The late rows of both inputs (`Replay.late_rows`)."""
        return self._replay.late_rows

    @property
    def calendar(self) -> DataFrame:
        """When each window fires and closes (`Replay.calendar`)."""
        return self._replay.calendar

    @property
    def late_panes(self) -> DataFrame:
        """The groups of windows that fired again for a late row."""
        return self.panes.where(F.col("timing") == Timing.LATE.value)

    @property
    def on_time(self) -> DataFrame:
        """The rows that are on time for their window."""
        return self._windows.on_time

    @property
    def accepted_rows(self) -> DataFrame:
        """The rows that a window took, or will (`accepted_rows`); `at_ms` of a session is its start."""
        stages = self._replay.stages
        if isinstance(stages, SessionStages):
            return accepted_by_sessions(stages, self._pipeline)
        return accepted_rows(self.on_time, self.late_rows, self._pipeline.windows)

    @property
    def _windows(self) -> PaneStages:
        stages = self._replay.stages
        if not isinstance(stages, PaneStages):
            raise TypeError(f"found {type(stages).__name__}, expected the stages of windows")
        return stages


def accepted_by_sessions(stages: SessionStages, pipeline: Pipeline) -> DataFrame:
    """The rows of clean components, counted by the size of each side, and the rows that the scan gave a pane."""
    clean = stages.components.where(~F.col(UNCLEAN))
    collected = zip((LEFT, RIGHT), pipeline.windows.aggregates, strict=True)
    sizes = F.array(
        *(
            F.struct(F.lit(side).alias("side"), F.size(aggregate_column(aggregate.name)).alias("row_count"))
            for side, aggregate in collected
        )
    )
    by_side = clean.select(F.col(c.WINDOW_MS).alias("at_ms"), F.explode(sizes).alias("of"))
    of_clean = by_side.select("of.side", "at_ms", F.lit(False).alias("is_late"), "of.row_count")
    return of_clean.union(_accepted_by_scan(stages, pipeline))


def _accepted_by_scan(stages: SessionStages, pipeline: Pipeline) -> DataFrame:
    rows, panes = stages.scanned.where("is_late is not null"), stages.scanned_panes
    once = panes if pipeline.windows.discards else session_panes.latest(panes)
    rows_in_panes = session_panes.rows_in(once, rows, pipeline)
    starts = rows_in_panes.select("component", "rank", F.unix_millis("window_start").alias("start_ms"))
    # A row that no pane shows yet waits in a session that is open.
    of_rows = rows.select("component", "rank", "is_late").join(starts, ["component", "rank"], "left")
    ranked = stages.ranked.withColumnsRenamed({c.COMPONENT: "component", c.RANK: "rank"})
    placed = of_rows.join(ranked, ["component", "rank"])
    return _counted(placed, F.coalesce("start_ms", c.WINDOW_MS), F.col("is_late") == 1)
