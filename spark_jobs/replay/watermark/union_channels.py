"""Channels of a union without a closed form: changes of partitions are computed on columns and merged in one task.

Law (`partition_runner`): the changes of a source do not depend on other sources, except for the clock: ticks follow the
rows of all sources. An epoch is a tick, or a row among ticks (`epochs`). This module is for sources that

- may be idle,
- follow the clock,
- have a custom generator,
- or emit partly at rows and partly at ticks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.replay.rows.emission import Clock
from spark_jobs.replay.rows.prepare import declared_labels
from spark_jobs.replay.watermark import multiplexer
from spark_jobs.replay.watermark.partition_changes import SourceRows, changes
from spark_jobs.semantics.watermark.union import Reader


def advances(sources: Sequence[SourceRows], prefixes: Sequence[str], clock: Clock, reader: Reader) -> DataFrame:
    """Return all advances of the united watermark: `epoch, clock_us, watermark_ms, partition_watermarks`, a row each.

    `prefixes`, by source, precede the partition labels. `clock` is the clock of all rows. `reader` makes the channels.
    """
    of_sources = [changes(source, clock).withColumn("source", F.lit(number)) for number, source in enumerate(sources)]
    labels = [declared_labels(source.pipeline) for source in sources]
    return multiplexer.advances(
        reduce(DataFrame.unionByName, of_sources), clock, multiplexer.of_several(labels, prefixes, reader)
    )
