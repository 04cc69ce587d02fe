"""Source partitions: who exists when, and the minimum over them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.rows.partition_labels import PartitionTypeError, label, of_row
from spark_jobs.semantics.watermark.generators import BoundedOutOfOrderness
from spark_jobs.semantics.watermark.multiplexer import WatermarkMerge
from spark_jobs.semantics.watermark.source_partitions import SourcePartitions
from tests.support.outputs import Output


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((), ""),
        (("EWR",), "EWR"),
        ((None,), "null"),
        ((7,), "7"),
        ((True,), "true"),
        (("EWR", None, 3), "EWR|null|3"),
        ((Decimal("1.50"),), "1.50"),
        ((Decimal("0E-8"),), "0.00000000"),
        ((date(2024, 3, 1),), "2024-03-01"),
        ((datetime(2024, 3, 1, 6, 30),), "2024-03-01 06:30:00"),
        ((datetime(2024, 3, 1, 6, 30, 0, 250_000, tzinfo=UTC),), "2024-03-01 06:30:00.25"),
        ((datetime(2024, 3, 1, 0, 30, tzinfo=timezone(timedelta(hours=2))),), "2024-02-29 22:30:00"),
    ],
)
def test_label(values: tuple[object, ...], text: str) -> None:
    assert label(values) == text


@pytest.mark.parametrize("value", [1.5, float("nan"), b"a", [1], {"a": 1}, timedelta(1)])
def test_a_value_without_a_clear_text_names_no_partition(value: Any) -> None:
    with pytest.raises(PartitionTypeError, match=r"'site' gave .*: a source partition is named by"):
        of_row([("site", value)])
    assert of_row([("site", None), ("shard", 2)]) == "null|2"


def partitions(*declared: str) -> tuple[SourcePartitions, Output]:
    forwarded = Output()
    sources = SourcePartitions(lambda: BoundedOutOfOrderness(0), declared=declared, output=forwarded)
    return sources, forwarded


def test_declared_partition_without_rows_holds_the_watermark_back() -> None:
    sources, forwarded = partitions("a", "silent")
    sources.on_event("a", {}, 100)
    sources.on_periodic_emit()
    assert forwarded == []
    assert sources.watermarks == {"a": 99, "silent": MIN}


def test_a_partition_that_joins_with_its_first_row_holds_nothing_back_before() -> None:
    sources, forwarded = partitions()
    sources.on_event("a", {}, 100)
    sources.on_periodic_emit()
    assert forwarded == [99]
    assert sources.watermarks == {"a": 99}


def test_a_latecomer_stalls_the_watermark_until_it_has_passed_it() -> None:
    sources, forwarded = partitions()
    sources.on_event("a", {}, 100)
    sources.on_periodic_emit()
    sources.on_event("b", {}, 50)
    sources.on_event("a", {}, 200)
    sources.on_periodic_emit()
    assert forwarded == [99]
    sources.on_event("b", {}, 150)
    sources.on_periodic_emit()
    assert forwarded == [99, 149]


def test_the_same_minimum_again_is_not_news() -> None:
    sources, forwarded = partitions()
    sources.on_event("a", {}, 100)
    sources.on_periodic_emit()
    sources.on_event("a", {}, 90)
    sources.on_periodic_emit()
    assert forwarded == [99]


def test_rows_alone_forward_nothing() -> None:
    sources, forwarded = partitions()
    sources.on_event("a", {}, 100)
    assert forwarded == []


def test_no_watermark_without_partitions() -> None:
    sources, forwarded = partitions()
    sources.on_periodic_emit()
    assert forwarded == []


def test_a_partitions_own_watermark_never_falls() -> None:
    forwarded = Output()
    merge = WatermarkMerge(forwarded)
    for partition, watermark in (("a", 5), ("b", 4)):
        merge.register(partition)
        merge.deferred(partition).emit_watermark(watermark)
    merge.deferred("a").emit_watermark(2)
    assert merge.partitions == {"a": 5, "b": 4}
    merge.on_periodic_emit()
    assert forwarded == [4]


def test_an_immediate_watermark_that_its_partition_had_already_waits_for_the_emission() -> None:
    forwarded = Output()
    merge = WatermarkMerge(forwarded)
    merge.register("a")
    merge.deferred("a").emit_watermark(5)
    merge.immediate("a").emit_watermark(5)
    assert forwarded == []
    merge.on_periodic_emit()
    assert forwarded == [5]


def test_an_immediate_watermark_at_or_below_the_combined_one_changes_nothing() -> None:
    forwarded = Output()
    merge = WatermarkMerge(forwarded)
    merge.register("a")
    merge.immediate("a").emit_watermark(10)
    merge.register("b")
    merge.deferred("a").emit_watermark(30)
    merge.immediate("b").emit_watermark(10)
    assert forwarded == [10]
    merge.immediate("b").emit_watermark(11)
    assert forwarded == [10, 11]
