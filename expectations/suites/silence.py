"""Silence: source partitions without a new event for too long (`quality.max_silence`).

The results are right for the rows that have arrived, so a violation warns and does not block.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.model import Pipeline


def rows(staged: Staged) -> DataFrame:
    """Return one row for each source partition.

    Columns: `source_partition, last_event_time, read_until`, and `silent_ms`, the time between the last two.
    """
    silent = F.unix_millis("read_until") - F.unix_millis("last_event_time")
    return staged.partitions.withColumn("silent_ms", silent)


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariant of silence; none without `quality.max_silence`."""
    most = pipeline.quality.max_silence_ms
    if most is None:
        return ()
    return (
        Invariant(
            "no_source_partition_is_silent",
            f"Each source partition has an event that is at most {format_duration(most)} older than the end of the "
            "rows that were read (quality.max_silence).",
            f"silent_ms <= {most}",
            blocks=False,
        ),
    )


SUITE = Suite("silence", None, rows, invariants, shows=("source_partition", "last_event_time", "read_until"))
