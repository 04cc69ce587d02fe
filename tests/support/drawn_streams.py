"""Strategies that draw pipelines and streams for property tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from spark_jobs.pipeline.model import (
    Accumulation,
    Aggregate,
    Emit,
    EmitKind,
    EndOfInput,
    Order,
    Pipeline,
    Placement,
    ReplayOrder,
    Source,
    SourcePartition,
    Strategy,
    TimeField,
    TimeUnit,
    Watermark,
    Windows,
)

Rows = list[dict[str, Any]]


STRATEGIES = (Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS)


emissions = st.one_of(
    st.just(Emit(EmitKind.PER_EVENT)),
    st.builds(Emit, st.just(EmitKind.EVERY_N), n=st.integers(1, 4)),
    st.builds(Emit, st.just(EmitKind.EVERY), interval_ms=st.integers(3, 9), phase_ms=st.integers(0, 2)),
)


pipelines = st.builds(
    lambda declared, order, end, watermark, windows: Pipeline(
        name="any",
        source=Source(
            table="any",
            event_time=TimeField("ts", unit=TimeUnit.MILLISECONDS),
            arrival_time=TimeField("arrival", unit=TimeUnit.MILLISECONDS),
            source_partition=SourcePartition(("partition",), declared),
            where="kept",
        ),
        replay=ReplayOrder(order, end),
        watermark=watermark,
        windows=windows,
    ),
    declared=st.sampled_from([(), (("p",),), (("p",), ("silent",))]),
    order=st.sampled_from([Order.ARRIVAL, Order.ARRIVAL, Order.EVENT_TIME]),
    end=st.sampled_from(EndOfInput),
    watermark=st.builds(
        Watermark, st.sampled_from(STRATEGIES), st.integers(0, 6), st.sampled_from(Placement), emissions
    ),
    windows=st.builds(
        Windows,
        size_ms=st.integers(5, 9),
        offset_ms=st.integers(-4, 4),
        key=st.sampled_from([(), ("key",)]),
        allowed_lateness_ms=st.sampled_from([0, 1, 7, 10**6]),
        accumulation=st.sampled_from(Accumulation),
        aggregates=st.just((Aggregate("ids", "collect_list(id)"),)),
    ),
)


@st.composite
def streams(draw: st.DrawFn) -> Rows:
    """Rows that arrive in order and happened around their arrival, some of them without a time."""
    fields = st.tuples(
        st.integers(0, 4),
        st.one_of(st.integers(-30, 8), st.none()),
        st.sampled_from("pq"),
        st.sampled_from("xy"),
        st.sampled_from([True, True, True, False, None]),
    )
    rows, arrival = [], 0
    for number, (step, delay, partition, key, is_kept) in enumerate(draw(st.lists(fields, max_size=25))):
        arrival += step
        ts = None if delay is None else arrival + delay
        rows.append({"id": number, "arrival": arrival, "ts": ts, "partition": partition, "key": key, "kept": is_kept})
    return rows
