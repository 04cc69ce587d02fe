"""Sources whose watermarks no closed form unites: what each says alone is told on columns, and merged in one task.

Law (`partition_runner`): a source's partitions and main output say the same whoever else there is, but for the
clock: ticks are those of the rows of all. So this is for sources that may be idle, follow the clock, are told by a
class of the user's, or emit some at rows and others at ticks; an epoch is then a tick, or a row among ticks (`epochs`).
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
    """All advances of the united watermark: `epoch, clock_us, watermark_ms, partition_watermarks`, a row each.

    `prefixes` stand before the labels of the sources' partitions, `clock` is that of the rows of all; `reader` says who
    reads them.
    """
    told = [changes(source, clock).withColumn("source", F.lit(number)) for number, source in enumerate(sources)]
    labels = [declared_labels(source.pipeline) for source in sources]
    return multiplexer.advances(
        reduce(DataFrame.unionByName, told), clock, multiplexer.of_several(labels, prefixes, reader)
    )
