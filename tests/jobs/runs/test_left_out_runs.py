"""Runs that leave out duplicates and rows in quarantine: whole, in slices, and going on, as by the reference."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import BlockedError, InputError
from spark_jobs.jobs.operate.handover import handover
from spark_jobs.jobs.plan.plan import plan
from spark_jobs.jobs.plan.spark_tables import SparkTables
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support import history, repeated_rows
from tests.support.arrivals import CUTS, assert_slices_follow
from tests.support.pipelines import sessions, sliding
from tests.support.whole_run import assert_a_range_changes_nothing, assert_publishes_the_references, run_steps

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.fixture(scope="module")
def repeated(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    return history.land(spark, repeated_rows.rows(), tmp_path_factory.mktemp("repeated") / "table")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"), "readings")


def leaving_out(table: str, **more: str) -> Pipeline:
    return history.pipeline(table, **repeated_rows.SETTINGS, **more)


@pytest.mark.soak
def test_slices_publish_what_the_reference_gives(spark: SparkSession, repeated: str, lake: Lake) -> None:
    run, _ = assert_publishes_the_references(spark, leaving_out(repeated), lake, slices=3, rows=repeated_rows.rows())
    assert min(run.counts[name] for name in ("invalid", "filtered", "quarantined", "duplicates", "too_late")) > 0


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["sliding", "sessions", "by commit", "watermark after where"])
def test_other_kinds_publish_what_the_reference_gives(
    spark: SparkSession, repeated: str, lake: Lake, kind: str
) -> None:
    pipeline = {
        "sliding": lambda: sliding(repeated, **repeated_rows.SETTINGS),
        "sessions": lambda: sessions(repeated, **repeated_rows.SETTINGS),
        "by commit": lambda: leaving_out(repeated, replay__order="event_time"),
        "watermark after where": lambda: leaving_out(repeated, watermark__placement="after_where"),
    }[kind]()
    assert_publishes_the_references(spark, pipeline, lake, slices=2, rows=repeated_rows.rows())


@pytest.mark.soak
@pytest.mark.parametrize("cuts", [CUTS[1:3], CUTS], ids=["two", "four"])
def test_runs_that_go_on_leave_out_what_one_run_does(
    spark: SparkSession, repeated: str, lake: Lake, cuts: list[datetime]
) -> None:
    runs = assert_slices_follow(spark, leaving_out(repeated), lake, cuts, repeated_rows.rows())
    assert runs[-1].arrived_from is not None


@pytest.mark.soak
def test_a_range_of_the_same_pipeline_changes_nothing(spark: SparkSession, repeated: str, lake: Lake) -> None:
    start = history.START.replace(hour=23)
    assert_a_range_changes_nothing(spark, leaving_out(repeated), lake, Interval(start, start.replace(minute=40)))


@pytest.mark.soak
def test_too_many_broken_rows_block_the_run(spark: SparkSession, repeated: str, lake: Lake) -> None:
    settings = {**repeated_rows.SETTINGS}
    settings["quality__expectations"] = settings["quality__expectations"].replace("mostly: 0.5", "mostly: 0.99")
    with pytest.raises(BlockedError, match="run: not_too_many_rows_are_set_apart_by_reading_to_be_between"):
        run_steps(spark, history.pipeline(repeated, **settings), lake)


def test_a_rule_over_a_missing_column_is_refused(spark: SparkSession, repeated: str, lake: Lake) -> None:
    settings = {**repeated_rows.SETTINGS, "source__deduplicate": "[idd]"}
    settings["quality__expectations"] = settings["quality__expectations"].replace("column: reading", "column: readng")
    with pytest.raises(InputError) as refused:
        plan(SparkTables(spark, history.pipeline(repeated, **settings), lake), Interval())
    assert "source.deduplicate:" in str(refused.value)
    assert "has no column 'idd'; did you mean 'id'?" in str(refused.value)
    assert "quality.expectations[0]: the source has no column 'readng'; did you mean 'reading'?" in str(refused.value)


@pytest.mark.soak
def test_a_live_job_needs_all_rows(spark: SparkSession, repeated: str, lake: Lake) -> None:
    pipeline = leaving_out(repeated)
    Runner(spark, pipeline, lake).run(Interval(), CUTS[1])
    over = handover(spark, pipeline, lake)
    assert (over.exact, "source.deduplicate" in str(over.reason)) == (False, True)
    assert replace(over, reason=None).read_from_arrival is None
