"""Silence: source partitions of which no newer event has come for too long (`quality.max_silence`).

What was computed is right all the same, as far as rows have come: the invariant warns, and blocks nothing.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.model import Pipeline


def rows(staged: Staged) -> DataFrame:
    """One row a source partition: `source_partition, last_event_time, read_until`, and `silent_ms` between the two."""
    silent = F.unix_millis("read_until") - F.unix_millis("last_event_time")
    return staged.partitions.withColumn("silent_ms", silent)


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """The invariant of silence; none where no limit is set."""
    most = pipeline.quality.max_silence_ms
    if most is None:
        return ()
    return (
        Invariant(
            "no_source_partition_is_silent",
            f"Of each source partition an event has come that is at most {format_duration(most)} older than the end of "
            "what was read (quality.max_silence).",
            f"silent_ms <= {most}",
            blocks=False,
        ),
    )


SUITE = Suite("silence", rows, invariants, shows=("source_partition", "last_event_time", "read_until"))
