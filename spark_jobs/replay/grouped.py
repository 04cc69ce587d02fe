"""Groups as panes: both inputs replayed as united sources, whose windows gather the rows of each side.

Law (rules 95-97): a co-group is the window operator over the union of both inputs; its channels are those of a union.
So its groups are the panes of a pipeline with these sources, and whatever such a pipeline has, of windows and of
watermarks, a co-group has. It is for windows that are no single calendar of two sources, and for watermarks that no
closed form tells.
"""

from __future__ import annotations

from functools import cached_property

from pyspark.sql import DataFrame

from spark_jobs.pipeline.joining import JoiningPipeline
from spark_jobs.pipeline.model import Pipeline, Strategy, Windows
from spark_jobs.replay import join_watermark, windows
from spark_jobs.replay.census import moving
from spark_jobs.replay.engine import Replay, SessionReplay
from spark_jobs.replay.inputs import Inputs, pipelines_of
from spark_jobs.semantics.channels import union


def is_united(joining: JoiningPipeline, spec: Windows) -> bool:
    """Whether the groups of these windows are the panes of united sources."""
    lags = any(one.watermark.strategy is Strategy.TIME_LAG for one in pipelines_of(joining, spec))
    return spec.kind != "tumbling" or lags or join_watermark.is_united(joining)


def grouped(inputs: Inputs, rows: DataFrame, pipeline: Pipeline, until_us: int | None) -> Grouped:
    """Replay the `rows` of `inputs`, which are united, with all that the aggregates of `pipeline` ask for."""
    kind = GroupedSessions if pipeline.windows.kind == windows.SESSION else Grouped
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
    def on_time(self) -> DataFrame:
        """The rows in time for the windows that they lie in."""
        return self._on_time

    @cached_property
    def timeline(self) -> DataFrame:
        """The advances of the united watermark."""
        groups = moving(self.census, self._pipeline)
        return join_watermark.advances(self._inputs, groups, union, until_us=self._until_us).localCheckpoint()


class GroupedSessions(Grouped, SessionReplay):
    """The same for sessions, which are those of both sides together."""
