"""A small history in a Delta table: seeded, disordered, with rows that have no usable time."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from spark_jobs.pipeline import Pipeline, from_mapping
from tests.support.engine import frame_of

START = datetime(2024, 3, 30, 22, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("site", pa.string()),
        ("device", pa.string()),
        ("happened_at", pa.timestamp("us", tz="UTC")),
        ("stored_at", pa.timestamp("us", tz="UTC")),
        ("reading", pa.float64()),
    ]
)


def events(count: int = 3000, seed: int = 7) -> list[dict[str, Any]]:
    """Rows in arrival order over some hours: mostly seconds late, some minutes, some hours; device may be null."""
    draw = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for i in range(count):
        stored = START + timedelta(seconds=5 * i, microseconds=draw.randrange(1_000_000))
        delay = draw.choice([1, 2, 3, 5, 8, 13, 200, 900] if draw.random() < 0.97 else [4000, 9000, 20000])
        happened = stored - timedelta(seconds=delay, microseconds=draw.randrange(1_000_000))
        rows.append(
            {
                "id": i,
                "site": draw.choice(["north", "south", "east"]),
                "device": draw.choice(["a", "b", "c", None]),
                "happened_at": happened,
                "stored_at": stored,
                "reading": draw.randrange(-40, 200) / 4,
            }
        )
    rows[10]["happened_at"] = None
    rows[20]["happened_at"] = rows[20]["stored_at"] + timedelta(days=400)
    rows[30]["stored_at"] = None
    rows[40]["reading"] = None
    return rows


def land(spark: SparkSession, rows: list[dict[str, Any]], path: Path | str) -> str:
    """Append the rows to the Delta table at `path`."""
    frame_of(spark, rows, SCHEMA).coalesce(1).write.format("delta").mode("append").save(str(path))
    return str(path)


def pipeline(table: str, **overrides: str) -> Pipeline:
    """Ten-minute windows by device, where late and too late rows occur; `a__b="x"` overrides the setting `a.b`."""
    return from_mapping(
        {
            "name": "readings",
            "source": {
                "table": table,
                "event_time": "happened_at",
                "arrival_time": "stored_at",
                "source_partition": ["site"],
                "tie_break": ["id"],
                "where": "reading is null or reading <= 47",
            },
            "replay": {"order": "arrival", "end_of_input": "close"},
            "watermark": {
                "strategy": "bounded_out_of_orderness",
                "out_of_orderness": "10 seconds",
                "emit": {"every": "30 seconds"},
            },
            "windows": {
                "kind": "tumbling",
                "size": "10 minutes",
                "key": ["device"],
                "allowed_lateness": "20 minutes",
                "aggregates": {
                    "readings": "count(*)",
                    "total": "sum(reading)",
                    "mean": "avg(reading)",
                    "most": "max(reading)",
                },
            },
            "quality": {"on_failure": "block", "max_too_late_ratio": 0.5},
        },
        overrides={key.replace("__", "."): value for key, value in overrides.items()},
    )
