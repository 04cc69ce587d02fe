"""Runs in the mode complete: what they publish besides the faithful tables, and what becomes of it with later runs."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.operate.compare import compare
from spark_jobs.jobs.plan.plan import plan
from spark_jobs.jobs.plan.spark_tables import SparkTables
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import create_views, read_published
from tests.support import history
from tests.support.arrivals import CUTS, assert_slices_follow
from tests.support.engine import in_order, rows_of
from tests.support.pipelines import SHAPES, sessions, sliding
from tests.support.runs import publish
from tests.support.whole_run import assert_publishes_the_references, published

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

HOUR = Interval(history.START, history.START + timedelta(hours=1))


def complete(table: str, **overrides: str) -> Pipeline:
    return history.pipeline(table, replay__mode="complete", windows__allowed_lateness="0s", **overrides)


@pytest.mark.soak
def test_whole_run_counts_the_cost_of_the_watermark(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = complete(table)
    run, expected = assert_publishes_the_references(spark, pipeline, lake, slices=2)
    assert run.counts["missed_rows"] == run.counts["too_late"] > 0
    results = expected.complete_results
    assert run.counts["windows_missing_rows"] == sum(row["missed_rows"] > 0 for row in results)
    assert run.counts["windows_not_shown"] == sum(not row["is_shown"] for row in results) > 0
    page = Path(lake.report_path(run.run_id)).read_text(encoding="utf-8")
    assert "What the watermark cost" in page
    assert f"{run.counts['missed_rows']:,} rows" in page
    # The faithful tables are those of a faithful run, and a part of time changes nothing.
    before = published(spark, lake)
    publish(spark, pipeline, lake, HOUR)
    assert published(spark, lake) == before


KINDS = {
    "sliding": lambda table: sliding(table, replay__mode="complete", **SHAPES["overlapping"]),
    "with gaps": lambda table: sliding(table, replay__mode="complete", **SHAPES["with gaps"]),
    "sessions": lambda table: sessions(table, replay__mode="complete"),
    "discarded sessions": lambda table: sessions(
        table, replay__mode="complete", windows__accumulation="discarding", replay__end_of_input="keep_open"
    ),
    "discarding": lambda table: history.pipeline(
        table, replay__mode="complete", windows__accumulation="discarding", replay__end_of_input="keep_open"
    ),
    "retracting": lambda table: complete(table, windows__accumulation="retracting", windows__late_data="drop"),
    "by count": lambda table: complete(table, windows__trigger="{count: 5}"),
    "continuous": lambda table: complete(
        table,
        windows__trigger="{continuous: 3 minutes}",
        windows__accumulation="discarding",
        replay__end_of_input="keep_open",
    ),
}


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_runs_of_every_kind(spark: SparkSession, table: str, lake: Lake, kind: str) -> None:
    pipeline = KINDS[kind](table)
    run, expected = assert_publishes_the_references(spark, pipeline, lake, slices=2)
    assert run.counts["missed_rows"] == sum(row["missed_rows"] for row in expected.complete_results)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["tumbling", "sessions"])
def test_slices_of_arrivals_read_all_rows_and_note_the_reason(
    spark: SparkSession, table: str, lake: Lake, kind: str
) -> None:
    pipeline = complete(table) if kind == "tumbling" else KINDS[kind](table)
    runs = assert_slices_follow(spark, pipeline, lake, CUTS[1:3])
    assert [run.arrived_from for run in runs] == [None, None]
    if kind == "tumbling":
        assert "advances" in runs[-1].versions
        assert "needs all rows of closed windows" in plan(SparkTables(spark, pipeline, lake), Interval(), CUTS[3]).note


@pytest.mark.soak
def test_complete_results_belong_to_their_run(spark: SparkSession, table: str, lake: Lake, tmp_path: Path) -> None:
    """A part of time has them beside faithful results, a faithful run has none, and a rollback brings them back."""
    plain = history.pipeline(table, windows__allowed_lateness="0s")
    publish(spark, plain, lake, Interval())
    before = published(spark, lake)
    of_hour = publish(spark, complete(table), lake, HOUR)
    after = published(spark, lake)
    results = after.pop("complete_results")
    assert after == before
    expected = reference.replay(history.events(), complete(table)).complete_results
    inside = [row for row in expected if HOUR.start <= row["window_start"] < HOUR.end]
    assert results == in_order(inside)
    assert "t_complete_results" in create_views(spark, lake, prefix="t_")
    wrong = spark.sql("select * from t_complete_results where missed_rows > 0 order by missed_rows / row_count desc")
    assert wrong.count() == sum(row["missed_rows"] > 0 for row in inside) > 0
    assert compare(spark, plain, lake).changed == 0
    publish(spark, plain, lake, Interval(HOUR.end, None))
    assert "complete_results" not in ledger.published(spark, lake)[-1].versions
    with pytest.raises(ValueError, match="has no table 'complete_results'"):
        read_published(spark, lake, "complete_results")
    assert Runner(spark, plain, lake).rollback(of_hour).state == "done"
    back = read_published(spark, lake, "complete_results")
    assert in_order(rows_of(back.drop("run_id"))) == results
    assert back.where(F.col("run_id") != of_hour).isEmpty()
