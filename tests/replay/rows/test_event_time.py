"""Whether a row's times are usable: Spark matches the reference, at every edge and beyond."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Source, TimeField, TimeUnit
from spark_jobs.replay.rows import event_time
from spark_jobs.semantics.rows import event_time as rule
from spark_jobs.semantics.rows.instants import micros

pytestmark = pytest.mark.spark

DAY_MS = 86_400_000
LONGEST = 2**63 - 1
ARRIVALS = [
    None,
    -LONGEST - 1,
    rule.EARLIEST_US - 1,
    0,
    rule.ARRIVAL_CLOCK_FLOOR_US - 1,
    rule.ARRIVAL_CLOCK_FLOOR_US,
    1_700_000_000_000_000,
    rule.LATEST_US,
    rule.LATEST_US + 1,
    LONGEST,
]
EVENTS = [
    None,
    -LONGEST - 1,
    rule.EARLIEST_US - 1,
    rule.EARLIEST_US,
    -1,
    0,
    *(a + d for a in ARRIVALS[3:7] if a is not None for d in (-1, 0, 1, DAY_MS * 1000, DAY_MS * 1000 + 1)),
    rule.LATEST_US,
    rule.LATEST_US + 1,
    LONGEST,
]


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "interpreted"])
@pytest.mark.parametrize("guard_ms", [DAY_MS, 0, None])
@pytest.mark.parametrize(
    "arrival_time",
    [TimeField("arrival"), TimeField("arrival", TimeUnit.MICROSECONDS), None],
    ids=["clock", "number", "without arrival"],
)
def test_every_pair_of_times_is_judged_as_by_the_reference(
    spark: SparkSession, arrival_time: TimeField | None, guard_ms: int | None, compiled: bool
) -> None:
    pairs = list(product(EVENTS, ARRIVALS))
    declared = arrival_time is not None
    source = Source("events", TimeField("event"), arrival_time, future_guard_ms=guard_ms)
    times = (F.col("event"), F.col("arrival") if declared else None, source)
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", str(compiled).lower())
    session.conf.set("spark.sql.codegen.factoryMode", "CODEGEN_ONLY" if compiled else "NO_CODEGEN")
    rows = session.createDataFrame([(i, *pair) for i, pair in enumerate(pairs)], "number int, event long, arrival long")
    judged = rows.select(
        "number", event_time.is_valid(*times).alias("valid"), event_time.invalid_reason(*times).alias("reason")
    )
    for number, valid, reason in judged.collect():
        event, arrival = pairs[number][0], pairs[number][1] if declared else None
        expected = rule.invalid_reason(
            event,
            arrival,
            arrival_is_declared=declared,
            future_guard_ms=guard_ms,
            arrival_may_count=rule.may_count(arrival_time),
        )
        assert (reason, valid) == (expected, expected is None), pairs[number]


COLUMNS = "text string, n long, amount decimal(10, 2), at timestamp, day date, flag boolean"
TEXT, NUMBER = "a text time needs {column, format, timezone}", "a numeric time needs {column, unit: s|ms|us|ns}"
PLAIN, ANY = (
    "a TIMESTAMP is an instant, given by its name alone",
    "a time is a TIMESTAMP, a DATE, a number with a unit or",
)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (TimeField("text"), f"'text' is STRING, declared with no unit: {TEXT}"),
        (TimeField("text", unit=TimeUnit.SECONDS), f"'text' is STRING, declared with unit: s: {TEXT}"),
        (TimeField("n"), f"'n' is BIGINT, declared with no unit: {NUMBER}"),
        (TimeField("n", format="yyyy"), f"'n' is BIGINT, declared with format: yyyy: {NUMBER}"),
        (TimeField("amount"), f"'amount' is DECIMAL(10,2), declared with no unit: {NUMBER}"),
        (TimeField("at", unit=TimeUnit.MILLISECONDS), f"'at' is TIMESTAMP, declared with unit: ms: {PLAIN}"),
        (TimeField("day", format="yyyy"), f"'day' is DATE, declared with format: yyyy: {PLAIN}"),
        (TimeField("flag"), f"'flag' is BOOLEAN, declared with no unit: {ANY}"),
        (TimeField("flag", unit=TimeUnit.SECONDS), f"'flag' is BOOLEAN, declared with unit: s: {ANY}"),
    ],
)
def test_a_time_that_is_not_what_it_is_declared_to_be_is_refused(
    spark: SparkSession, field: TimeField, message: str
) -> None:
    with pytest.raises(event_time.TimeFieldError) as raised:
        event_time.micros(spark.createDataFrame([], COLUMNS), field)
    assert str(raised.value).startswith(message)


ZONES = ("Europe/Berlin", "America/New_York", "+05:30", "-18:00", "UTC")
# The clock of Berlin skips 02:30 of the first day and shows that of the second twice; New York's days are others.
LOCAL_TIMES = [
    datetime(2024, month, day, hour, 30, 1, 250)
    for month, day in ((3, 31), (10, 27), (3, 10), (11, 3), (7, 1))
    for hour in (0, 1, 2, 3, 23)
]


@pytest.mark.parametrize("zone", ZONES)
def test_local_times_are_read_in_their_zone(spark: SparkSession, zone: str) -> None:
    rows = [{"at": at, "day": at.date()} for at in LOCAL_TIMES] + [{"at": None, "day": None}]
    local = F.col("at").cast("timestamp_ntz").alias("at")
    frame = spark.createDataFrame(pa.Table.from_pylist(rows)).coalesce(1).select(local, "day")
    for name in ("at", "day"):
        field = TimeField(name, timezone=zone)
        reader = rule.TimeReader(field)
        expected = [reader.micros(row) for row in rows]
        assert [row[0] for row in frame.select(event_time.micros(frame, field)).collect()] == expected
    berlin = rule.TimeReader(TimeField("at", timezone="Europe/Berlin"))
    skipped, ambiguous = (berlin.micros({"at": datetime(2024, *day, 2, 30)}) for day in ((3, 31), (10, 27)))
    assert skipped == micros(datetime(2024, 3, 31, 1, 30, tzinfo=UTC))
    assert ambiguous == micros(datetime(2024, 10, 27, 0, 30, tzinfo=UTC))


def test_an_instant_has_no_zone(spark: SparkSession) -> None:
    rows = spark.sql("select timestamp'2024-01-01 00:00:00' as at")
    field = TimeField("at", timezone="Europe/Berlin")
    with pytest.raises(event_time.TimeFieldError, match="declared with timezone: Europe/Berlin: a TIMESTAMP is an"):
        event_time.micros(rows, field)
    with pytest.raises(rule.TimeFieldError, match="an instant has no timezone"):
        rule.TimeReader(field).micros({"at": datetime(2024, 1, 1, tzinfo=UTC)})
