"""A source that cannot be read is named, with the cause and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.tables import source
from spark_jobs.tables.errors import SourceError
from tests.support import history

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.mark.parametrize(
    ("table", "remedy"),
    [
        ("http://example.org/table", "Spark reads no Delta table over HTTP: give a path"),
        ("nothing://bucket/table", "name the connector's jar in Spark's settings"),
    ],
)
def test_a_place_that_spark_cannot_read_is_named(spark: SparkSession, table: str, remedy: str) -> None:
    with pytest.raises(SourceError, match=f"source.table: '{table}' cannot be read .*: {remedy}"):
        source.pinned_version(spark, table)


def test_a_truncated_commit_is_named(spark: SparkSession, tmp_path: Path) -> None:
    table = history.land(spark, history.events(50), tmp_path / "rows")
    log = Path(table) / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text(encoding="utf-8")[:-200], encoding="utf-8")
    log.with_name(f".{log.name}.crc").unlink(missing_ok=True)
    log.with_name(f"{0:020}.crc").unlink(missing_ok=True)
    with pytest.raises(
        SourceError, match=f"source.table: '{table}' cannot be read .*: check the path, the access to it, and the files"
    ):
        source.read(spark.newSession(), str(Path(table)), source.pinned_version(spark, table)).count()


def test_paths_are_no_patterns(spark: SparkSession, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("we[ird]", "st*r", "star", "{a,b}", "wh?t")]
    for number, path in enumerate(paths, start=1):
        history.land(spark, history.events(number + 60)[:number], path)
    for number, path in enumerate(paths, start=1):
        assert source.read(spark, str(path), source.pinned_version(spark, str(path))).count() == number
