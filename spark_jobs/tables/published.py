"""Read published tables at one point: at the versions of the newest published run."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.published_tables import PUBLISHABLE
from spark_jobs.tables import ledger
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run


class NothingPublishedError(LookupError):
    """No run has published yet, or maintenance has removed the files of the requested run."""

    code = ErrorCode.NOTHING_PUBLISHED


def read_published(spark: SparkSession, lake: Lake, table: str, *, run_id: str | None = None) -> DataFrame:
    """Return the rows of `table` as of the newest published run, or of the published run `run_id`.

    All tables that are read as of one run are consistent, even while another run publishes. Another run may publish
    between two calls without `run_id`. Raises NothingPublishedError if no such run is kept, and ValueError for an
    unknown table.
    """
    if table not in PUBLISHABLE:
        raise ValueError(f"no published table '{table}'; known: {', '.join(PUBLISHABLE)}")
    return read_as_of(spark, lake, _published(spark, lake, run_id), table)


def read_as_of(spark: SparkSession, lake: Lake, run: Run, table: str) -> DataFrame:
    """Return the rows of `table` as of the published `run`. Raises ValueError for a table that the run lacks."""
    if table not in run.versions:
        raise ValueError(f"run {run.run_id} has no table '{table}', only {', '.join(run.versions)}")
    return spark.read.format("delta").option("versionAsOf", run.versions[table]).load(lake.path(table))


def create_views(spark: SparkSession, lake: Lake, *, run_id: str | None = None, prefix: str = "") -> list[str]:
    """Make a temporary SQL view of each published table, as of one published run; returns their names.

    The name of a view is `prefix` and the name of its table. An existing view of this name is replaced. The view keeps
    its version when another run publishes later. Raises NothingPublishedError.
    """
    run = _published(spark, lake, run_id)
    for table in run.versions:
        read_as_of(spark, lake, run, table).createOrReplaceTempView(f"{prefix}{table}")
    return [f"{prefix}{table}" for table in run.versions]


def _published(spark: SparkSession, lake: Lake, run_id: str | None) -> Run:
    """Return the published run with this id, or the newest. Raises NothingPublishedError."""
    runs = [run for run in ledger.published(spark, lake) if run_id in (None, run.run_id)]
    if not runs:
        raise NothingPublishedError(f"{lake.home}: no published run{'' if run_id is None else ' ' + run_id}")
    if runs[-1].discarded:
        raise NothingPublishedError(f"{lake.home}: maintenance has removed the files of the published run {run_id}")
    return runs[-1]
