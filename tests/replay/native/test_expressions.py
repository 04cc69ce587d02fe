"""Expressions of users have the same values with the native engine as with Spark alone, at the edges of every type."""

from __future__ import annotations

import math
import random
import struct
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.runtime.native_engine import COMET_ENABLED
from tests.sampling import sampled

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("comet")]

HERE = Path(__file__).parent
ROWS = 600
PER_QUERY = 24
# Fewer: a count of distinct values beside a sum of doubles changes the order of the sum.
AGGREGATES_PER_QUERY = 4
SCHEMA = (
    "id long, g int, s string, s2 string, d double, d2 double, f float, l long, l2 long, i int, y tinyint, "
    "t timestamp, t2 timestamp, dt date, c decimal(10,2), c2 decimal(10,2), b boolean, x binary, a array<long>, "
    "m map<string,long>"
)
STRINGS = [
    *("", "a", "A", "É", "ß", "İ", "ǆ", "\ufb01", "  a ", "\u00a0x\u00a0", "NaN", "-0", "1e400", "0x1", "\uff11", "+1"),
    *("2024-02-30", "2024-02-29", "2024-2-9 1:2:3", "2024-02-29T23:59:59.999999Z", "2024-02-29 01:02:03 Europe/Paris"),
    *(" 12 ", "12.5", "-12.5e1", "true", "t", "yes", "Infinity", "-inf", "1d", "1f", "\U0001d518x", "a\nb", "\t1\n"),
    *("%", "_", "a%b", '{"a": 1.50}', '{"a":null}', "{'a':1}", "[1,2]", "a,b,c", "日本語", "e\u0301", "1e3", "1."),
    *("9223372036854775808", "-9223372036854775808", "0.1", "aab", "abcabc", ".*", "\\d+", "Σας", "ŉ", "\u200bz"),
    *("hello world", "o'neil x-ray", "1900-01-01"),
]
DOUBLES = [
    *(0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, 0.1, 0.3, 1.5, 2.5, -2.5, 3.5, 1e15),
    *(1e16, 1e17, 123456789.123456789, 1e-7, 1e-5, 1e7, 9.999999e6, 1 / 3, 2 / 3, -7.0, 100.0, 1e22, 4.35, 2.675),
    *(1.005, 0.5, -0.5, 9007199254740993.0, -1e19),
]
LONGS = [
    *(0, 1, -1, 2, 3, 7, -7, 10, 127, 128, 255, 32767, -32768, 2**31 - 1, -(2**31), 2**32, 2**63 - 1, -(2**63)),
    *(1_700_000_000, 1_700_000_000_000, 86_399_999, 86_400_000, -86_400_001),
]
TIMES = [
    *(datetime(1900, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(1970, 1, 1), datetime(2024, 12, 30)),
    *(datetime(2024, 2, 29, 23, 59, 59, 999_999), datetime(2021, 1, 3, 12, 30, 15, 1), datetime(2038, 1, 19, 3, 14, 8)),
]
DECIMALS = [
    Decimal(text)
    for text in ("0", "-0.01", "1.01", "99999999.99", "-99999999.99", "12.34", "-12.35", "3.33", "0.10", "0.05")
]


def value_at(number: int, values: list[Any]) -> Any:
    """Return the values in turn, and a null behind them."""
    return [*values, None][number % (len(values) + 1)]


def edge_rows() -> list[tuple[Any, ...]]:
    """Return rows with every value of each type, and pairs of values at random."""
    draw = random.Random(1)
    return [edge_row(number, draw) for number in range(ROWS)]


def edge_row(number: int, draw: random.Random) -> tuple[Any, ...]:
    text, real, time = (value_at(number, values) for values in (STRINGS, DOUBLES, TIMES))
    single = real if real is None or not math.isfinite(real) else max(-3e38, min(3e38, real))
    return (
        *(number, number % 5, text, draw.choice(STRINGS), real, draw.choice(DOUBLES)),
        None if single is None else struct.unpack("f", struct.pack("f", single))[0],
        *(value_at(number, LONGS), draw.choice(LONGS)),
        *(draw.choice([0, 1, -1, 5, 100, None, 2**31 - 1, -(2**31)]), draw.choice([None, 0, -128, 127, 5])),
        *(time, draw.choice(TIMES), None if number % 7 == 0 else (time.date() if time else date(2024, 1, 1))),
        *(value_at(number, DECIMALS), draw.choice(DECIMALS), draw.choice([True, False, None])),
        None if text is None else text.encode(),
        None if number % 9 == 0 else [draw.choice(LONGS) for _ in range(number % 4)],
        None if number % 8 == 0 else {key: draw.choice(LONGS) for key in "ab"[: number % 3]},
    )


@pytest.fixture(name="edges", scope="module")
def _edges(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path = str(tmp_path_factory.mktemp("edges") / "rows")
    spark.createDataFrame(edge_rows(), SCHEMA).coalesce(1).write.parquet(path)
    return spark.read.parquet(path)


def expressions(name: str, size: int) -> list[Any]:
    """Return the expressions of a file in batches of a size; `make test` runs the first."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    batches = {start: tuple(lines[start : start + size]) for start in range(0, len(lines), size)}
    return [sampled(batch, quick=start == 0, id=f"from line {start + 1}") for start, batch in batches.items()]


def different(frame: DataFrame, names: tuple[str, ...]) -> list[str]:
    """Return the expressions whose values are not the same with the native engine."""
    session = frame.sparkSession
    assert "Comet" in str(frame._jdf.queryExecution().executedPlan().toString())
    natively = sorted(frame.collect())
    before = session.conf.get(COMET_ENABLED)
    session.conf.set(COMET_ENABLED, "false")
    # A frame keeps its plan; another one is planned anew.
    alone = sorted(frame.select("*").collect())
    session.conf.set(COMET_ENABLED, str(before))
    columns = zip(("key", *names), zip(*natively, strict=True), zip(*alone, strict=True), strict=True)
    return [name for name, native, spark in columns if repr(native) != repr(spark)]


@pytest.mark.parametrize("batch", expressions("expressions.txt", PER_QUERY))
def test_expressions_have_the_values_of_spark(edges: DataFrame, batch: tuple[str, ...]) -> None:
    values = [F.expr(text).alias(f"v{number}") for number, text in enumerate(batch)]
    assert different(edges.select("id", *values), batch) == []


@pytest.mark.parametrize(
    "text",
    [
        "from_utc_timestamp(t, 'Europe/Paris')",
        "to_utc_timestamp(t, 'Europe/Paris')",
        "convert_timezone('Europe/Paris', 'UTC', cast(t AS timestamp_ntz))",
        "try_to_timestamp(s, 'yyyy-MM-dd VV')",
        "unix_timestamp(s)",
        "to_unix_timestamp(s, 'yyyy')",
        "make_timestamp(2024, 3, 1, 12, 0, 0.5, s)",
    ],
)
def test_time_zones_are_left_to_spark(edges: DataFrame, text: str) -> None:
    """Comet has another database of time zones than Java, and where both agree today no value shows it."""
    plan = str(edges.select(F.expr(text))._jdf.queryExecution().executedPlan().toString())
    assert "Comet" in plan
    assert "CometProject" not in plan


@pytest.mark.parametrize("batch", expressions("aggregates.txt", AGGREGATES_PER_QUERY))
def test_aggregates_have_the_values_of_spark(edges: DataFrame, batch: tuple[str, ...]) -> None:
    values = [F.expr(text).alias(f"v{number}") for number, text in enumerate(batch)]
    assert different(edges.groupBy("g").agg(*values), batch) == []


KEYS = ("s", "d", "f", "l", "t", "dt", "c", "b", "y", "x", "struct(d, s)", "a", "upper(s)")


@pytest.mark.parametrize("key", [sampled(key, quick=key == "d") for key in KEYS])
def test_groups_joins_and_orders_are_those_of_spark(edges: DataFrame, key: str) -> None:
    grouped = edges.groupBy(F.expr(key).alias("k")).agg(F.min("id").alias("id"), F.count("*").alias("rows"))
    assert different(grouped.select("id", "k", "rows"), ("k", "rows")) == []
    left = edges.selectExpr("id", f"{key} AS k")
    pairs = (
        left.join(edges.where("id < 100").selectExpr("id AS id2", f"{key} AS k"), "k").groupBy("id").agg(F.sum("id2"))
    )
    assert different(pairs, ("pairs",)) == []
    order = f"OVER (PARTITION BY g ORDER BY {key}, id)"
    places = edges.selectExpr("id", f"row_number() {order}", f"sum(i) {order}", f"max(d) {order}", f"lag(s) {order}")
    assert different(places, ("row_number", "sum", "max", "lag")) == []
