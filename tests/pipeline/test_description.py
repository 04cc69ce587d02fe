"""The description of a pipeline names its windows or join, and what decides on lateness."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.pipeline.description import describe
from spark_jobs.pipeline.model import (
    Accumulation,
    AsOf,
    Join,
    LateData,
    Mode,
    Pipeline,
    ReplayOrder,
    Source,
    SourcePartition,
    Strategy,
    TimeField,
    Trigger,
    TriggerKind,
    UnitedSource,
    Watermark,
    WindowKind,
    Windows,
)

MINUTE, HOUR = 60_000, 3_600_000
FLIGHTS = Source("/lake/flights", TimeField("departed_at"), source_partition=SourcePartition(("origin",)))
HOURLY = Windows(HOUR, key=("carrier",), allowed_lateness_ms=2 * HOUR)
PIPELINE = Pipeline("departures", FLIGHTS, HOURLY, Watermark(out_of_orderness_ms=4 * HOUR))
ORDERS = Join(("orders", "payments"), (("id", "site"), ("order_id", "site")), -5 * MINUTE, HOUR, upper_inclusive=False)


def test_the_line_names_windows_watermark_lateness_and_partitions() -> None:
    line = (
        "Tumbling windows of 1 hour per carrier; bound 4 hours, allowed lateness 2 hours; 3 source partitions by origin"
    )
    assert describe(PIPELINE, 3) == line
    assert describe(PIPELINE) == line.replace("3 source", "source")
    assert describe(PIPELINE, 1).endswith("; 1 source partition by origin")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"key": ()}, "Tumbling windows of 1 hour over all rows"),
        ({"key": ("a", "b", "c")}, "per a, b and c"),
        ({"offset_ms": 6 * HOUR}, "Tumbling windows of 1 hour that begin 6 hours after midnight UTC per carrier"),
        ({"kind": WindowKind.SLIDING, "slide_ms": 15 * MINUTE}, "Sliding windows of 1 hour every 15 minutes per"),
        ({"kind": WindowKind.SESSION, "gap_ms": 30 * MINUTE}, "Sessions that end after 30 minutes without a row per"),
        ({"trigger": Trigger(TriggerKind.CONTINUOUS, 10 * MINUTE)}, "each fires also every 10 minutes of event time"),
        ({"trigger": Trigger(TriggerKind.COUNT, n=1_000)}, "each fires at every 1,000 rows"),
        ({"trigger": Trigger(TriggerKind.COUNT, n=1)}, "each fires at every row"),
        ({"allowed_lateness_ms": 0}, "bound 4 hours, no allowed lateness"),
        ({"late_data": LateData.UPDATE}, "bound 4 hours, late rows update results without end"),
        ({"late_data": LateData.DROP}, "allowed lateness 2 hours, later rows are dropped"),
        ({"accumulation": Accumulation.DISCARDING}, "a pane has the rows since the pane before"),
        ({"accumulation": Accumulation.RETRACTING}, "a new pane withdraws the pane before"),
    ],
)
def test_each_kind_of_windows_has_its_words(changes: dict[str, Any], words: str) -> None:
    assert words in describe(replace(PIPELINE, windows=replace(HOURLY, **changes)))


@pytest.mark.parametrize(
    ("watermark", "words"),
    [
        (Watermark(Strategy.MONOTONOUS), "monotonous watermark, allowed"),
        (Watermark(Strategy.PUNCTUATED, when="is_marker"), "punctuated watermark when is_marker"),
        (Watermark(Strategy.TIME_LAG, lag_ms=5 * MINUTE), "lag 5 minutes"),
        (Watermark(Strategy.CUSTOM, generator="a.b:C"), "watermark of a.b:C"),
        (Watermark(Strategy.NONE), "no watermark"),
        (Watermark(out_of_orderness_ms=MINUTE, idle_timeout_ms=2 * MINUTE), "bound 1 minute, idle after 2 minutes"),
    ],
)
def test_each_strategy_has_its_words(watermark: Watermark, words: str) -> None:
    assert f"; {words}" in describe(replace(PIPELINE, watermark=watermark))


def test_several_sources_are_named_each_with_its_watermark() -> None:
    plain = replace(FLIGHTS, source_partition=SourcePartition())
    sources = (
        UnitedSource("web", FLIGHTS, Watermark(out_of_orderness_ms=MINUTE)),
        UnitedSource("app", plain, Watermark(Strategy.MONOTONOUS)),
    )
    line = describe(replace(PIPELINE, sources=sources))
    assert "; web: bound 1 minute, app: monotonous watermark, allowed lateness 2 hours; " in line
    assert line.endswith("; source partitions web by origin")
    assert "source partition" not in describe(replace(PIPELINE, source=plain))


def test_a_join_names_its_inputs_its_columns_and_the_distance_of_a_pair() -> None:
    by_interval = replace(PIPELINE, join=ORDERS, windows=Windows(kind=WindowKind.NONE))
    assert describe(by_interval).startswith(
        "Pairs of orders and payments by id = order_id and site, payments -5 minutes to 1 hour after orders, "
        "upper bound exclusive; bound 4 hours; "
    )
    as_of = replace(by_interval, join=Join(("orders", "rates"), (("currency",), ("currency",)), as_of=AsOf.LEFT_OUTER))
    assert describe(as_of).startswith(
        "Rows of orders with the version of rates at their time by currency, null without one; bound 4 hours; "
    )
    by_window = replace(PIPELINE, join=Join(("orders", "payments"), (("id",), ("id",))))
    assert describe(by_window).startswith("Pairs of orders and payments by id in tumbling windows of 1 hour; bound")


def test_complete_results_are_named() -> None:
    assert describe(replace(PIPELINE, replay=ReplayOrder(mode=Mode.COMPLETE))).endswith("; complete results besides")
