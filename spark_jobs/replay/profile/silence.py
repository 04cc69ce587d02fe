"""Silence: how long each source partition has had no newer event, by the end of what was read.

That is told by event times, which also a run knows that goes on behind rows it does not read again; a partition that
only brings old rows is as silent as one that brings none. No row of the results depends on it.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import PARTITIONS
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import declared_labels

#: The staged table of `partitions`, which is not published, and its columns.
TABLE, COLUMNS = PARTITIONS.name, PARTITIONS.names


def partitions(groups: DataFrame, pipeline: Pipeline, *, until_us: int | None) -> DataFrame:
    """A row a source partition, also a declared one that never spoke: `COLUMNS`.

    `groups` is the census. `source_partition` is its label, of several sources behind the source's name.
    `last_event_time` is the highest valid event time (null: none), `read_until` the arrival time up to which was read:
    `until_us`, or that of the last row (null: no row has one).
    """
    valid = groups.where("reason IS NULL")
    heard = valid.groupBy(_name(pipeline).alias("source_partition")).agg(F.max("max_ts_ms").alias("last_ms"))
    last = F.max("last_clock_us") if until_us is None else F.lit(until_us)
    ended = valid.agg(last.alias("until_us"))
    declared = groups.sparkSession.createDataFrame([(n,) for n in _declared(pipeline)], "source_partition string")
    told = heard.join(declared, "source_partition", "full").crossJoin(F.broadcast(ended))
    return told.select(
        "source_partition",
        F.timestamp_millis("last_ms").alias("last_event_time"),
        F.timestamp_micros("until_us").alias("read_until"),
    )


def _name(pipeline: Pipeline) -> Column:
    if not pipeline.sources:
        return F.col("partition")
    names = F.array(*(F.lit(f"{united.name}: ") for united in pipeline.sources))
    return F.concat(F.element_at(names, F.col(c.SOURCE) + F.lit(1)), "partition")


def _declared(pipeline: Pipeline) -> list[str]:
    if not pipeline.sources:
        return declared_labels(pipeline)
    return [f"{one.name}: {label}" for one in pipeline.sources for label in declared_labels(pipeline.alone(one))]
