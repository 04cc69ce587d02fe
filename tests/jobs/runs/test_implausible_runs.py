"""Runs that nobody can have meant: each is blocked by default, shows why, and is published once a person accepts it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import BlockedError
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.support import history

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

FORMAT = "dd.MM.yyyy HH:mm:ss"


@pytest.fixture(name="texts")
def _texts(spark: SparkSession, tmp_path: Path) -> str:
    """A table whose event times are text, in epoch seconds beside it."""
    table = history.land(spark, history.events(120), tmp_path / "events")
    rows = spark.read.format("delta").load(table)
    texts = rows.selectExpr(
        "id", "device", "stored_at", f"date_format(happened_at, '{FORMAT}') AS at", "unix_seconds(happened_at) AS epoch"
    )
    texts.coalesce(1).write.format("delta").save(str(tmp_path / "texts"))
    return str(tmp_path / "texts")


def reading(table: str, event_time: dict[str, str], **more: Any) -> Pipeline:
    return from_mapping(
        {
            "name": "readings",
            "source": {"table": table, "event_time": event_time, "arrival_time": "stored_at", **more.pop("source", {})},
            "watermark": {"out_of_orderness": "10 seconds"},
            "windows": {"size": "10 minutes", "key": ["device"], "aggregates": {"n": "count(*)"}},
            **more,
        }
    )


def good(table: str, **more: Any) -> Pipeline:
    return reading(table, {"column": "at", "format": FORMAT}, **more)


def blocked(spark: SparkSession, pipeline: Pipeline, lake: Lake) -> BlockedError:
    with pytest.raises(BlockedError) as caught:
        Runner(spark, pipeline, lake).run(Interval())
    return caught.value


def published_rows(spark: SparkSession, lake: Lake) -> int:
    return int(read_published(spark, lake, "window_results").agg({"row_count": "sum"}).collect()[0][0])


@pytest.mark.soak
def test_a_wrong_format_takes_no_results_away(spark: SparkSession, texts: str, lake: Lake) -> None:
    Runner(spark, good(texts), lake).run(Interval())
    before = published_rows(spark, lake)
    problem = blocked(spark, reading(texts, {"column": "at", "format": "dd.MM.yyyy"}), lake)
    assert published_rows(spark, lake) == before
    for line in (
        "plausibility: the_run_has_windows",
        "found:    0 windows of 120 rows read, 120 invalid, 0 filtered",
        f"found:    0 rows in windows, where {before} are published",
        '"reason": "event_time_unreadable", "rows": 119, "values": ["04.05.2025 22:01:40", "30.03.2024 22:09:32"]',
    ):
        assert line in str(problem)
    assert Path(str(problem.report)).is_file()
    assert problem.run_id == ledger.runs(spark, lake)[-1].run_id


@pytest.mark.soak
def test_a_wrong_unit_makes_no_windows_of_1970(spark: SparkSession, texts: str, lake: Lake) -> None:
    problem = blocked(spark, reading(texts, {"column": "epoch", "unit": "ms"}), lake)
    assert "plausibility: events_are_of_the_time_of_their_arrival" in str(problem)
    assert "118 of 118 rows; the newest event is of 1970-01-21" in str(problem)


@pytest.mark.soak
def test_a_condition_that_drops_most_rows_is_published_once_it_is_accepted(
    spark: SparkSession, texts: str, lake: Lake
) -> None:
    Runner(spark, good(texts), lake).run(Interval())
    fewer = good(texts, source={"where": "id < 50"})
    problem = blocked(spark, fewer, lake)
    assert "1 of " in str(problem).partition("\n")[0]
    runner = Runner(spark, fewer, lake)
    run = runner.accept(runner.find(problem.run_id), "ada: the other devices are gone")
    runner.step("publish", run)
    accepted = runner.find(problem.run_id)
    assert (accepted.state, accepted.accepted) == ("published", "ada: the other devices are gone")
    # The same command finds the run as it is: nothing is judged or entered into the ledger again.
    messages: list[str] = []
    results = Runner(spark, fewer, lake, progress=lambda _, text: messages.append(text)).run(Interval())
    assert [result.state for result in results[:-1]] == ["unchanged"] * 4
    assert any("was accepted at" in text and "ada: the other devices are gone" in text for text in messages)
    assert ledger.find(spark, lake, problem.run_id) == accepted


@pytest.mark.soak
def test_limits_can_be_set_aside(spark: SparkSession, texts: str, lake: Lake) -> None:
    limits = {"min_windows": "none", "max_invalid_ratio": "none"}
    wrong = reading(texts, {"column": "at", "format": "yyyy"}, quality=limits)
    results = Runner(spark, wrong, lake).run(Interval())
    assert [result.state for result in results] == ["done"] * 5
