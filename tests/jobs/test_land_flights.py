"""The landed table: every flight, in the order in which it became known, however often the landing was begun."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.flights import dataset, times
from spark_jobs.jobs import land_flights, progress
from spark_jobs.jobs.errors import InputError

pytestmark = pytest.mark.spark


@pytest.fixture(name="flights", scope="module")
def _flights() -> pd.DataFrame:
    return times.with_times(dataset.read_flights(), dataset.read_zones())


@pytest.fixture(name="table", scope="module")
def _table(spark: SparkSession, flights: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> str:
    """All flights, landed."""
    table = str(tmp_path_factory.mktemp("lake") / "flights")
    land_flights.land(spark, table, flights)
    return table


def read(spark: SparkSession, table: str) -> DataFrame:
    return spark.read.format("delta").load(table)


def versions(spark: SparkSession, table: str) -> int:
    return spark.sql(f"DESCRIBE HISTORY delta.`{table}`").count()


@pytest.mark.soak
def test_every_row_of_the_data_set_lands_once_under_its_number(
    spark: SparkSession, table: str, flights: pd.DataFrame
) -> None:
    totals = read(spark, table).agg(
        F.count("*").alias("rows"),
        F.count_distinct("flight_id").alias("ids"),
        F.min("flight_id").alias("first"),
        F.max("flight_id").alias("last"),
        F.count("departed_at").alias("departed"),
        F.count("landed_at").alias("known"),
        F.sum("dep_delay").alias("delay"),
        F.count("dep_delay").alias("delays"),
    )
    expected = (336_776, 336_776, 1, 336_776, 328_521, 336_776, flights["dep_delay"].sum(), 328_521)
    assert tuple(totals.collect()[0]) == expected


@pytest.mark.soak
def test_commits_follow_one_another_in_arrival_order_and_are_at_least_12(spark: SparkSession, table: str) -> None:
    files = (
        read(spark, table)
        .groupBy(F.col("_metadata.file_path").alias("file"))
        .agg(F.min("landed_at").alias("first"), F.max("landed_at").alias("last"), F.count("*").alias("rows"))
    )
    spans = sorted((row["first"], row["last"]) for row in files.collect())
    assert len(spans) == versions(spark, table) >= 12
    assert all(last < first for (_, last), (first, _) in pairwise(spans))
    early = spark.read.format("delta").option("versionAsOf", 0).load(table)
    assert early.agg(F.max("landed_at")).collect()[0][0] == spans[0][1]


@pytest.mark.soak
def test_rows_of_a_commit_lie_in_arrival_order(spark: SparkSession, table: str) -> None:
    read_in_order = spark.read.format("delta").option("versionAsOf", 0).load(table).select("landed_at", "flight_id")
    rows = [tuple(row) for row in read_in_order.collect()]
    assert rows == sorted(rows)


@pytest.mark.soak
def test_times_are_instants_in_utc(spark: SparkSession, table: str) -> None:
    first = read(spark, table).where("flight_id = 1").select("scheduled_at", "departed_at", "landed_at")
    # UA 1545 from Newark to Houston on New Year's Day: 5:15, left at 5:17, landed at 8:30 in Houston.
    texts = first.select(*(F.date_format(name, "yyyy-MM-dd HH:mm").alias(name) for name in first.columns))
    assert tuple(texts.collect()[0]) == ("2013-01-01 10:15", "2013-01-01 10:17", "2013-01-01 14:30")


@pytest.mark.soak
def test_landing_again_changes_nothing(spark: SparkSession, table: str, flights: pd.DataFrame) -> None:
    before = versions(spark, table)
    assert land_flights.land(spark, table, flights) == 0
    assert versions(spark, table) == before
    assert land_flights.is_complete(table)


def test_killed_landing_continues_where_it_stopped(
    spark: SparkSession, flights: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = str(tmp_path / "flights")
    few = flights[(flights["month"] <= 4) & (flights["month"] != 2)][::1000]
    write_progress = progress.to_stderr

    def killed_in_march(step: str, text: str) -> None:
        if text.startswith("2013-03"):
            raise KeyboardInterrupt
        write_progress(step, text)

    monkeypatch.setattr(progress, "to_stderr", killed_in_march)
    with pytest.raises(KeyboardInterrupt):
        land_flights.land(spark, table, few)
    assert not land_flights.is_complete(table)
    landed = read(spark, table).count()
    assert 0 < landed < len(few)

    monkeypatch.setattr(progress, "to_stderr", write_progress)
    land_flights.land(spark, table, few)
    assert land_flights.is_complete(table)
    whole = read(spark, table).agg(F.count("*"), F.count_distinct("flight_id")).collect()[0]
    assert tuple(whole) == (len(few), len(few))


def test_a_table_of_something_else_is_refused_and_left_alone(
    spark: SparkSession, flights: pd.DataFrame, tmp_path: Path
) -> None:
    table = str(tmp_path / "flights")
    spark.range(3).write.format("delta").save(table)
    with pytest.raises(InputError, match="Give another --lake"):
        land_flights.land(spark, table, flights[:10])
    assert [row.id for row in read(spark, table).orderBy("id").collect()] == [0, 1, 2]
