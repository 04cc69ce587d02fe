"""The name of a source partition is its columns' values as text, and that of a declared one is written the same."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline import from_mapping
from spark_jobs.replay.rows.prepare import declared_labels, partition_label
from spark_jobs.semantics.rows.partition_labels import PartitionTypeError, label, of_row

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

ROWS = [("north", 1, True), ("north", None, None), (None, None, False), ("a|b", 2, True), ("null", 3, True)]
LABELS = {
    (): ["", "", "", "", ""],
    ("site",): ["north", "north", "null", "a|b", "\\null"],
    ("site", "shard no"): ["north|1", "north|null", "null|null", "a\\|b|2", "\\null|3"],
    ("shard no", "site"): ["1|north", "null|north", "null|null", "2|a\\|b", "3|\\null"],
    ("spare",): ["true", "null", "false", "true", "true"],
}
PARTS = (
    *(None, "null", "\\null", "\\\\null", "null\n", "NULL", "a", "", "\\", "a\\", "\\a"),
    *("a|", "|a", "|", "||", "\\|", "\\\\|\\"),
)


def test_different_partitions_have_different_labels_everywhere(spark: SparkSession) -> None:
    pairs = [(first, second) for first in PARTS for second in PARTS]
    rows = spark.createDataFrame(pairs, "site string, shard string").coalesce(1)
    for columns in (("site", "shard"), ("site",)):
        labels = [row.label for row in rows.select(partition_label(rows, columns).alias("label")).collect()]
        assert labels == [label(pair[: len(columns)]) for pair in pairs]
        assert len(set(labels)) == len(PARTS) ** len(columns)


def test_harmless_values_are_as_they_are() -> None:
    assert label(("C:\\x", "a nullable", "x\\y|"[:3])) == "C:\\x|a nullable|x\\y"
    assert label(("a|b",)) == "a|b"


@pytest.mark.parametrize("columns", LABELS)
def test_a_partition_is_named_by_all_of_its_columns(spark: SparkSession, columns: tuple[str, ...]) -> None:
    rows = spark.createDataFrame(ROWS, "site string, `shard no` int, spare boolean").coalesce(1)
    labels = rows.select(partition_label(rows, columns).alias("label")).collect()
    assert [row.label for row in labels] == LABELS[columns]
    by_reference = [label(row[name] for name in columns) for row in rows.collect()]
    assert by_reference == LABELS[columns]


TYPED = {
    "tiny": ("tinyint", [-7, 0]),
    "exact": ("decimal(20, 8)", [Decimal("0.00000001"), Decimal("-12345678.50000000")]),
    "yes": ("boolean", [True, False]),
    "day": ("date", [date(987, 12, 31), date(2024, 3, 1)]),
    "instant": ("timestamp", [datetime(2024, 3, 31, 1, 30, 0, 250_000, tzinfo=UTC), datetime(2, 1, 1, tzinfo=UTC)]),
    "local": ("timestamp_ntz", [datetime(2024, 3, 31, 2, 30), datetime(9998, 12, 31, 23, 59, 59, 999_999)]),
}


def test_values_of_every_type_have_one_text_in_any_zone_of_the_session(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    ddl = ", ".join(f"{name} {kind}" for name, (kind, _) in TYPED.items())
    values = [*zip(*(values for _, values in TYPED.values()), strict=True), (None,) * len(TYPED)]
    rows = session.createDataFrame(values, ddl).coalesce(1)
    labels = rows.select(*(partition_label(rows, (name,)).alias(name) for name in TYPED)).collect()
    by_reference = [tuple(of_row([(name, value)]) for name, value in zip(TYPED, row, strict=True)) for row in values]
    assert list(map(tuple, labels)) == by_reference


@pytest.mark.parametrize("kind", ["double", "float", "binary", "array<int>", "struct<a: int>", "interval day"])
def test_a_type_without_a_clear_text_names_no_partition(spark: SparkSession, kind: str) -> None:
    rows = spark.createDataFrame([], f"device {kind}")
    with pytest.raises(PartitionTypeError, match=r"'device' is .*: a source partition is named by texts"):
        partition_label(rows, ("device",))


def test_declared_partitions_are_named_as_their_rows_are() -> None:
    pipeline = from_mapping(
        {
            "name": "p",
            "source": {
                "table": "t",
                "event_time": "at",
                "arrival_time": "known_at",
                "source_partition": {
                    "columns": ["site", "shard"],
                    "declared": [["north", 1], ["null", True], ["1.50", 1.5]],
                },
            },
            "watermark": {"out_of_orderness": "1s"},
            "windows": {"size": "1s", "key": [], "aggregates": {"n": "count(*)"}},
        }
    )
    assert declared_labels(pipeline) == ["north|1", "\\null|true", "1.50|1.5"]
