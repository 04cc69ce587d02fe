"""Silence: a check names a source partition without new rows, and blocks nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.replay.profile import silence
from spark_jobs.tables import staging
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.arrivals import replay_until
from tests.support.engine import rows_of
from tests.support.whole_run import assert_published, run_steps

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

FALLS_SILENT = history.START + timedelta(minutes=50)
KEEP_OPEN = {"replay__end_of_input": "keep_open", "quality__max_silence": "1 hour"}


def rows() -> list[dict[str, Any]]:
    """Return the history without the rows of the south that arrive after it falls silent."""
    return [r for r in history.events() if r["site"] != "south" or (r["stored_at"] or history.START) < FALLS_SILENT]


@pytest.fixture(name="table", scope="module")
def _table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    return history.land(spark, rows(), tmp_path_factory.mktemp("silent") / "events")


def newest(until: datetime) -> dict[str, datetime]:
    """Return the newest event time of each site among the rows that had arrived."""
    by_site: dict[str, datetime] = {}
    for row in rows():
        happened, stored = row["happened_at"], row["stored_at"]
        if stored and stored < until and happened and happened < stored + timedelta(days=1):
            floored = happened.replace(microsecond=happened.microsecond // 1000 * 1000)
            by_site[row["site"]] = max(by_site.get(row["site"], floored), floored)
    return by_site


def silent(spark: SparkSession, pipeline: Pipeline, lake: Lake, run_id: str) -> list[dict[str, Any]]:
    """The rows of the failed checks of silence of a run."""
    checks = spark.read.format("delta").load(lake.path("quality"))
    silence_checks = rows_of(checks.where(f"suite = 'silence' AND run_id = '{run_id}'"))
    assert [row["expectation"] for row in silence_checks] == ["no_source_partition_is_silent"]
    return [json.loads(line) for row in silence_checks for line in row["details"].splitlines() if not row["success"]]


@pytest.mark.soak
@pytest.mark.parametrize(
    "silent_by_hour",
    [{3: ["south"]}, {1: [], 3: ["south"]}],
    ids=["once", "twice"],
)
def test_runs_that_go_on_report_a_partition_that_has_fallen_silent(
    spark: SparkSession, table: str, lake: Lake, silent_by_hour: dict[int, list[str]]
) -> None:
    pipeline = history.pipeline(table, **KEEP_OPEN)
    for hours, expected in silent_by_hour.items():
        until = history.START + timedelta(hours=hours)
        outcomes = run_steps(spark, pipeline, lake, arrived_to=until)
        assert [outcome.state for outcome in outcomes] == ["done"] * 4
        run_id = outcomes[0].run_id
        last_rows = rows_of(staging.read_staged(spark, lake, run_id, silence.TABLE).drop("run_id"))
        assert {row["source_partition"]: row["last_event_time"] for row in last_rows} == newest(until)
        assert {row["read_until"] for row in last_rows} == {until}
        failed = silent(spark, pipeline, lake, run_id)
        assert [row["source_partition"] for row in failed] == expected
        assert outcomes[2].counts["checks_failed"] == len(expected)
    assert_published(spark, lake, replay_until(rows(), pipeline, until))


@pytest.mark.soak
def test_a_declared_partition_without_rows_is_silent_and_in_the_log(
    spark: SparkSession, table: str, lake: Lake
) -> None:
    declared = "{columns: [site], declared: [north, south, east, west]}"
    pipeline = history.pipeline(table, source__source_partition=declared, quality__max_silence="30 days")
    log: list[str] = []
    outcomes = Runner(spark, pipeline, lake, progress=lambda _, text: log.append(text)).run(Interval())
    assert {outcome.state for outcome in outcomes} == {"done"}
    (failed,) = silent(spark, pipeline, lake, outcomes[0].run_id)
    assert (failed["source_partition"], "last_event_time" in failed) == ("west", False)
    assert any("no_source_partition_is_silent" in text and "west" in text for text in log)


@pytest.mark.soak
def test_a_run_of_sessions_reports_silence(spark: SparkSession, table: str, lake: Lake) -> None:
    session = {"windows__kind": "session", "windows__gap": "25 seconds", "windows__size": "null"}
    outcomes = run_steps(spark, history.pipeline(table, **session, quality__max_silence="2 hours"), lake)
    (failed,) = silent(spark, history.pipeline(table), lake, outcomes[0].run_id)
    assert failed["source_partition"] == "south"
    assert datetime.fromisoformat(failed["last_event_time"]) == newest(datetime.max.replace(tzinfo=UTC))["south"]
