"""The difference of two bags of rows: rows that are identical cancel, and only these."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.plan import row_difference as module
from spark_jobs.jobs.plan.row_difference import row_difference, surplus
from spark_jobs.replay.watermark.changed_census import CHANGE

pytestmark = pytest.mark.spark

COLUMNS = "number int, text string, value double, amount decimal(20, 3), raw binary, at timestamp"


@pytest.fixture(name="in_two_passes", params=[True, False], ids=["two passes", "one pass"])
def _in_two_passes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    is_many: bool = request.param
    monkeypatch.setattr(module, "_WORTH_A_PASS", 0 if is_many else 2**70)
    return is_many


@pytest.fixture(name="grouped")
def _grouped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows that were grouped by their values."""
    counts: list[int] = []
    group = module._grouped

    def counting(rows: DataFrame, keys: Any) -> DataFrame:
        counts.append(rows.count())
        return group(rows, keys)

    monkeypatch.setattr(module, "_grouped", counting)
    return counts


def bags(spark: SparkSession, added: list[tuple[Any, ...]], removed: list[tuple[Any, ...]], ddl: str) -> DataFrame:
    signed = [(rows, sign) for rows, sign in ((added, 1), (removed, -1))]
    frames = [spark.createDataFrame(rows, ddl).withColumn(CHANGE, F.lit(sign)) for rows, sign in signed]
    return frames[0].unionByName(frames[1])


def difference(spark: SparkSession, added: list[tuple[Any, ...]], removed: list[tuple[Any, ...]], ddl: str) -> Any:
    rows = bags(spark, added, removed, ddl)
    names = [name for name in rows.columns if name != CHANGE]
    changed = row_difference(rows, names).collect()
    return sorted((tuple(repr(row[name]) for name in names), row[CHANGE]) for row in changed)


def drawn(draw: random.Random) -> tuple[Any, ...]:
    values: tuple[Any, ...] = (draw.randrange(3), draw.choice("ab"), draw.choice([0.5, float("nan"), 0.0, -0.0]))
    values = tuple(None if draw.random() < 0.2 else value for value in values)
    return (*values, None, bytearray(b"x") if draw.random() < 0.5 else None, None)


@pytest.mark.usefixtures("in_two_passes")
@pytest.mark.parametrize("seed", range(3))
def test_rows_differ_by_their_numbers(session: SparkSession, seed: int) -> None:
    draw = random.Random(seed)
    common = [drawn(draw) for _ in range(60)]
    added, removed = ([drawn(draw) for _ in range(6)] for _ in range(2))
    expected = Counter(map(repr, map(tuple, added)))
    expected.subtract(Counter(map(repr, map(tuple, removed))))
    rows = difference(session, common + added, removed + common, COLUMNS)
    assert sorted(change for _, change in rows) == sorted(count for count in expected.values() if count)


@pytest.mark.parametrize(
    ("ddl", "before", "after"),
    [
        ("a double", (0.0,), (-0.0,)),
        ("a array<double>", ([0.0],), ([-0.0],)),
        ("a string collate UTF8_LCASE", ("a",), ("A",)),
        ("a struct<b: string collate UTF8_LCASE>", (("a",),), (("A",),)),
        ("a int, b int", (1, None), (None, 1)),
        ("a array<int>", ([1, None],), ([None, 1],)),
        ("a array<string>", (["a, b"],), (["a", "b"],)),
        ("a map<string, int>", ({"a": 1},), ({"a": 2},)),
    ],
)
def test_rows_that_look_alike_differ(
    session: SparkSession, in_two_passes: bool, ddl: str, before: tuple[Any, ...], after: tuple[Any, ...]
) -> None:
    changes = [change for _, change in difference(session, [after, before, before], [before, before, before], ddl)]
    assert sorted(changes) == [-1, 1]


def test_rows_of_both_bags_are_not_grouped(session: SparkSession, in_two_passes: bool, grouped: list[int]) -> None:
    rows = [(number, "a", number / 8, None, None, None) for number in range(2_000)]
    mended = [(7, "b", *rows[7][2:]), *rows[:7], *rows[8:]]
    assert [change for _, change in difference(session, mended, rows, COLUMNS)] == [-1, 1]
    assert (grouped[0] < 200) == in_two_passes
    assert difference(session, rows[::-1], rows, COLUMNS) == []
    assert (grouped[1] == 0) == in_two_passes


def test_the_surplus_has_each_row_as_often_as_it_is_missing(session: SparkSession) -> None:
    ddl = "a map<string, double>, `b c` string"
    rows = session.createDataFrame([({"x": 0.0}, "1"), ({"x": 0.0}, "1"), ({"x": -0.0}, "1"), (None, None)], ddl)
    other = session.createDataFrame([({"x": 0.0}, "1"), ({"y": 1.0}, "2")], ddl)
    assert sorted(map(str, surplus(rows, other).collect())) == sorted(map(str, rows.collect()[1:]))
    assert surplus(rows, other).schema == rows.schema
