"""Runs over sliding windows: staged, sliced, checked and published as by the reference, each row counted once."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.report.alternatives import alternatives
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline.published_tables import RESULT_TABLES
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.support import history
from tests.support.engine import in_order, rows_of
from tests.support.pipelines import SHAPES, sliding
from tests.support.whole_run import assert_publishes_the_references

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


def published(spark: SparkSession, lake: Lake) -> dict[str, list[dict[str, Any]]]:
    return {name: rows_of(read_published(spark, lake, name).drop("run_id")) for name in RESULT_TABLES}


@pytest.mark.soak
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_slices_publish_what_the_reference_gives(
    spark: SparkSession, table: str, tmp_path: Path, shape: dict[str, str]
) -> None:
    lake, pipeline = Lake(str(tmp_path / "lake"), "readings"), sliding(table, **shape)
    run, expected = assert_publishes_the_references(spark, pipeline, lake, slices=3)
    counts = run.counts
    own = (pipeline.watermark.out_of_orderness_ms, pipeline.windows.allowed_lateness_ms)
    fates = {name: counts[name] for name in ("on_time", "late", "too_late")}
    others_with_counts = [a for a in alternatives(spark, pipeline, lake, run) if own == tuple(a.values())[:2]]
    assert [{name: other[name] for name in fates} for other in others_with_counts] == (
        [] if pipeline.windows.have_gaps else [fates]
    )
    assert min(counts["late"], counts["too_late"], counts["row_windows_dropped"]) > 0
    gaps = [row for row in expected.late_events if row["window_start"] is None]
    assert bool(gaps) == (counts["unassigned"] > 0) == (shape is SHAPES["with gaps"])


@pytest.mark.soak
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_range_of_the_same_pipeline_changes_nothing(
    spark: SparkSession, table: str, tmp_path: Path, shape: dict[str, str]
) -> None:
    lake, pipeline = Lake(str(tmp_path / "lake"), "readings"), sliding(table, **shape)
    Runner(spark, pipeline, lake).run(Interval())
    before = published(spark, lake)
    offset = timedelta(milliseconds=pipeline.windows.offset_ms)
    start = history.START + timedelta(minutes=60) + offset
    outcomes = Runner(spark, pipeline, lake, slices=2).run(Interval(start, start + timedelta(minutes=30)))
    assert [outcome.state for outcome in outcomes] == ["done"] * 5
    after = published(spark, lake)
    for name in RESULT_TABLES:
        assert in_order(after[name]) == in_order(before[name]), name
    late_rows = [row for row in before["late_events"] if start <= (row["window_start"] or row["event_time"])]
    late_rows = [row for row in late_rows if (row["window_start"] or row["event_time"]) < start + timedelta(minutes=30)]
    assert ledger.runs(spark, lake)[-1].counts["too_late"] == len(late_rows) > 0


def test_a_cut_between_the_starts_of_windows_is_refused(spark: SparkSession, table: str, tmp_path: Path) -> None:
    pipeline = sliding(table, **SHAPES["overlapping"])
    runner = Runner(spark, pipeline, Lake(str(tmp_path / "lake"), "readings"))
    with pytest.raises(InputError, match=r"--from: .*windows begin at .*23:03.* and .*23:13"):
        runner.plan(Interval(history.START + timedelta(minutes=65), None))
