"""Whole runs over sources whose columns have names that Delta stores only under a mapping."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.operate.maintain import maintain
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.semantics import reference
from spark_jobs.tables import delta_log
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import create_views, read_published
from tests.support import column_names, history
from tests.support.aged_lake import strictly
from tests.support.engine import frame_of, in_order, rows_of
from tests.support.join_histories import split
from tests.support.whole_run import assert_published, run_steps

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

NAMES = (
    *(name for name in column_names.HARD[::2] if not name.lower().startswith("__tm")),
    *column_names.drawn(5, 3),
    *("watermark", "reason", "run_id", "event_time", "late_by_ms", "fires_epoch", "_tmc_%20"),
)
EVENTS = column_names.beside(history.events(700), NAMES)
NESTED = [{**row, "a (nested) part": {"x=y": i, "plain": [{"b b": str(i)}]}} for i, row in enumerate(EVENTS)]
SCHEMA = pa.schema(
    [
        *history.SCHEMA,
        *((name, pa.string()) for name in EVENTS[0] if name not in history.SCHEMA.names),
        ("a (nested) part", pa.struct([("x=y", pa.int64()), ("plain", pa.list_(pa.struct([("b b", pa.string())])))])),
    ]
)
HOUR = timedelta(hours=1)
PART = Interval(history.START, history.START + HOUR / 2)


def land(spark: SparkSession, rows: list[dict[str, Any]], path: Path, schema: pa.Schema = SCHEMA) -> str:
    """Write the rows as a table that maps its columns, and replace it if it exists."""
    frame = frame_of(spark, rows, schema).coalesce(1)
    options = {"delta.columnMapping.mode": "name", "overwriteSchema": "true"}
    frame.write.format("delta").options(**options).mode("overwrite").save(str(path))
    return str(path)


def mode(spark: SparkSession, lake: Lake, table: str) -> str | None:
    """Return how a published table maps its columns."""
    _, (action,) = delta_log.state_at(spark, lake.path(table), delta_log.version(spark, lake.path(table)) or 0)
    setting: str | None = action["metaData"]["configuration"].get("delta.columnMapping.mode")
    return setting


@pytest.mark.soak
def test_a_run_publishes_columns_of_any_name(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    pipeline = history.pipeline(land(spark, NESTED, tmp_path / "rows"))
    outcomes = Runner(spark, pipeline, lake).run(Interval())
    assert [outcome.state for outcome in outcomes] == ["done"] * 5
    expected = reference.replay(NESTED, pipeline)
    assert expected.late_events
    assert_published(spark, lake, expected)
    assert {table: mode(spark, lake, table) for table in ("late_events", "invalid_events", "panes")} == {
        "late_events": "name",
        "invalid_events": "name",
        "panes": None,
    }
    # A part of time carries the rows around it over into new files.
    run_steps(spark, pipeline, lake, PART)
    assert_published(spark, lake, expected)
    maintain(spark, lake, strictly())
    assert_published(spark, lake, expected)
    create_views(spark, lake, prefix="named_")
    in_view = rows_of(spark.sql("select * from named_late_events").drop("run_id"))
    assert in_order(in_view) == in_order(expected.late_events)


@pytest.mark.soak
def test_a_published_table_maps_its_columns_once_a_name_needs_it(
    spark: SparkSession, lake: Lake, tmp_path: Path
) -> None:
    plain = [{name: row[name] for name in history.SCHEMA.names} for row in EVENTS]
    pipeline = history.pipeline(land(spark, plain, tmp_path / "rows", history.SCHEMA))
    first = run_steps(spark, pipeline, lake)[0].run_id
    assert mode(spark, lake, "late_events") is None
    before = in_order(rows_of(read_published(spark, lake, "late_events").drop("run_id")))
    land(spark, NESTED, tmp_path / "rows")
    run_steps(spark, pipeline, lake, PART)
    assert mode(spark, lake, "late_events") == "name"
    named = {"a (nested) part", " lead", "source_run_id"}
    assert named <= set(read_published(spark, lake, "late_events").columns)
    assert in_order(rows_of(read_published(spark, lake, "late_events").select(*history.SCHEMA.names))) == in_order(
        [{name: dict(row)[name] for name in history.SCHEMA.names} for row in before]
    )
    run_steps(spark, pipeline, lake)
    assert_published(spark, lake, reference.replay(NESTED, pipeline))
    Runner(spark, pipeline, lake).rollback(first)
    assert in_order(rows_of(read_published(spark, lake, "late_events").drop("run_id"))) == before
    assert mode(spark, lake, "late_events") == "name"


@pytest.mark.soak
@pytest.mark.parametrize("emit", ["per_event", {"every": "30 seconds"}])
def test_a_join_pairs_rows_with_columns_of_any_name(
    spark: SparkSession, lake: Lake, tmp_path: Path, emit: str | dict[str, str]
) -> None:
    mark = {"out_of_orderness": "2 minutes", "emit": emit}
    pipeline = split({"readings": land(spark, NESTED, tmp_path / "rows")}, watermark=mark)
    outcomes = Runner(spark, pipeline, lake).run(Interval())
    assert [outcome.state for outcome in outcomes] == ["done"] * 5
    by_id = {row["id"]: row for row in NESTED}
    pairs = rows_of(read_published(spark, lake, "pairs"))
    sides = [pair[side] for pair in pairs for side in ("left", "right")]
    assert in_order(sides) == in_order([by_id[side["id"]] for side in sides])
    assert sides


@pytest.mark.soak
def test_arrivals_by_a_computed_column_go_on(spark: SparkSession, lake: Lake, table: str) -> None:
    pipeline = history.pipeline(
        table,
        source__columns="{arrived: stored_at, part: upper(site)}",
        source__arrival_time="arrived",
        source__source_partition="[part]",
        windows__key="{who: 'coalesce(device, lower(site))'}",
        replay__end_of_input="keep_open",
    )
    end = history.START + timedelta(minutes=400)
    for until in (history.START + timedelta(minutes=90), end):
        run_steps(spark, pipeline, lake, arrived_to=until)
    assert_published(spark, lake, reference.replay(history.events(), pipeline, until=end))


@pytest.mark.soak
def test_a_run_that_carries_few_columns_passes_its_audit(spark: SparkSession, lake: Lake, table: str) -> None:
    pipeline = history.pipeline(table, source__select="['i?']", source__columns="{later: reading + 1}")
    outcomes = run_steps(spark, pipeline, lake)
    assert [outcome.state for outcome in outcomes] == ["done"] * 4
    assert_published(spark, lake, reference.replay(history.events(), pipeline))
