"""A source that was deleted and made anew is another table, whatever its path and its versions."""

from __future__ import annotations

import shutil
from datetime import timedelta
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

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

ROWS = history.events(400)
HALF = history.START + timedelta(minutes=15)


@pytest.fixture(name="source")
def _source(spark: SparkSession, tmp_path: Path) -> str:
    return history.land(spark, ROWS, tmp_path / "source")


def made_anew(spark: SparkSession, source: str) -> None:
    """Put another table with as many versions in the place of the source: each reading is larger by 1000."""
    shutil.rmtree(source)
    history.land(spark, [{**row, "reading": 1000.0} for row in ROWS], source)


def pipeline(source: str, **overrides: str) -> Pipeline:
    return history.pipeline(source, source__where="null", **overrides)


def most(spark: SparkSession, lake: Lake) -> set[Any]:
    return {row.most for row in read_published(spark, lake, "window_results").collect()}


@pytest.mark.soak
def test_the_same_command_replays_the_new_table(spark: SparkSession, source: str, lake: Lake) -> None:
    first = Runner(spark, pipeline(source), lake).run(Interval())
    made_anew(spark, source)
    second = Runner(spark, pipeline(source), lake).run(Interval())
    assert first[0].run_id != second[0].run_id
    assert [result.state for result in second] == ["done"] * 5
    assert most(spark, lake) == {1000.0}


@pytest.mark.soak
def test_a_run_of_the_old_table_is_not_finished_with_the_new_table(
    spark: SparkSession, source: str, lake: Lake
) -> None:
    runner = Runner(spark, pipeline(source), lake, slices=2)
    planned, _ = runner.plan(Interval())
    first, second, *_ = runner.step("watermarks", planned.run).slices
    runner.stage_slice(runner.find(planned.run.run_id), first)
    made_anew(spark, source)
    with pytest.raises(InputError, match=r"was deleted and made anew since run .* was planned"):
        runner.stage_slice(runner.find(planned.run.run_id), second)
    with pytest.raises(InputError, match="Run the same command again"):
        runner.step("replay", runner.find(planned.run.run_id))


@pytest.mark.soak
def test_later_arrivals_of_the_new_table_are_read_from_its_beginning(
    spark: SparkSession, source: str, lake: Lake
) -> None:
    Runner(spark, pipeline(source), lake).run(Interval(), HALF)
    made_anew(spark, source)
    messages: list[str] = []
    runner = Runner(spark, pipeline(source), lake, progress=lambda _, text: messages.append(text))
    runner.run(Interval(), HALF + timedelta(minutes=3))
    assert any("everything is read again" in text and "was deleted and made anew" in text for text in messages)
    assert most(spark, lake) == {1000.0}


@pytest.mark.soak
def test_a_part_of_the_new_table_is_not_put_beside_the_old_results(
    spark: SparkSession, source: str, lake: Lake
) -> None:
    Runner(spark, pipeline(source), lake).run(Interval())
    made_anew(spark, source)
    part = Interval(history.START, history.START + timedelta(minutes=10))
    with pytest.raises(InputError, match=r"was deleted and made anew since run .*, whose results are around this part"):
        Runner(spark, pipeline(source), lake).plan(part)
    planned, _ = Runner(spark, pipeline(source), lake).plan(part, restate=True)
    assert planned.interval == part
