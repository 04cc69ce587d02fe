"""The sample of a source: a wrong format is refused before a run, and some unreadable rows are counted by reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.sample import sampled
from spark_jobs.pipeline import from_mapping

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.fixture(name="table", scope="module")
def _table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Twenty rows with a text time, of which five are no time."""
    path = str(tmp_path_factory.mktemp("sample") / "table")
    at = "CASE WHEN id % 4 = 0 THEN 'N/A' ELSE '01.01.2023 00:14:11' END AS at"
    rows = spark.range(20).selectExpr("id", at, "TIMESTAMP'2023-01-01 00:20:00' AS seen")
    rows.coalesce(1).write.format("delta").save(path)
    return path


def reading(table: str, pattern: str, *, unit: str | None = None, **replay: Any) -> Any:
    event_time = {"column": "at", **({"format": pattern} if unit is None else {"unit": unit})}
    source = {"table": table, "event_time": event_time, "arrival_time": "seen"}
    windows = {"size": "1 hour", "key": [], "aggregates": {"n": "count(*)"}}
    watermark = {"out_of_orderness": "1 minute"}
    return from_mapping({"name": "x", "source": source, "watermark": watermark, "windows": windows, "replay": replay})


@pytest.mark.parametrize("order", ["arrival", "commit", "event_time"])
def test_rows_without_a_time_are_counted_by_reason(spark: SparkSession, table: str, order: str) -> None:
    (sample,) = sampled(spark, reading(table, "dd.MM.yyyy HH:mm:ss", order=order), {"": 0})
    assert sample.in_words() == (
        f"5 of 20 sampled rows of {table} have no usable time: 5 event_time_unreadable ('N/A')"
    )


def test_a_format_that_fits_no_row_is_refused(spark: SparkSession, table: str) -> None:
    message = "source.event_time: 20 of 20 sampled rows of .* event_time_unreadable .*'01.01.2023 00:14:11'"
    with pytest.raises(InputError, match=message):
        sampled(spark, reading(table, "dd.MM.yyyy"), {"": 0})


def test_a_unit_that_is_too_fine_is_a_warning(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(10).selectExpr("1672531200 + id AS at", "TIMESTAMP'2023-01-01 00:20:00' AS seen")
    rows.write.format("delta").save(str(tmp_path / "table"))
    warned = []
    for unit in ("ms", "s"):
        mapping = reading(str(tmp_path / "table"), "yyyy", unit=unit)
        warned.append([line for sample in sampled(spark, mapping, {"": 0}) for line in sample.warnings()])
    assert len(warned[0]) == 1
    assert warned[0][0].startswith("source.event_time: 10 of 10 sampled rows of")
    assert warned[1] == []


def test_a_table_without_rows_is_not_refused(spark: SparkSession, table: str, tmp_path: Path) -> None:
    spark.read.format("delta").load(table).limit(0).write.format("delta").save(str(tmp_path / "empty"))
    (sample,) = sampled(spark, reading(str(tmp_path / "empty"), "yyyy"), {"": 0})
    assert (sample.rows, sample.invalid_count) == (0, 0)
