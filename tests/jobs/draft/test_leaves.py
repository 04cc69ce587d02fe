"""Leaves: columns and fields of structs, their expressions, and what has no single value a row."""

from __future__ import annotations

import pytest
from pyspark.sql import types as T

from spark_jobs.jobs.draft.leaves import MOST_LEAVES, Leaf, leaves, most_likely

_SCHEMA = (
    T.StructType()
    .add("ts", T.LongType())
    .add("event time", T.StringType())
    .add("payload", T.StructType().add("a.b", T.StringType()).add("deep", T.StructType().add("at", T.TimestampType())))
    .add("scans", T.ArrayType(T.StructType().add("scanTime", T.TimestampType())))
    .add("tags", T.MapType(T.StringType(), T.StringType()))
    .add("__tm_x", T.IntegerType())
)


def test_fields_of_structs_are_leaves_and_odd_names_are_quoted() -> None:
    every, _ = leaves(_SCHEMA)
    assert [leaf.expression for leaf in every] == ["ts", "`event time`", "payload.`a.b`", "payload.deep.at"]


def test_arrays_maps_and_reserved_names_are_left_out_with_the_reason() -> None:
    _, left_out = leaves(_SCHEMA)
    assert left_out.keys() == {"scans.scanTime", "tags", "__tm_x"}
    assert "an array" in left_out["scans.scanTime"]
    assert "a map" in left_out["tags"]
    assert "reserved" in left_out["__tm_x"]


@pytest.mark.parametrize(
    ("name", "expression"), [("on", "on"), ("null", "`null`"), ("Gerät_Nr", "`Gerät_Nr`"), ("a`b", "`a``b`")]
)
def test_words_that_sql_reads_otherwise_are_quoted(name: str, expression: str) -> None:
    assert Leaf((name,), T.StringType()).expression == expression


@pytest.mark.parametrize(
    ("path", "is_clock"),
    [(("eventTs",), True), (("meta", "received_ms"), True), (("cats",), False), (("amount",), False)],
)
def test_names_of_clocks(path: tuple[str, ...], is_clock: bool) -> None:
    assert Leaf(path, T.LongType()).is_called_a_clock is is_clock


def test_a_wide_table_keeps_its_times_and_what_the_user_requested() -> None:
    texts = [Leaf((f"text_{n}",), T.StringType()) for n in range(1_000)]
    numbers = [Leaf((f"number_{n}",), T.LongType()) for n in range(1_000)]
    last = [Leaf(("created",), T.TimestampType()), Leaf(("ts",), T.LongType())]
    chosen, sentence = most_likely([*texts, *numbers, *last], {"number_999": "--key"})
    assert len(chosen) == MOST_LEAVES
    assert {*last, numbers[999]} <= {*chosen}
    assert sentence is not None
    assert "2,002 columns" in sentence
    assert most_likely(last, {}) == (last, None)
