"""Runs over days by the clock of a zone: staged, sliced, checked and published as by the reference."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.support import history
from tests.support.engine import rows_of
from tests.support.whole_run import assert_a_range_changes_nothing, assert_publishes_the_references

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

SLOWER = 60
CHECKS = {
    "quality__min_coverage": "0.5",
    "quality__drift": "{tolerance: 1, every: 1 day, seasons: 2, measures: {readings: sum(readings)}}",
}
DAYS = {"windows__size": "1 day", "windows__timezone": "Europe/Berlin", **CHECKS}
SHAPES = {
    "days": DAYS,
    "sliding": {**DAYS, "windows__kind": "sliding", "windows__size": "3 days", "windows__slide": "1 day"},
    "days from half past two": {**DAYS, "windows__offset": "2 hours 30 minutes"},
}


def slower_rows() -> list[dict[str, Any]]:
    """Return the small history, in days instead of hours; the clock in Berlin changes on its second day."""

    def moved(moment: datetime | None) -> datetime | None:
        return None if moment is None else history.START + (moment - history.START) * SLOWER

    rows = history.events(900)
    return [{**row, "happened_at": moved(row["happened_at"]), "stored_at": moved(row["stored_at"])} for row in rows]


@pytest.fixture(scope="module")
def days(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    return history.land(spark, slower_rows(), tmp_path_factory.mktemp("days") / "table")


def local(table: str, shape: dict[str, str]) -> Pipeline:
    slower = {
        "source__future_guard": "60 days",
        "watermark__out_of_orderness": "10 minutes",
        "watermark__emit": "{every: 30 minutes}",
        "windows__allowed_lateness": "20 hours",
    }
    return history.pipeline(table, **{**slower, **shape})


def lengths(spark: SparkSession, lake: Lake) -> set[float]:
    """Return the hours of the published windows."""
    rows = rows_of(read_published(spark, lake, "window_results"))
    return {(row["window_end"] - row["window_start"]) / timedelta(hours=1) for row in rows}


def assert_whole_run(spark: SparkSession, table: str, lake: Lake, shape: dict[str, str]) -> None:
    run, _ = assert_publishes_the_references(spark, local(table, shape), lake, slices=2, rows=slower_rows())
    assert min(run.counts["late"], run.counts["too_late"]) > 0


@pytest.mark.soak
def test_days_publish_what_the_reference_gives(spark: SparkSession, days: str, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"), "readings")
    assert_whole_run(spark, days, lake, SHAPES["days"])
    assert lengths(spark, lake) == {23, 24}


@pytest.mark.soak
@pytest.mark.parametrize("name", list(SHAPES)[1:])
def test_other_days_publish_what_the_reference_gives(spark: SparkSession, days: str, tmp_path: Path, name: str) -> None:
    assert_whole_run(spark, days, Lake(str(tmp_path / "lake"), "readings"), SHAPES[name])


@pytest.mark.soak
def test_a_range_of_the_same_pipeline_changes_nothing(spark: SparkSession, days: str, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"), "readings")
    range_of_days = Interval(datetime(2024, 3, 30, 23, tzinfo=UTC), datetime(2024, 4, 1, 22, tzinfo=UTC))
    assert_a_range_changes_nothing(spark, local(days, DAYS), lake, range_of_days)


def test_a_cut_within_a_day_of_23_hours_is_refused(spark: SparkSession, days: str, tmp_path: Path) -> None:
    runner = Runner(spark, local(days, DAYS), Lake(str(tmp_path / "lake"), "readings"))
    with pytest.raises(InputError, match=r"--from: .*windows begin at 2024-03-30T23:00.* and 2024-03-31T22:00"):
        runner.plan(Interval(datetime(2024, 3, 31, 12, tzinfo=UTC), None))
