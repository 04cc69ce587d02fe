"""The rows that a drafted pipeline would not use, by reason, with sampled values. One scan."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import prepare

_LONGEST = 40
_OF_ARRIVAL = "arrival_time_"


@dataclass(frozen=True)
class InvalidRows:
    """The number of rows with one reason, and values of the time that the reason is about."""

    reason: str
    rows: int
    samples: tuple[str, ...]

    def in_words(self) -> str:
        """Return the count as text: `12 event_time_missing ('N/A', '')`."""
        samples = ", ".join(f"'{sample}'" for sample in self.samples) or "null"
        return f"{self.rows:,} {self.reason} ({samples})"


def invalid_rows(events: DataFrame, pipeline: Pipeline) -> list[InvalidRows]:
    """Return the invalid rows of a pipeline by reason, the most common first."""
    source = pipeline.source
    event = F.expr(source.event_time.expression).cast("string")
    arrival = event if source.arrival_time is None else F.expr(source.arrival_time.expression).cast("string")
    value = F.when(F.col(c.REASON).startswith(_OF_ARRIVAL), arrival).otherwise(event)
    value = F.substring(value, 1, _LONGEST)
    counted = (
        prepare(events, pipeline)
        .where(F.col(c.REASON).isNotNull())
        .groupBy(F.col(c.REASON).alias("reason"))
        .agg(F.count("*").alias("rows"), F.min(value).alias("least"), F.max(value).alias("most"))
        .collect()
    )
    every = [InvalidRows(row.reason, row["rows"], _samples(row.least, row.most)) for row in counted]
    return sorted(every, key=lambda invalid: (-invalid.rows, invalid.reason))


def _samples(*values: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value is not None))
