"""A staged run as rows in Python: the tables of a run of any pipeline, with what the audit reads beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from expectations.run_context import RunContext
from expectations.staged import Staged
from expectations.staged_join import StagedJoin
from spark_jobs.pipeline import Pipeline
from tests.support.engine import frame_of
from tests.support.generated_run import Rows, frame


@dataclass(frozen=True)
class StagedRun:
    """The rows of each staged table, and the counts that the run reports.

    A table's schema is DDL for few rows, which may be tuples, or a schema of Arrow for many rows.
    """

    pipeline: Pipeline
    rows: Rows
    counts: Mapping[str, int]
    schemas: Mapping[str, str | pa.Schema]
    run_id: str | None = None
    context: RunContext = field(default_factory=RunContext)

    def frames(self, spark: SparkSession) -> dict[str, DataFrame]:
        """Return the tables as DataFrames. They have the columns of the schemas alone."""
        return {table: _frame(spark, schema, self.rows[table]) for table, schema in self.schemas.items()}

    def staged(self, spark: SparkSession) -> Staged | StagedJoin:
        """Return the tables as the audit of the pipeline reads them."""
        opened = Staged if self.pipeline.join is None else StagedJoin
        return opened(self.frames(spark), self.pipeline, self.counts, self.run_id, context=self.context)


def _frame(spark: SparkSession, schema: str | pa.Schema, rows: list[dict[str, object]]) -> DataFrame:
    return frame(spark, schema, rows) if isinstance(schema, str) else frame_of(spark, rows, schema)
