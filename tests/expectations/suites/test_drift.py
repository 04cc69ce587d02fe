"""Drift: checks name windows that are unlike the same windows of earlier seasons, and block nothing."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from expectations import EARLIER, AuditError, Check, check
from expectations.run_context import RunContext
from spark_jobs.pipeline.model import Aggregate, Drift
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.sampling import sampled
from tests.support import history
from tests.support.engine import rows_of
from tests.support.generated_run import CORRECT, COUNTS, PIPELINE, SCHEMAS, at, frame, frames, result
from tests.support.whole_run import run_steps

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

TEN_SECONDS = Drift(tolerance=0.6, every_ms=10_000, seasons=2)


def drifted(
    spark: SparkSession,
    drift: Drift = TEN_SECONDS,
    results: list[dict[str, Any]] = CORRECT["window_results"],
    earlier: list[dict[str, Any]] | None = None,
    context: RunContext = RunContext(),  # noqa: B008
) -> Check:
    """The check of drift; the run has 6 rows in the window at 0, 2 in that at 10, 4 in that at 20."""
    tables = frames(spark, {**copy.deepcopy(CORRECT), "window_results": results})
    if earlier is not None:
        tables[EARLIER] = frame(spark, SCHEMAS["window_results"], earlier)
    checks = check(tables, replace(PIPELINE, quality=replace(PIPELINE.quality, drift=drift)), COUNTS, context=context)
    (drift_check,) = (result for result in checks if result.suite == "drift")
    assert not drift_check.blocks
    return drift_check


def unlike_windows(drift_check: Check) -> list[dict[str, Any]]:
    """Return the windows that a check names, in the order of time."""
    return sorted(
        (json.loads(line) for line in drift_check.details.splitlines()), key=lambda row: str(row["window_start"])
    )


def test_a_window_is_held_against_the_mean_of_earlier_ones(spark: SparkSession) -> None:
    drift_check = drifted(spark)
    # 2 rows where 6 are usual; 4 where the mean of 2 and 6 is.
    assert (drift_check.success, drift_check.observed) == (False, "1 of 2 rows")
    assert unlike_windows(drift_check) == [
        {
            "window_start": "2013-01-01T00:00:10.000Z",
            "measured": {"rows": 2.0},
            "usual": {"rows": 6.0},
            "seasons": 1,
        }
    ]
    assert drifted(spark, replace(TEN_SECONDS, tolerance=0.67)).success


@pytest.mark.soak
def test_what_is_published_already_counts_as_earlier(spark: SparkSession) -> None:
    before = [result("AA", -10, 1, 60, at(2)), result("BB", -10, 1, 40, at(2))]
    drift_check = drifted(spark, replace(TEN_SECONDS, tolerance=0.9), earlier=before)
    # At 0: 6 where 100 are usual; at 10: 2 where the mean of 6 and 100 is.
    assert [(row["measured"]["rows"], row["usual"]["rows"], row["seasons"]) for row in unlike_windows(drift_check)] == [
        (6.0, 100.0, 1),
        (2.0, 53.0, 2),
    ]
    assert drift_check.observed == "2 of 3 rows"


@pytest.mark.soak
def test_a_window_in_which_nothing_came_is_unlike_any(spark: SparkSession) -> None:
    left = [row for row in CORRECT["window_results"] if row["window_start"] != at(10)]
    drift_check = drifted(spark, replace(TEN_SECONDS, tolerance=1.0), results=left)
    assert [row.get("measured") for row in unlike_windows(drift_check)] == [None]


@pytest.mark.soak
def test_a_window_that_the_run_leaves_alone_is_not_compared(spark: SparkSession) -> None:
    left = [row for row in CORRECT["window_results"] if row["window_start"] != at(10)]
    around = tuple(Interval(at(start), at(start + 10)) for start in (0, 20))
    drift_check = drifted(
        spark, replace(TEN_SECONDS, tolerance=1.0), results=left, context=RunContext(stretches=around)
    )
    assert (drift_check.success, drift_check.observed) == (True, "0 of 1 rows")


@pytest.mark.soak
def test_measures_are_aggregates_of_the_results(spark: SparkSession) -> None:
    measures = (Aggregate("carriers", "count(distinct carrier)"), Aggregate("mean", "avg(flights)"))
    drift_check = drifted(spark, replace(TEN_SECONDS, tolerance=0.0, measures=measures))
    assert [(row["measured"], row["usual"]) for row in unlike_windows(drift_check)] == [
        ({"carriers": 1.0, "mean": 2.0}, {"carriers": 1.0, "mean": 3.0}),
        ({"carriers": 0.0, "mean": 4.0}, {"carriers": 1.0, "mean": 2.5}),
    ]


@pytest.mark.parametrize(
    "expression",
    [sampled(text, quick=text == "flights") for text in ("sum(nothing_like_it)", "flights", "collect_list(flights)")],
)
def test_a_measure_that_is_no_number_is_refused(spark: SparkSession, expression: str) -> None:
    with pytest.raises(AuditError, match=r"quality\.drift\.measures: "):
        drifted(spark, replace(TEN_SECONDS, measures=(Aggregate("one", expression),)))


@pytest.mark.soak
def test_a_part_of_time_is_held_against_what_is_published_before_it(
    spark: SparkSession, lake: Lake, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = history.events()
    half = history.START + timedelta(hours=2)
    table = history.land(spark, rows, tmp_path_factory.mktemp("steady") / "events")
    settings = {"quality__drift": "{tolerance: 0.5, every: 10 minutes, seasons: 3}"}
    outcomes = run_steps(spark, history.pipeline(table, **settings), lake)
    assert [outcome.state for outcome in outcomes] == ["done"] * 4
    # The source loses most of its later rows. No other check fails for it.
    thin = [r for r in rows if r["happened_at"] is None or r["happened_at"] < half or r["id"] % 5 == 0]
    thinned = history.land(spark, thin, tmp_path_factory.mktemp("thinned") / "events")
    spark.read.format("delta").load(thinned).write.format("delta").mode("overwrite").save(table)
    part = run_steps(spark, history.pipeline(table, **settings), lake, Interval(half, half + timedelta(minutes=20)))
    assert [outcome.state for outcome in part] == ["done"] * 4
    checks = spark.read.format("delta").load(lake.path("quality"))
    (drift_check,) = rows_of(checks.where(f"suite = 'drift' AND run_id = '{part[0].run_id}'"))
    assert (drift_check["success"], drift_check["observed"]) == (False, "2 of 2 rows")
    assert [json.loads(line)["seasons"] for line in drift_check["details"].splitlines()] == [3, 3]


@pytest.mark.soak
def test_a_run_that_goes_on_is_held_against_what_runs_before_it_have_published(
    spark: SparkSession, lake: Lake, tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = history.land(spark, history.events(), tmp_path_factory.mktemp("going_on") / "events")
    settings = {"quality__drift": "{tolerance: 0.5, every: 10 minutes, seasons: 3}"}
    pipeline = history.pipeline(table, replay__end_of_input="keep_open", **settings)
    drift_checks = []
    for hours in (2, 3):
        outcomes = run_steps(spark, pipeline, lake, arrived_to=history.START + timedelta(hours=hours))
        checks = spark.read.format("delta").load(lake.path("quality"))
        drift_checks += rows_of(checks.where(f"suite = 'drift' AND run_id = '{outcomes[0].run_id}'"))
    assert all(row["success"] or row["details"] for row in drift_checks)
    # The windows of an hour and those that were open before it, each with the windows before them.
    first, second = (int(row["observed"].split(" of ")[1].removesuffix(" rows")) for row in drift_checks)
    assert 6 <= second < first
