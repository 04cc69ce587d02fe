"""What a run over changes keeps: little for itself, and for the run after it the intermediates of all rows."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.jobs.plan import whole_intermediates
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.ground import Ground
from spark_jobs.replay.source_rows import SourceRows
from spark_jobs.replay.store import MemoryStore
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger, staging
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import CHANGED, Run
from tests.support import history
from tests.support.edited_source import EditedSource
from tests.support.whole_run import assert_published, run_steps

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.fixture(name="source")
def _source(spark: SparkSession, tmp_path: Path) -> EditedSource:
    source = EditedSource(spark, tmp_path / "rows", history.events(600))
    source.land()
    return source


def run(spark: SparkSession, pipeline: Pipeline, lake: Lake) -> Run:
    run_steps(spark, pipeline, lake, changed=True)
    return ledger.published(spark, lake)[-1]


def mended(source: EditedSource, id: int, **values: object) -> dict[str, object]:  # noqa: A002  the column's name
    return {**next(row for row in source.rows if row["id"] == id), **values}


def rows_of(frame: DataFrame) -> list[str]:
    """Return the rows without the sums of floating numbers that the census measures, which are bounds."""
    names = sorted(name for name in frame.columns if not name.startswith("value_"))
    return sorted(str(row) for row in frame.select(*names).collect())


def assert_whole(spark: SparkSession, source: EditedSource, pipeline: Pipeline, lake: Lake, run: Run) -> None:
    """Assert that the run keeps the census and calendar of all rows of the source."""
    store = MemoryStore()
    events = spark.read.format("delta").load(str(source.path))
    ground = Ground(SourceRows(events, pipeline, store), pipeline, store)
    for name, expected in (("census", ground.census), ("calendar", ground.calendar)):
        whole = whole_intermediates.stored(spark, lake, run.run_id, name)
        assert whole is not None
        assert rows_of(whole.rows()) == rows_of(expected), name


@pytest.mark.parametrize("count", [2, pytest.param(3, marks=pytest.mark.soak)])
def test_runs_over_changes_keep_what_follows_from_all_rows(
    spark: SparkSession, source: EditedSource, lake: Lake, count: int
) -> None:
    short = {"windows__size": "1 minute", "windows__allowed_lateness": "30 seconds"}
    pipeline = history.pipeline(str(source.path), quality__max_too_late_ratio="1", **short)
    first = run(spark, pipeline, lake)
    placed = source.rows[320]
    edits = [
        [mended(source, 300, reading=12.25)],
        [{**placed, "happened_at": placed["happened_at"] + timedelta(minutes=3)}],
        [{**mended(source, 590), "id": 9_000}],
    ]
    sizes = []
    for edit in edits[:count]:
        source.update(edit)
        last = run(spark, pipeline, lake)
        assert (last.kind, last.changes_run is not None) == (CHANGED, True)
        assert_published(spark, lake, reference.replay(source.rows, pipeline))
        assert_whole(spark, source, pipeline, lake, last)
        sizes.append(staging.read_work(spark, lake, last.run_id, "census").count())
    # The moved row leaves a window and enters another.
    assert sizes[0] < staging.read_work(spark, lake, first.run_id, "census").count() / 2


@pytest.mark.soak
def test_the_sign_of_a_zero_is_a_change(spark: SparkSession, source: EditedSource, lake: Lake) -> None:
    pipeline = history.pipeline(str(source.path), windows__aggregates="{least: min(reading), first: first(reading)}")
    source.update([mended(source, 100, reading=0.0)])
    run(spark, pipeline, lake)
    source.update([mended(source, 100, reading=-0.0)])
    last = run(spark, pipeline, lake)
    assert (last.kind, last.counts["changed_rows"]) == (CHANGED, 2)
