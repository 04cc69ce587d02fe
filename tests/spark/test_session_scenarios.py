"""Spark gives Flink's sessions, pane for pane, on scenarios chosen over all combinations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.spark.engine import spark_replay
from tests.vectors.scenarios import Scenario, late_of, load_sessions, panes_of

pytestmark = [pytest.mark.spark, pytest.mark.soak]

SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("partition", pa.string()),
        ("key", pa.string()),
        ("ts", pa.int64()),
        ("arrival_us", pa.int64()),
        ("value", pa.float64()),
    ]
)
ALL = load_sessions()


@pytest.fixture(name="session", scope="module")
def _session(spark: SparkSession) -> Iterator[SparkSession]:
    """Spark without compiled code, which takes longer to make than a scenario of a few dozen rows takes to run."""
    told = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {name: spark.conf.get(name) for name in told}
    for name, value in told.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


def in_order(rows: list[dict[str, Any]]) -> list[Any]:
    return sorted((sorted(row.items(), key=lambda item: item[0]) for row in rows), key=str)


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.id)
def test_spark_says_what_flink_said(session: SparkSession, scenario: Scenario) -> None:
    outcome = spark_replay(session, scenario.rows[::-1], scenario.pipeline, until=scenario.until, schema=SCHEMA)
    assert panes_of(outcome) == scenario.panes
    assert late_of(outcome) == scenario.late
    assert outcome.watermarks == []
