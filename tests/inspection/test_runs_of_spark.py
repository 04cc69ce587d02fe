"""Pages read what Spark has published: their rows, explanations and lives are those of Spark's own explanation."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.explain.explanations import ExplainedRow
from spark_jobs.inspection.inspections import Basis, RowChoice
from spark_jobs.inspection.inspector import Inspector
from spark_jobs.inspection.missed_page import Grouping, missed_page
from spark_jobs.inspection.publication import Publication
from spark_jobs.inspection.row_filter import RowFilter, RowKind
from spark_jobs.jobs.explain.explain import Request, explain
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.semantics import reference
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.tables import run_history
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.inspection.test_replayed_explanations import without_values
from tests.support import history

pytestmark = pytest.mark.spark

ROWS = history.events(600)


@pytest.fixture(name="published", scope="module")
def _published(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Publication, Pipeline]:
    root = tmp_path_factory.mktemp("spark")
    table = history.land(spark, ROWS, root / "rows")
    pipeline = history.pipeline(table, quality__max_too_late_ratio="1", windows__allowed_lateness="1 minute")
    lake = Lake(str(root / "lake"), "readings")
    Runner(spark, pipeline, lake).run(Interval())
    return Publication(lake, run_history.every(lake)[-1]), pipeline


def test_rows_are_counted_as_in_the_tables_of_the_reference(published: tuple[Publication, Pipeline]) -> None:
    publication, pipeline = published
    expected = reference.replay(ROWS, pipeline)
    page = missed_page(publication, RowFilter(), Grouping.KEY, 1, shows_source=False)
    counted = Counter(row["device"] or "null" for row in expected.late_events)
    assert {group.values["device"]: group.rows for group in page.groups} == counted
    invalid = missed_page(publication, RowFilter(RowKind.INVALID), Grouping.REASON, 1, shows_source=True)
    reasons = Counter(row["reason"] for row in expected.invalid_events)
    assert {group.values["reason"]: group.rows for group in invalid.groups} == reasons
    assert {"id", "reading", "reason"} <= set(invalid.columns)


def test_rows_and_windows_are_explained_as_by_spark(
    spark: SparkSession, published: tuple[Publication, Pipeline], tmp_path: Path
) -> None:
    publication, pipeline = published
    by_source = Inspector(publication, pipeline, shows_source=True)
    by_tables = Inspector(publication, pipeline, shows_source=False)
    late = reference.replay(ROWS, pipeline).late_events
    row, start = late[len(late) // 2], late[len(late) // 2]["window_start"]
    ids = [row["id"], 10, 20, 120]
    key = {"device": row["device"] or "null"}
    request = Request([f"id = {each}" for each in ids], 10, micros(start) // 1000, key)
    by_spark = explain(spark, pipeline, publication.lake, request)
    for number, explained in zip(ids, by_spark.rows, strict=True):
        answer = by_source.rows_with("id", str(number))
        assert answer.reason == ""
        assert [without_values(each.row) for each in answer.content] == list(map(without_values, explained))
    life = by_source.window(start, key).content
    assert life is not None
    assert life.life == by_spark.window
    choice = RowChoice(micros(row["event_time"]), micros(row["arrival_time"]), key, start)
    (of_tables,), (of_spark,) = by_tables.rows(choice).content, by_spark.rows[0]
    assert of_tables.basis is Basis.PUBLISHED
    assert of_tables.dates is not None
    assert len(of_tables.dates.partitions or ()) == 3
    assert with_table_facts(of_tables.row) == with_table_facts(of_spark)


def with_table_facts(row: ExplainedRow) -> ExplainedRow:
    """Return an explanation without what the published tables lack."""
    return replace(without_values(row), row={}, rows_before=None, partitions=None, source_partition="")
