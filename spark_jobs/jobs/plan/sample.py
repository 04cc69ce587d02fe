"""A sample of each source: whether its rows have usable times under the settings of a pipeline, before any run.

The sample is the rows that Spark reads first. It finds a wrong format, unit or column; it measures no shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.invalid_rows import InvalidRows, invalid_rows
from spark_jobs.pipeline.model import Order, Pipeline
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import prepare
from spark_jobs.tables import source, unreadable_files

#: Rows of each source.
ROWS = 1_000


@dataclass(frozen=True)
class Sample:
    """The sampled rows of one source: their number, and those without a usable time by reason.

    `far_behind` rows arrived longer after their event than `quality.max_arrival_lag`.
    """

    table: str
    rows: int
    invalid: tuple[InvalidRows, ...]
    far_behind: int = 0

    @property
    def invalid_count(self) -> int:
        """The number of rows without a usable time."""
        return sum(reason.rows for reason in self.invalid)

    def warnings(self) -> list[str]:
        """Return what the author of the pipeline may not mean, a line each."""
        lines = [self.in_words()] if self.invalid_count else []
        if 2 * self.far_behind > self.rows - self.invalid_count:
            lines.append(
                f"source.event_time: {self.far_behind:,} of {self.rows:,} sampled rows of {self.table} arrived longer "
                "after their event than quality.max_arrival_lag: is the unit right? A run of such rows is blocked"
            )
        return lines

    def in_words(self) -> str:
        """Return the invalid rows of the sample as text."""
        reasons = "; ".join(reason.in_words() for reason in self.invalid)
        return f"{self.invalid_count:,} of {self.rows:,} sampled rows of {self.table} have no usable time: {reasons}"


def sampled(spark: SparkSession, pipeline: Pipeline, versions: Mapping[str, int]) -> list[Sample]:
    """Return the sample of each source at its version. Raises InputError if no row of a sample has a usable time."""
    try:
        samples = list(_samples(spark, pipeline, versions))
    except (PySparkException, Py4JError) as problem:
        damaged = unreadable_files.damage(spark, pipeline, versions, problem)
        if damaged is None:
            raise
        raise InputError(pipeline.located(damaged), code=ErrorCode.TABLE_UNREADABLE) from problem
    for sample in samples:
        if sample.rows and sample.invalid_count == sample.rows:
            message = pipeline.located(f"source.event_time: {sample.in_words()}")
            raise InputError(message, code=ErrorCode.TIMES_UNUSABLE)
    return samples


def _samples(spark: SparkSession, pipeline: Pipeline, versions: Mapping[str, int]) -> Iterator[Sample]:
    alone = {united.name: pipeline.alone(united) for united in pipeline.sources} or {"": pipeline}
    for name, of_source in alone.items():
        table = of_source.source.table
        rows = source.read(spark, table, versions[name]).limit(ROWS)
        # Times are read in the same way in each order, and this order needs no commits and no offsets.
        timed = replace(of_source, replay=replace(of_source.replay, order=Order.EVENT_TIME), join=None, sources=())
        number, far_behind = _counted(rows, timed)
        yield Sample(table, number, tuple(invalid_rows(rows, timed)), far_behind)


def _counted(rows: DataFrame, pipeline: Pipeline) -> tuple[int, int]:
    """Return the number of rows, and of valid rows that arrived longer after their event than the limit."""
    lag_ms = pipeline.quality.max_arrival_lag_ms
    lag_us = F.col(c.ARRIVAL_US) - F.col(c.EVENT_US)
    exceeds = F.lit(False) if lag_ms is None else F.col(c.VALID) & (lag_us > F.lit(lag_ms * 1000))
    counted = prepare(rows, pipeline).agg(F.count("*"), F.count_if(exceeds)).collect()[0]
    return counted[0], counted[1]
