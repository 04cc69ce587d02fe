"""Histories of two inputs, and what a run of their join published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.pipeline.published_tables import JOIN_TABLES
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.support import history
from tests.support.engine import frame_of, in_order, rows_of

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


def readings() -> list[dict[str, Any]]:
    """The history with event times of whole seconds, so that rows lie at the very bounds and at watermarks."""
    rows = history.events(ROWS)
    return [{**row, "happened_at": row["happened_at"] and row["happened_at"].replace(microsecond=0)} for row in rows]


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


def land_tables(spark: SparkSession, home: Path) -> dict[str, str]:
    """Land the source tables in `home`; return their paths by name."""
    history.land(spark, readings(), home / "readings")
    history.land(spark, orders(), home / "orders")
    frame_of(spark, payments(), PAYMENTS).coalesce(1).write.format("delta").save(str(home / "payments"))
    return {name: str(home / name) for name in ("readings", "orders", "payments")}


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
