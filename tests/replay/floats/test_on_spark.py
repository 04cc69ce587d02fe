"""Compiled aggregates on Spark have the bits of the rule in plain Python, in every layout, with both engines.

Rows are grouped in pieces of several sizes and orders, so that Spark merges partial sums in many ways.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.replay.floats.array_sum import of_array
from spark_jobs.replay.floats.compiled import NAMES, compiled, measured, reads_order
from spark_jobs.replay.floats.exact_sum import Grids, Layout
from spark_jobs.replay.rows import columns as c
from spark_jobs.runtime.native_engine import COMET_ENABLED
from spark_jobs.semantics.floats.exact import exact_sum
from spark_jobs.semantics.panes.aggregates import aggregation
from spark_jobs.semantics.spec import Floats
from tests.sampling import sampled
from tests.support import history
from tests.support.doubles import FAMILIES, bits

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

GROUPS, SIZES = 12, (1, 2, 3, 50)
#: By a family of doubles: their lowest bit, and the layout that follows.
NATIVE = {
    "quarters": (-10, Layout.PLAIN),
    "prices": (-59, Layout.SPLIT),
    "small": (-79, Layout.TRIPLE),
    "specials": (-59, Layout.SPLIT),
}
#: Sums of these lie around the greatest double, and a least double decides a tie.
GREATEST = (1.7976931348623157e308, 2.0**970, 2.0**900, 2.0**880, 1.0, 2.0**-900, 2.0**-1022 * 1.25, 5e-324)
SCHEMA = f"id long, g int, x double, f float, i int, l long, t string, {c.ORDER} struct<clock_us: long, tie_0: long>"
#: By a name: what the reference computes too.
OF_REFERENCE = {
    "total": "sum(x)",
    "mean": "avg(x)",
    "of_floats": "sum(f)",
    "mean_of_floats": "avg(f)",
    "mean_of_ints": "avg(i)",
    "mean_of_longs": "avg(l)",
    "spread": "stddev(x)",
    "var": "var_pop(x)",
    "spread_of_ints": "stddev_samp(i)",
    "values": "collect_list(x)",
    "texts": "array_agg(t)",
    "first": "first(x)",
    "last": "last(t)",
    "least": "min(x)",
    "most": "max(f)",
}
#: What has to be the same in every order. Spark 4.1 fails on a WITHIN GROUP beside a DISTINCT.
OTHERS = (
    ("sum(x) / count(*)", "round(avg(x), 3) + sum(x) filter (where i > 0)", "sum(distinct x)", "avg(distinct x)"),
    ("skewness(x)", "kurtosis(x)", "corr(x, i)", "covar_pop(x, l)", "covar_samp(x, f)", "stddev(l)"),
    ("regr_slope(x, i)", "regr_intercept(x, i)", "regr_r2(x, i)", "regr_sxy(x, i)", "regr_avgx(x, i)"),
    ("first(t, true)", "last(x) ignore nulls", "first(t) filter (where i > 0)", "any_value(x)", "max_by(x, i)"),
    ("listagg(t, ',')", "string_agg(t)", "min_by(t, i)", "listagg(t, ',') within group (order by i)"),
    ("collect_set(x)", "collect_list(distinct t)", "count(distinct x)", "variance(distinct i)", "mode(i)", "mode(x)"),
    ("percentile_approx(x, 0.4)", "percentile_approx(x, array(0.1, 0.9), 10)", "median(x)", "percentile(x, 0.3)"),
    ("avg(distinct l)", "avg(distinct i)", "try_sum(l)", "`sum`(x)", "corr(distinct x, i)", "regr_avgx(distinct i, x)"),
    ("listagg(id % 5, ',')", "string_agg(x, null)", "listagg(distinct x)", "mode(x, false)", "mode(i, false)"),
    (
        "listagg(cast(t as binary), X'2c')",
        "listagg(distinct cast(t as binary))",
        "first(distinct t)",
        "std(distinct l)",
    ),
    (
        "max(struct(i, x))",
        "min(array(x))",
        "max(struct(collate(if(i > 0, 'a', 'A'), 'utf8_lcase')))",
        "max(array(struct(x as `a'b`)))",
    ),
    ("percentile_disc(0.5) within group (order by x desc)", "mode() within group (order by x)", "median(t)"),
    ("percentile_cont(0.5) within group (order by t) filter (where i > 0)", "percentile(t, 0.3)", "max(t)"),
    ("percentile_approx(t, 0.5)", "percentile_approx(x, (array(0.5)))", "percentile_approx(distinct i, array(0.1))"),
    *(
        tuple(f"{sql} filter (where i <> 0 -- no divisor\n)" for sql in calls_with_condition)
        for calls_with_condition in (
            ("sum(x / i)", "avg(x / i)", "stddev(x / i)", "avg(l div i)", "try_sum(l div i)", "max(x / i)"),
            ("first(x / i)", "last(x / i, true)", "max_by(t, x / i)", "collect_list(x / i)", "mode(x / i)"),
            ("sum(distinct x / i)", "covar_pop(x / i, l)", "percentile_approx(x / i, 0.5)", "listagg(x / i, ',')"),
        )
    ),
    ("try_sum(x)", "try_avg(x)", "sum(cast(t as double))", "avg(cast(i as decimal(20, 4)))", "sum(t)"),
)

# Spark takes long to compile moments.
SLOW = ("skewness(x)", "regr_slope(x, i)")


def drawn(family: str, seed: int) -> list[dict[str, Any]]:
    """Return rows of several groups of several sizes; `id` is the order of arrival."""
    draw = random.Random(f"{family} {seed}")
    rows = []
    for g in range(GROUPS):
        for _ in range(SIZES[g % len(SIZES)]):
            x = None if draw.random() < 0.1 else FAMILIES[family](draw)
            rows.append(
                {
                    "g": g,
                    "x": x,
                    "f": draw.randrange(-(2**20), 2**20) / 1024,
                    "i": draw.randrange(-3, 4),
                    "l": draw.choice((2**62, -(2**62), 2**53 + 1, 3, draw.getrandbits(40))),
                    "t": draw.choice((None, "1.5", "-2e3", "7", "0.1")),
                }
            )
    draw.shuffle(rows)
    return [{"id": i, **row} for i, row in enumerate(rows)]


def frame_of(spark: SparkSession, rows: Sequence[dict[str, Any]], folder: Path) -> DataFrame:
    """Return rows as a table, which both engines read."""
    tuples = [(*row.values(), (row["id"], row["id"] % 7)) for row in rows]
    path = str(folder / "rows")
    spark.createDataFrame(tuples, SCHEMA).coalesce(1).write.mode("overwrite").parquet(path)
    return spark.read.parquet(path)


def magnitude_of(rows: Sequence[dict[str, Any]]) -> float:
    """Return the sum of the magnitudes of all values that the aggregates add."""
    values = (x for row in rows for x in (row["x"] or 0.0, row["f"], 2_000.0))
    return float(sum(abs(x) for x in values if math.isfinite(x)))


def expected_of(rows: Sequence[dict[str, Any]], texts: dict[str, str], floats: Floats = Floats.EXACT) -> Any:
    """Return the values of each group by the reference."""
    groups = {g: [row for row in sorted(rows, key=lambda row: row["id"]) if row["g"] == g] for g in range(GROUPS)}
    return {g: {n: bits(aggregation(sql, floats)(of)) for n, sql in texts.items()} for g, of in groups.items()}


def computed(rows: DataFrame, texts: dict[str, str], pieces: int, *, grids: Grids, floats: str = "exact") -> Any:
    """Return the values of each group, from rows in another order and in several pieces."""
    settings = {"windows__aggregates": json.dumps(texts), "windows__floats": floats}
    pipeline = history.pipeline("t", **settings)
    doubles = ("(x)", "(cast((f) as double))", "(cast((cast(t as double)) as double))", "(cast(t as double))")
    ready = compiled(rows, pipeline, dict.fromkeys(doubles, grids))
    columns = [F.expr(a.expression).alias(a.name) for a in ready.windows.aggregates]
    moved = rows.repartition(pieces, F.hash("id", F.lit(pieces)))
    groups = moved.groupBy("g").agg(*columns).collect()
    return {row.g: {name: bits(row[name]) for name in texts} for row in groups}


def greatest(draw: random.Random) -> float:
    """Return a double whose sums are hard to round near the greatest double."""
    return draw.choice(GREATEST) * draw.choice((1, -1))


@pytest.mark.parametrize("family", [*FAMILIES, "greatest"])
def test_an_array_has_the_exact_sum(spark: SparkSession, family: str) -> None:
    draw, drawing = random.Random(family), {**FAMILIES, "greatest": greatest}[family]
    arrays = [[drawing(draw) for _ in range(n)] for n in (0, 1, 2, 3, 4, 5, 10, 100) for _ in range(8)]
    arrays += [[GREATEST[0], GREATEST[1], sign * 5e-324] for sign in (1, -1)]
    rows = spark.createDataFrame([(i, values) for i, values in enumerate(arrays)], "i int, v array<double>")
    sums = {row.i: bits(row.total) for row in rows.select("i", F.expr(of_array("v")).alias("total")).collect()}
    assert sums == {i: bits(exact_sum(values)) for i, values in enumerate(arrays)}


@pytest.mark.parametrize(
    ("family", "engine"),
    [
        sampled(family, engine, quick=place % 2 == (engine == "spark"))
        for place, family in enumerate(FAMILIES)
        for engine in ("comet", "spark")
    ],
)
def test_aggregates_have_the_bits_of_the_rule(spark: SparkSession, family: str, engine: str, tmp_path: Path) -> None:
    if engine == "spark":
        spark.conf.set(COMET_ENABLED, "false")
    rows = drawn(family, 1)
    frame = frame_of(spark, rows, tmp_path)
    wide = Grids.of(magnitude_of(rows), -1074, len(rows), are_finite=False)
    try:
        for floats in Floats:
            expected = expected_of(rows, OF_REFERENCE, floats)
            for pieces, grids in ((1, wide), (3, Grids()), (8, wide)):
                assert computed(frame, OF_REFERENCE, pieces, grids=grids, floats=floats.value) == expected
    finally:
        spark.conf.set(COMET_ENABLED, str(spark.sparkContext.getConf().get(COMET_ENABLED, "false")))


@pytest.mark.parametrize("family", NATIVE)
def test_native_layouts_have_the_bits_of_the_rule(spark: SparkSession, family: str, tmp_path: Path) -> None:
    rows = drawn(family, 2)
    frame = frame_of(spark, rows, tmp_path)
    texts = {name: OF_REFERENCE[name] for name in ("total", "mean", "spread")}
    lowest_bit, layout = NATIVE[family]
    grids = Grids.of(magnitude_of(rows), lowest_bit, len(rows), are_finite=family != "specials")
    assert grids.layout is layout
    expected = expected_of(rows, texts)
    assert [computed(frame, texts, pieces, grids=grids) for pieces in (1, 8)] == [expected] * 2


@pytest.mark.parametrize("family", ["edges", sampled("specials", quick=False)])
@pytest.mark.parametrize(
    "sql", [sampled(sql, quick=i % 8 == 3 and sql[0] not in SLOW, id=sql[0]) for i, sql in enumerate(OTHERS)]
)
def test_every_other_aggregate_has_one_value(
    spark: SparkSession, sql: tuple[str, ...], family: str, tmp_path: Path
) -> None:
    texts, rows = {f"a{i}": text for i, text in enumerate(sql)}, drawn(family, 3)
    for floats in Floats:
        frames = [frame_of(spark, placed, tmp_path / str(i)) for i, placed in enumerate((rows, rows[::-1]))]
        ways = [(frame, pieces) for frame in frames for pieces in (1, 3)]
        first, *more = (computed(frame, texts, n, grids=Grids(), floats=floats.value) for frame, n in ways)
        differing = {texts[n] for other in more for g in first for n in texts if other[g][n] != first[g][n]}
        assert differing == set()


@pytest.mark.parametrize("sql", [text for sql in OTHERS for text in sql])
def test_a_compiled_aggregate_has_the_type_of_sparks_own(spark: SparkSession, sql: str) -> None:
    rows = spark.createDataFrame([], SCHEMA)
    pipeline = history.pipeline("t", windows__aggregates=json.dumps({"a": sql}))
    ready = compiled(rows, pipeline, {})
    own, other = (rows.groupBy().agg(F.expr(p.windows.aggregates[0].expression)) for p in (pipeline, ready))
    assert other.schema[0].dataType == own.schema[0].dataType


#: Calls over `ROWS`, and their values.
VALUES = {
    "avg(distinct l)": float(12 * 1700000000000001 + 977 * 66) / 12,
    "try_sum(big)": 2**63 - 1,
    "try_sum(greater)": None,
    "try_sum(distinct big)": 2**63 - 1,
    "percentile_approx(t, 0.9)": 10.0,
    "median(t)": 5.5,
    "percentile_approx(i, (array(0.5)))": [5],
    "listagg(i, '-') filter (where i < 4)": "0-1-2-3",
    "listagg(cast(t as binary), X'2d') filter (where i < 4)": bytearray(b"0-1-2-3"),
    "listagg(i) filter (where i > 99)": None,
    "mode(i % 5, false)": 0,
    "corr(distinct i, -i)": -1.0,
    "sum(1 / i) filter (where i between 1 and 2 -- few\n)": 1.5,
    "`sum`(distinct i / 2)": 33.0,
    "percentile_disc(0.5) within group (order by i desc) filter (where i > 8)": 10.0,
}
ROWS = (
    "cast(id as int) as i",
    "cast(id as string) as t",
    "1700000000000001 + 977 * id as l",
    "array(9223372036854775807, 1, -1)[cast(id as int) % 3] * if(id < 3, 1, 0) as big",
    "if(id < 2, 4611686018427387904, 0) as greater",
    f"named_struct('clock_us', id) as {c.ORDER}",
)


def test_calls_have_the_values_of_their_rule(spark: SparkSession) -> None:
    rows = spark.range(12).selectExpr(*ROWS)
    texts = {f"a{n}": text for n, text in enumerate(VALUES)}
    ready = compiled(rows, history.pipeline("t", windows__aggregates=json.dumps(texts)), {})
    (row,) = rows.agg(*(F.expr(a.expression).alias(a.name) for a in ready.windows.aggregates)).collect()
    assert {text: row[name] for name, text in texts.items()} == VALUES


def test_all_names_are_in_lower_case() -> None:
    assert {name.lower() for name in NAMES} == set(NAMES)


def reading(texts: dict[str, str], **settings: str) -> bool:
    """Return whether aggregates read the position of rows."""
    return reads_order(history.pipeline("t", windows__aggregates=json.dumps(texts), **settings))


def test_only_functions_of_the_order_read_it() -> None:
    assert not reading({"a": "sum(x)", "b": "stddev(x)", "c": "percentile_approx(x, 0.5)", "d": "max(x)"})
    assert reading({"a": "count(*)", "b": "1 + size(collect_list(x))"})
    assert reading({"a": "sum(x)"}, windows__floats="arrival_order")
    assert not reading({"a": "max(x)"}, windows__floats="arrival_order")


def test_each_value_is_measured_once(spark: SparkSession) -> None:
    rows = spark.createDataFrame([], SCHEMA)
    texts = {
        "total": "sum(x)",
        "mean": "avg( x )",
        "spread": "stddev(x)",
        "floats": "sum(f) / count(*)",
        "ints": "sum(i)",
        "other": "sum(distinct x)",
        "at_end": "sum(x * unix_seconds(window_end))",
        "some": "sum(x) filter (where i > 0)",
        "of_window": "sum(x) filter (where window_end > timestamp'2024-01-01')",
    }
    pipeline = history.pipeline("t", windows__aggregates=json.dumps(texts))
    assert [(value.value, value.is_narrow) for value in measured(rows, pipeline)] == [
        ("(x)", False),
        ("(cast((f) as double))", True),
        ("(case when (i > 0) then (x) end)", False),
    ]
    assert (
        measured(rows, history.pipeline("t", windows__aggregates="{a: sum(x)}", windows__floats="arrival_order")) == []
    )
