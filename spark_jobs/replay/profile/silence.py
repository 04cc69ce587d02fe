"""Silence: the last event time of each source partition, and the time up to which the run has read.

Only event times matter, which a resumed run has without reading all rows again. A partition with only old rows is as
silent as a partition without rows. No result depends on silence.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.local_rows import local_rows
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import PARTITIONS
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import declared_labels

#: The staged table of `partitions`, which is not published, and its columns.
TABLE, COLUMNS = PARTITIONS.name, PARTITIONS.names


def partitions(groups: DataFrame, pipeline: Pipeline, *, until_us: int | None) -> DataFrame:
    """Return a row for each source partition, also for a declared partition without rows: `COLUMNS`.

    `groups` is the census. Columns:

    - `source_partition`: its label; with several sources preceded by the source's name
    - `last_event_time`: the highest valid event time; null without a row
    - `read_until`: `until_us`, or the arrival time of the last row; null without a row
    """
    valid = groups.where("reason IS NULL")
    last_times = valid.groupBy(_name(pipeline).alias("source_partition")).agg(F.max("max_ts_ms").alias("last_ms"))
    last = F.max("last_clock_us") if until_us is None else F.lit(until_us)
    ended = valid.agg(last.alias("until_us"))
    declared = local_rows(groups.sparkSession, [(n,) for n in _declared(pipeline)], "source_partition string")
    partitions = last_times.join(declared, "source_partition", "full").crossJoin(F.broadcast(ended))
    return partitions.select(
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
    return [
        f"{united.name}: {label}" for united in pipeline.sources for label in declared_labels(pipeline.alone(united))
    ]
