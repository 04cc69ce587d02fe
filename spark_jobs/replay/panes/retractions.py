"""Retractions: rows that withdraw a pane when the next pane of its window fires.

    is_retraction   true in a retraction: window, index, timing and values are those of the withdrawn pane,
                    `fired_at` and `watermark` those of the next firing
                    false in a pane

So the panes of a (key, window) minus its retractions are its latest pane, at any time.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import keys
from spark_jobs.replay.rows.keys import key_columns
from spark_jobs.replay.rows.quoting import quoted

IS_RETRACTION = "is_retraction"

_NEXT = c.PREFIX + "next"


def with_mark(panes: DataFrame) -> DataFrame:
    """Return panes with the columns of `panes` for a pipeline that retracts."""
    return panes.withColumn(IS_RETRACTION, F.lit(False))


def left_out(panes: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the rows of the table `panes` that are panes, without the column `is_retraction`."""
    return panes.where(~F.col(IS_RETRACTION)).drop(IS_RETRACTION) if pipeline.windows.retracts else panes


def between(first: DataFrame, more: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the retractions of windows that fire again: the columns of `with_mark`.

    `first` and `more` are panes. A (key, window) has at most one pane in `first`, which fires before those in `more`.
    """
    return among(keys.matching(first, more, [*pipeline.windows.key, "window_start"]).unionByName(more), pipeline)


def among(panes: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the retractions of tumbling and sliding windows, from all of their panes: the columns of `with_mark`."""
    window = [*key_columns(pipeline), F.col("window_start")]
    in_order = Window.partitionBy(*window).orderBy("pane_index")
    following = F.lead(F.struct("fired_at", "watermark")).over(in_order)
    return withdrawn(panes.withColumn(_NEXT, following).where(F.col(_NEXT).isNotNull()), F.col(_NEXT), panes.columns)


def withdrawn(panes: DataFrame, by: Column, columns: Sequence[str]) -> DataFrame:
    """Return `panes` as retractions with `columns`; `fired_at` and `watermark` are those of the struct `by`."""
    moment = {name: by.getField(name) for name in ("fired_at", "watermark")}
    return panes.withColumns({**moment, IS_RETRACTION: F.lit(True)}).select(*map(quoted, columns), IS_RETRACTION)
