"""Runs of joins: what they check, stage, audit and publish is what the reference says, whole and over parts of time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan import extent
from spark_jobs.jobs.run import Runner
from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.tables import ledger
from spark_jobs.tables.lake import JOIN_TABLES, Lake
from spark_jobs.tables.published import read_published
from spark_jobs.tables.publishing import Interval
from tests.spark import history
from tests.spark.engine import frame_of, in_order, rows_of
from tests.spark.joined_tables import JoinedTables

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

PAYMENTS = pa.schema(
    [
        ("id", pa.int64()),
        ("gadget", pa.string()),
        ("paid_at", pa.timestamp("us", tz="UTC")),
        ("stored_at", pa.timestamp("us", tz="UTC")),
        ("amount", pa.float64()),
    ]
)
ROWS = 1500


def readings(count: int = ROWS) -> list[dict[str, Any]]:
    return history.events(count)


def orders() -> list[dict[str, Any]]:
    return [row for row in readings() if row["site"] == "east"]


def payments() -> list[dict[str, Any]]:
    return [
        {
            "id": row["id"],
            "gadget": row["device"],
            "paid_at": row["happened_at"],
            "stored_at": row["stored_at"],
            "amount": row["reading"],
        }
        for row in readings()
        if row["site"] != "east"
    ]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("joined")
    history.land(spark, readings(), home / "readings")
    history.land(spark, orders(), home / "orders")
    frame_of(spark, payments(), PAYMENTS).coalesce(1).write.format("delta").save(str(home / "payments"))
    return {name: str(home / name) for name in ("readings", "orders", "payments")}


def two(tables: Mapping[str, str], **rest: Any) -> Pipeline:
    """Orders of one site joined with payments, whose table calls its columns otherwise."""
    written: dict[str, Any] = {
        "name": "readings",
        "sources": [
            {
                "name": "orders",
                "table": tables["orders"],
                "event_time": "happened_at",
                "arrival_time": "stored_at",
                "tie_break": ["id"],
                "where": "reading is null or reading <= 40",
                "watermark": {"out_of_orderness": "10 seconds"},
            },
            {
                "name": "payments",
                "table": tables["payments"],
                "event_time": "paid_at",
                "arrival_time": "stored_at",
                "tie_break": ["id"],
                "watermark": {"out_of_orderness": "4 minutes"},
            },
        ],
        "watermark": {"emit": {"every": "30 seconds"}},
        "join": {"key": {"orders": ["device"], "payments": ["gadget"]}, "between": ["-30 seconds", "1 minute"]},
        "quality": {
            "max_too_late_ratio": 0.5,
            "expectations": [{"type": "expect_rows_to_satisfy", "condition": "orders.device <=> payments.gadget"}],
        },
    }
    return from_mapping({**written, **rest})


def by_window(tables: Mapping[str, str], **windows: Any) -> Pipeline:
    return two(
        tables,
        join={"key": {"orders": ["device"], "payments": ["gadget"]}},
        windows={"size": "3 minutes", "offset": "30 seconds", "allowed_lateness": "10 minutes", **windows},
    )


def split(tables: Mapping[str, str], **rest: Any) -> Pipeline:
    """One table, of which one site is the second input."""
    return from_mapping(
        {
            "name": "readings",
            "source": {
                "table": tables["readings"],
                "event_time": "happened_at",
                "arrival_time": "stored_at",
                "source_partition": ["site"],
                "tie_break": ["id"],
                "where": "reading is null or reading <= 40",
            },
            "watermark": {"out_of_orderness": "2 minutes", "emit": "per_event"},
            "join": {
                "key": ["device"],
                "between": ["0s", "40 seconds"],
                "exclusive": ["upper"],
                "second_when": "site = 'east'",
            },
            **rest,
        }
    )


def published(spark: SparkSession, lake: Lake) -> dict[str, list[Any]]:
    """The rows of all published tables, without the run that made them, in one order."""
    return {name: in_order(rows_of(read_published(spark, lake, name).drop("run_id"))) for name in JOIN_TABLES}


def assert_publishes(spark: SparkSession, pipeline: Pipeline, lake: Lake, expected: JoinedTables) -> ledger.Run:
    """Run a pipeline whole, then again, then over a part of time: what is published is the reference's answer."""
    outcomes = Runner(spark, pipeline, lake, slices=3).run(Interval())
    assert [outcome.state for outcome in outcomes] == ["done"] * 5
    assert Path(str(outcomes[-1].report)).stat().st_size > 10_000
    found = published(spark, lake)
    for name, rows in expected.tables():
        assert found[name] == in_order(rows), name
    run = ledger.find(spark, lake, outcomes[0].run_id)
    assert run is not None
    assert {name: run.counts.get(name) for name in expected.counts} == dict(expected.counts)
    again = Runner(spark, pipeline, lake).run(Interval())
    assert [outcome.state for outcome in again[:4]] == ["unchanged"] * 4
    start = history.START.replace(hour=22, minute=30) + timedelta(seconds=30)
    part = Runner(spark, pipeline, lake).run(Interval(start, start + timedelta(minutes=30)))
    assert [outcome.state for outcome in part] == ["done"] * 5
    assert 0 < part[1].counts["pairs"] < len(expected.pairs)
    assert published(spark, lake) == found
    assert found["pairs"] != in_order(rows_of(read_published(spark, lake, "pairs", run_id=run.run_id)))
    return run


def test_two_tables_joined_by_interval(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    pipeline = two(tables)
    run = assert_publishes(spark, pipeline, lake, JoinedTables(pipeline, orders(), payments()))
    assert min(run.counts[n] for n in ("pairs", "too_late_of_orders", "too_late_of_payments", "filtered_of_orders")) > 0
    assert run.pinned == {"orders": 0, "payments": 0}


def test_two_tables_joined_by_window(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    pipeline = by_window(tables)
    expected = JoinedTables(pipeline, orders(), payments())
    run = assert_publishes(spark, pipeline, lake, expected)
    assert {pair["timing"] for pair in expected.pairs} == {"on_time", "late"}
    assert min(run.counts[n] for n in ("late", "too_late_of_orders", "too_late_of_payments", "filtered_of_orders")) > 0


def test_one_table_split_by_a_condition(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    pipeline = split(tables)
    expected = JoinedTables(pipeline, readings(), is_second=lambda row: row["site"] == "east")
    run = assert_publishes(spark, pipeline, lake, expected)
    assert min(run.counts[n] for n in ("pairs", "too_late_of_left", "too_late_of_right", "invalid_of_left")) > 0
