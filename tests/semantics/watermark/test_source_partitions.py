"""Source partitions: who exists when, and the minimum over them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.rows.partition_labels import label
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
    ],
)
def test_label(values: tuple[object, ...], text: str) -> None:
    assert label(values) == text


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
