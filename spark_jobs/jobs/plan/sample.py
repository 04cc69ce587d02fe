"""A sample of each source: whether its rows have usable times under the settings of a pipeline, before any run.

The sample is the rows that Spark reads first. It finds a wrong format, unit or column; it measures no shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.invalid_rows import InvalidRows, invalid_rows
from spark_jobs.pipeline.model import Order, Pipeline
from spark_jobs.tables import source

#: Rows of each source.
ROWS = 1_000


@dataclass(frozen=True)
class Sample:
    """The sampled rows of one source: their number, and those without a usable time by reason."""

    table: str
    rows: int
    invalid: tuple[InvalidRows, ...]

    @property
    def invalid_count(self) -> int:
        """The number of rows without a usable time."""
        return sum(reason.rows for reason in self.invalid)

    def in_words(self) -> str:
        """Return the invalid rows of the sample as text."""
        reasons = "; ".join(reason.in_words() for reason in self.invalid)
        return f"{self.invalid_count:,} of {self.rows:,} sampled rows of {self.table} have no usable time: {reasons}"


def sampled(spark: SparkSession, pipeline: Pipeline, versions: Mapping[str, int]) -> list[Sample]:
    """Return the sample of each source at its version. Raises InputError if no row of a sample has a usable time."""
    samples = list(_samples(spark, pipeline, versions))
    for sample in samples:
        if sample.rows and sample.invalid_count == sample.rows:
            raise InputError(f"source.event_time: {sample.in_words()}", code=ErrorCode.TIMES_UNUSABLE)
    return samples


def _samples(spark: SparkSession, pipeline: Pipeline, versions: Mapping[str, int]) -> Iterator[Sample]:
    alone = {united.name: pipeline.alone(united) for united in pipeline.sources} or {"": pipeline}
    for name, of_source in alone.items():
        table = of_source.source.table
        rows = source.read(spark, table, versions[name]).limit(ROWS)
        # Times are read in the same way in each order, and this order needs no commits and no offsets.
        timed = replace(of_source, replay=replace(of_source.replay, order=Order.EVENT_TIME), join=None, sources=())
        yield Sample(table, rows.count(), tuple(invalid_rows(rows, timed)))
