"""Times that cannot be read: Spark gives each row the reason of the reference, and no value ends a run."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline import from_mapping
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import prepare
from spark_jobs.semantics.rows.events import Event, event_reader
from tests.sampling import sampled

pytestmark = pytest.mark.spark

LONGEST = 2**63 - 1
TEXTS = (None, "", " ", "N/A", "2024-03-31T02:30:00", "2024-03-31T02:30:00+02:00", "2024-02-30T00:00:00Z", "31.03.2024")
INTEGERS = (None, -LONGEST - 1, -LONGEST, -1001, -1000, -999, -1, 0, 999, 1_700_000_000, LONGEST - 1, LONGEST)
DOUBLES = (None, -1e30, -1e28, -1e25, -1.5, 0.0, 1.7e9, 1e12, 9e18, 1e25, 1e28, 1e29, float("nan"), float("inf"))
DECIMALS = tuple(None if text is None else Decimal(text) for text in (None, "-9" + "9" * 28, "0", "1.5", "9" * 29))


def reasons(spark: SparkSession, values: tuple[Any, ...], kind: str, declared: dict[str, str]) -> tuple[Any, Any]:
    """Return the reasons of values as event and as arrival times, by Spark and by the reference; None for a time."""
    good = "TIMESTAMP'2024-03-31 00:30:00'"
    answers = []
    for late, early in (("event_time", "arrival_time"), ("arrival_time", "event_time")):
        pipeline = from_mapping(
            {
                "name": "faults",
                "source": {"table": "/t", late: {"column": "at", **declared}, early: "good", "future_guard": "none"},
                "watermark": {"out_of_orderness": "0s"},
                "windows": {"size": "1 hour", "key": [], "aggregates": {"n": "count(*)"}},
            }
        )
        rows = spark.createDataFrame([(value,) for value in values], f"at {kind}").selectExpr("at", f"{good} AS good")
        by_spark = [row[c.REASON] for row in prepare(rows.coalesce(1), pipeline).select(c.REASON).collect()]
        reader = event_reader(pipeline)
        read = [reader.read(row.asDict()) for row in rows.coalesce(1).collect()]
        answers.append((by_spark, [None if isinstance(answer, Event) else answer for answer in read]))
    return tuple(zip(*answers, strict=True))


def test_texts(spark: SparkSession) -> None:
    by_spark, by_reference = reasons(spark, TEXTS, "string", {"format": "yyyy-MM-dd'T'HH:mm:ssXXX"})
    assert by_spark == by_reference
    assert by_spark[0] == [
        "event_time_missing",
        "event_time_empty",
        "event_time_empty",
        "event_time_unreadable",
        "event_time_without_offset",
        None,
        "event_time_unreadable",
        "event_time_unreadable",
    ]


@pytest.mark.parametrize("unit", [sampled(unit, quick=unit in ("s", "ns")) for unit in ("s", "ms", "us", "ns")])
@pytest.mark.parametrize(
    ("values", "kind"),
    [(INTEGERS, "long"), (DOUBLES, "double"), (DECIMALS, "decimal(38,9)")],
    ids=["integers", "doubles", "decimals"],
)
def test_numbers(spark: SparkSession, values: tuple[Any, ...], kind: str, unit: str) -> None:
    by_spark, by_reference = reasons(spark, values, kind, {"unit": unit})
    assert by_spark == by_reference
    assert by_spark[0][0] == "event_time_missing"


def test_a_number_of_seconds_in_milliseconds_is_named_before_or_after_the_range(spark: SparkSession) -> None:
    by_spark, _ = reasons(spark, (-(10**14), 10**15), "long", {"unit": "ms"})
    assert by_spark[0] == ["event_time_before_range", "event_time_after_range"]
