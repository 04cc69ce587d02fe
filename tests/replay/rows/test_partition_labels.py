"""The name of a source partition is its columns' values as text, and that of a declared one is written the same."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline import from_mapping
from spark_jobs.replay.rows.prepare import declared_labels, partition_label
from spark_jobs.semantics.rows.partition_labels import label

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
        labels = [row.label for row in rows.select(partition_label(columns).alias("label")).collect()]
        assert labels == [label(pair[: len(columns)]) for pair in pairs]
        assert len(set(labels)) == len(PARTS) ** len(columns)


def test_harmless_values_are_as_they_are() -> None:
    assert label(("C:\\x", "a nullable", "x\\y|"[:3])) == "C:\\x|a nullable|x\\y"
    assert label(("a|b",)) == "a|b"


@pytest.mark.parametrize("columns", LABELS)
def test_a_partition_is_named_by_all_of_its_columns(spark: SparkSession, columns: tuple[str, ...]) -> None:
    rows = spark.createDataFrame(ROWS, "site string, `shard no` int, spare boolean").coalesce(1)
    assert [row.label for row in rows.select(partition_label(columns).alias("label")).collect()] == LABELS[columns]
    by_reference = [label(row[name] for name in columns) for row in rows.collect()]
    assert by_reference == LABELS[columns]


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
