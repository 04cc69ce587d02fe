"""Published tables, read at one point: the versions that the newest published run names."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.tables import ledger
from spark_jobs.tables.lake import TABLES, Lake


class NothingPublishedError(LookupError):
    """No run has published anything yet."""


def read_published(spark: SparkSession, lake: Lake, table: str, *, run_id: str | None = None) -> DataFrame:
    """The rows of `table` as of the newest published run, or of the published run `run_id`.

    All tables read this way belong to one point, also while another run is publishing. Raises NothingPublishedError.
    """
    if table not in TABLES:
        raise ValueError(f"asked for the published table '{table}', there are {', '.join(TABLES)}")
    runs = [r for r in ledger.published(spark, lake) if run_id in (None, r.run_id)]
    if not runs:
        raise NothingPublishedError(f"{lake.home}: no published run{'' if run_id is None else ' ' + run_id}")
    versions = runs[-1].versions
    if table not in versions:
        raise ValueError(f"asked for the published table '{table}', run {runs[-1].run_id} has {', '.join(versions)}")
    version = versions[table]
    return spark.read.format("delta").option("versionAsOf", version).load(lake.path(table))
