"""The columns that a check before a run derives for its tables are those that the run has published."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.jobs.plan.result_tables import empty_tables
from spark_jobs.pipeline import Pipeline
from spark_jobs.tables import source
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run
from spark_jobs.tables.published import read_published


def assert_derives_the_published_columns(spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run) -> None:
    """Assert that the tables without rows have the names and types of the published ones."""
    for name, table in empty_tables(pipeline, *source.rows_of(spark, pipeline, run.pinned)).items():
        assert _types(table) == _types(read_published(spark, lake, name)), name


def _types(table: DataFrame) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in table.schema}
