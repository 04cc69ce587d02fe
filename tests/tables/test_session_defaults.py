"""Settings of the session for new tables change no result: files have the names of their columns, and stay readable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.operate.maintain import maintain
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.aged_lake import strictly
from tests.support.runs import publish, published

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

DEFAULTS = {
    f"spark.databricks.delta.properties.defaults.{name}": value
    for name, value in {
        "columnMapping.mode": "name",
        "enableInCommitTimestamps": "true",
        "enableRowTracking": "true",
        "enableDeletionVectors": "true",
    }.items()
}
HALF = Interval(history.START + timedelta(minutes=30), history.START + timedelta(hours=1))


@contextmanager
def defaults(spark: SparkSession) -> Iterator[None]:
    """Let new tables have settings that change how files are written and commits are made."""
    for name, value in DEFAULTS.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in DEFAULTS:
            spark.conf.unset(name)


def live(spark: SparkSession, table: str, lake: Lake) -> dict[str, list[object]]:
    """Publish everything, then a part of time with another bound, and merge the files; return the published rows."""
    strict, lenient = (history.pipeline(table, watermark__out_of_orderness=bound) for bound in ("10s", "1 hour"))
    publish(spark, strict, lake, Interval())
    publish(spark, lenient, lake, HALF, restate=True)
    assert maintain(spark, lake, strictly()).compacted
    return published(spark, lake)


@pytest.mark.soak
def test_a_lake_is_the_same_whatever_settings_new_tables_get(spark: SparkSession, table: str, tmp_path: Path) -> None:
    plain, other = (Lake(str(tmp_path / name), "readings") for name in ("plain", "other"))
    expected = live(spark, table, plain)
    with defaults(spark):
        assert live(spark, table, other) == expected
    for name in ledger.published(spark, other)[-1].versions:
        (detail,) = spark.sql(f"describe detail delta.`{other.path(name)}`").collect()
        assert not {"columnMapping", "inCommitTimestamp", "rowTracking"} & {*(detail.tableFeatures or [])}, name
