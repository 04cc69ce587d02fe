"""Published tables, read at one point: the versions that the newest published run names."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.pipeline.published_tables import PUBLISHABLE
from spark_jobs.tables import ledger
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run


class NothingPublishedError(LookupError):
    """No run has published anything yet, or the files of the one that was asked for have been removed."""


def read_published(spark: SparkSession, lake: Lake, table: str, *, run_id: str | None = None) -> DataFrame:
    """The rows of `table` as of the newest published run, or of the published run `run_id`.

    All tables read this way belong to one point, also while another run is publishing. Raises NothingPublishedError
    where no such run is kept, and ValueError for a table that is not there.
    """
    if table not in PUBLISHABLE:
        raise ValueError(f"asked for the published table '{table}', there are {', '.join(PUBLISHABLE)}")
    return read_as_of(spark, lake, _published(spark, lake, run_id), table)


def read_as_of(spark: SparkSession, lake: Lake, run: Run, table: str) -> DataFrame:
    """The rows of `table` as of the published `run`. Raises ValueError for a table that it does not have."""
    if table not in run.versions:
        raise ValueError(f"asked for the published table '{table}', run {run.run_id} has {', '.join(run.versions)}")
    return spark.read.format("delta").option("versionAsOf", run.versions[table]).load(lake.path(table))


def create_views(spark: SparkSession, lake: Lake, *, run_id: str | None = None, prefix: str = "") -> list[str]:
    """Make a temporary SQL view of each published table, as of one published run; returns their names.

    A view is named as its table behind `prefix`, and stays at its version whatever is published later; one that has
    the name already is replaced. Raises NothingPublishedError.
    """
    run = _published(spark, lake, run_id)
    for table in run.versions:
        read_as_of(spark, lake, run, table).createOrReplaceTempView(f"{prefix}{table}")
    return [f"{prefix}{table}" for table in run.versions]


def _published(spark: SparkSession, lake: Lake, run_id: str | None) -> Run:
    """The run of this name, or the newest. Raises NothingPublishedError."""
    runs = [run for run in ledger.published(spark, lake) if run_id in (None, run.run_id)]
    if not runs:
        raise NothingPublishedError(f"{lake.home}: no published run{'' if run_id is None else ' ' + run_id}")
    if runs[-1].discarded:
        raise NothingPublishedError(f"{lake.home}: maintenance has removed the files of the published run {run_id}")
    return runs[-1]
