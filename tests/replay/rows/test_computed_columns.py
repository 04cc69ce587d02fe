"""Computed columns are columns everywhere: Spark gives what the reference gives."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.semantics import reference
from tests.sampling import sampled
from tests.support import history
from tests.support.engine import assert_same_tables, spark_replay

pytestmark = pytest.mark.spark

ROWS = [
    {
        "id": row["id"],
        "payload": {"device": row["device"], "happened": row["happened_at"], "Ort 1": {"site": row["site"]}},
        "stored_at": row["stored_at"],
        "reading": row["reading"],
    }
    for row in history.events(300)
]
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        (
            "payload",
            pa.struct(
                [
                    ("device", pa.string()),
                    ("happened", pa.timestamp("us", "UTC")),
                    ("Ort 1", pa.struct([("site", pa.string())])),
                ]
            ),
        ),
        ("stored_at", pa.timestamp("us", "UTC")),
        ("reading", pa.float64()),
    ]
)


def pipeline(**source: Any) -> Pipeline:
    return history.pipeline(
        "rows",
        source__columns="{at: payload.happened, site: payload.`Ort 1`.site, back: 0 - id, low: reading < 10}",
        source__event_time="at",
        source__tie_break="[back]",
        source__where="low or site = 'north'",
        windows__key="{device: \"coalesce(payload.device, 'none')\"}",
        windows__aggregates="{readings: count(*), least: min(back)}",
        **source,
    )


@pytest.mark.parametrize(
    "more",
    [{}, *(sampled(more, quick=False) for more in ({"watermark__emit": "per_event"}, {"windows__kind": "sliding"}))],
)
def test_computed_columns_are_columns_everywhere(session: SparkSession, more: dict[str, str]) -> None:
    sliding = {"windows__slide": "5 minutes"} if more.get("windows__kind") else {}
    declared = pipeline(**more, **sliding)
    expected = reference.replay(ROWS, declared)
    assert {row["device"] for row in expected.panes} == {"a", "b", "c", "none"}
    assert {row["device"] for row in expected.late_events} | {row["site"] for row in expected.invalid_events}
    assert_same_tables(spark_replay(session, ROWS, declared, schema=SCHEMA), expected)


def test_sources_compute_their_own_columns(session: SparkSession) -> None:
    common = {"event_time": "happened_at", "arrival_time": "stored_at", "tie_break": ["id"]}
    watermark = {"out_of_orderness": "10 s"}
    sources = [
        {"name": "north", "table": "a", **common, "columns": {"place": "site || '!'"}, "watermark": watermark},
        {"name": "rest", "table": "b", **common, "columns": {"other": "lower(device)"}, "watermark": watermark},
    ]
    windows = {"size": "10 minutes", "key": {"kind": "coalesce(site, 'x')"}, "aggregates": {"n": "count(place)"}}
    united = from_mapping({"name": "p", "sources": sources, "windows": windows})
    rows = [{**row, "source": "north" if row["site"] == "north" else "rest"} for row in history.events(200)]
    expected = reference.replay(rows, united)
    assert 0 < sum(row["n"] for row in expected.panes) < len(rows)
    schema = pa.schema([*history.SCHEMA, ("source", pa.string())])
    assert_same_tables(spark_replay(session, rows, united, schema=schema), expected)


def test_the_reference_refuses_a_name_of_the_table_and_takes_functions() -> None:
    declared = history.pipeline("rows", source__columns="{half: reading / 2}")
    halves = reference.replay(
        history.events(50), declared, columns={"half": lambda row: row["reading"] and row["reading"] / 2}
    )
    assert all("half" in row for row in halves.invalid_events)
    with pytest.raises(ValueError, match="found the name 'half'"):
        reference.replay([{**row, "HALF": 1} for row in history.events(50)], declared, columns={"half": len})
