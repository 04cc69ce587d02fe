"""Late panes per epoch: the late rows of one epoch fire one pane of their window, at the emission that ends the epoch.

The pane has the watermark before that emission, which is the watermark before all of these rows. Where each row is an
epoch, each late row fires a pane (semantics B1).
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import emission
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.watermark.census import moving

EMITTED_US = c.PREFIX + "emitted_us"  # clock of the emission that ends a row's epoch


def gathers(pipeline: Pipeline) -> bool:
    """Return whether several late rows may fire one pane."""
    return pipeline.windows.per_epoch and axis(pipeline) is Axis.TICKS


def emissions(epochs: DataFrame, groups: DataFrame, pipeline: Pipeline, *, until_us: int | None = None) -> DataFrame:
    """Return the clock of the emission that ends each of `epochs` (`epoch`): `EPOCH, EMITTED_US`.

    Epochs without an emission have no row. `groups` is the census, `until_us` the last known value of the arrival
    clock. The end of the input ends the last epoch if the replay closes.
    """
    moves = moving(groups, pipeline)
    ended = F.coalesce(F.lit(until_us).cast("long"), F.max("last_clock_us"))
    closes = pipeline.replay.closes
    end = moves.agg(F.when(F.lit(closes), ended).alias("end_us"))
    ends = epochs.withColumn("happens", F.col("epoch"))
    happened = emission.happened(ends, ["happens"], moves, pipeline, until_us=until_us)
    clocked = emission.clocked(happened, {"happens": "emitted_us"}, moves, pipeline).crossJoin(F.broadcast(end))
    emitted = F.coalesce("emitted_us", "end_us")
    return clocked.select(F.col("epoch").alias(c.EPOCH), emitted.alias(EMITTED_US)).where(F.col(EMITTED_US).isNotNull())
