"""Selected columns: Spark carries what the reference carries, and reads no other column from the files."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.pipeline import from_mapping
from spark_jobs.replay import replay
from spark_jobs.semantics import reference
from tests.sampling import sampled
from tests.support import history
from tests.support.engine import assert_same_tables, spark_replay

pytestmark = pytest.mark.spark

ROWS = [{**row, "more": f"m{i % 3}", "watermark": i} for i, row in enumerate(history.events(300))]
SCHEMA = pa.schema([*history.SCHEMA, ("more", pa.string()), ("watermark", pa.int64())])
SELECTED = {"source__select": "[id, w*]", "source__exclude": "[stored_at]"}


@pytest.mark.parametrize("more", [{}, sampled({"watermark__emit": "per_event"}, quick=False)])
def test_late_and_invalid_events_carry_the_selected_columns(session: SparkSession, more: dict[str, str]) -> None:
    pipeline = history.pipeline("rows", **SELECTED, **more)
    expected = reference.replay(ROWS, pipeline)
    assert {"id", "device", "source_watermark"} <= set(expected.late_events[0])
    assert not {"more", "reading", "site"} & set(expected.late_events[0])
    assert_same_tables(spark_replay(session, ROWS, pipeline, schema=SCHEMA), expected)


def test_each_source_carries_its_own_columns(session: SparkSession) -> None:
    common = {"event_time": "happened_at", "arrival_time": "stored_at", "watermark": {"out_of_orderness": "10 s"}}
    sources = [
        {"name": "north", "table": "a", **common, "select": ["more"], "where": "reading > 0"},
        {"name": "rest", "table": "b", **common, "exclude": ["more", "watermark"]},
    ]
    windows = {"size": "10 minutes", "key": ["device"], "aggregates": {"n": "count(*)"}}
    united = from_mapping({"name": "p", "sources": sources, "windows": windows})
    rows = [{**row, "source": "north" if row["site"] == "north" else "rest"} for row in ROWS]
    expected = reference.replay(rows, united)
    assert {"id", "more", "source"} <= set(expected.late_events[0])
    assert all(row["reading"] is None for row in expected.late_events if row["source"] == "north")
    assert_same_tables(
        spark_replay(session, rows, united, schema=pa.schema([*SCHEMA, ("source", pa.string())])), expected
    )


def columns_read(frame: DataFrame) -> set[str]:
    """Return the columns that the plan reads from Parquet files."""
    plan = frame._jdf.queryExecution().executedPlan().toString()
    return {
        field.split(":")[0]
        for schema in re.findall(r"ReadSchema: struct<([^>]*)>", plan)
        for field in schema.split(",")
    }


def test_columns_that_nothing_uses_are_not_read(session: SparkSession, table: str) -> None:
    rows = session.read.format("delta").load(table)
    pipeline = history.pipeline(table, source__select="[id]", source__where="site <> 'x'")
    whole = replay(rows, history.pipeline(table, source__where="site <> 'x'")).invalid_events
    assert "reading" in columns_read(whole)
    narrow = replay(rows, pipeline).invalid_events
    assert columns_read(narrow) == {"id", "device", "happened_at", "stored_at"}
