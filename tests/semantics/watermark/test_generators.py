"""Watermark generators: one millisecond more than the bound behind the newest row, seen at the next emission."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.pipeline.model import Strategy, TimeField, TimeUnit, Watermark
from spark_jobs.semantics.rows.clock import ArrivalClock
from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.watermark.generators import BoundedOutOfOrderness, WatermarkGenerator
from spark_jobs.semantics.watermark.punctuated import Punctuated
from spark_jobs.semantics.watermark.strategy import generator
from spark_jobs.semantics.watermark.time_lag import TimeLag
from tests.support.outputs import Output


def after(generator: WatermarkGenerator, *times: int) -> list[int]:
    output = Output()
    for ts in times:
        generator.on_event({}, ts, output)
    generator.on_periodic_emit(output)
    return output


def test_the_watermark_is_the_newest_row_less_the_bound_less_one_millisecond() -> None:
    assert after(BoundedOutOfOrderness(100), 1000, 500) == [899]


def test_no_bound_yields_a_watermark_before_the_first_row() -> None:
    assert after(BoundedOutOfOrderness(0)) == after(BoundedOutOfOrderness(10**12)) == [MIN]


def test_the_pipeline_chooses_bound_and_strategy() -> None:
    bounded = Watermark(strategy=Strategy.BOUNDED_OUT_OF_ORDERNESS, out_of_orderness_ms=7)
    clock = ArrivalClock()
    assert after(generator(bounded, clock), 100) == [92]
    assert after(generator(replace(bounded, strategy=Strategy.MONOTONOUS), clock), 100) == [99]
    assert after(generator(Watermark(Strategy.NONE), clock), 100) == []
    assert after(generator(Watermark(Strategy.PUNCTUATED, when="1 = 1"), clock), 100) == [100]
    assert after(generator(Watermark(Strategy.TIME_LAG, lag_ms=3), clock), 100) == [-3]


def test_a_bound_is_not_negative() -> None:
    with pytest.raises(ValueError, match="bound of -1 ms"):
        BoundedOutOfOrderness(-1)


def test_a_marked_row_emits_what_it_carries_and_the_emission_adds_nothing() -> None:
    generator, output = Punctuated("mark", TimeField("carried", unit=TimeUnit.MICROSECONDS)), Output()
    for mark, carried in ((True, 7_999), (False, 20_000), (None, 20_000), (True, None), (True, -1)):
        generator.on_event({"mark": mark, "carried": carried}, 100, output)
    generator.on_periodic_emit(output)
    assert output == [7, -1]


def test_a_marked_row_that_carries_nothing_else_emits_its_event_time() -> None:
    generator, output = Punctuated("kind = 'end'", None), Output()
    generator.on_event({"kind": "end"}, 100, output)
    generator.on_event({"kind": "row"}, 200, output)
    assert output == [100]


def test_a_punctuated_watermark_needs_a_condition() -> None:
    with pytest.raises(ValueError, match="no condition `when`"):
        Punctuated(None, None)


def test_a_time_lag_follows_the_clock_and_no_row() -> None:
    clock, output = ArrivalClock(), Output()
    generator = TimeLag(10, clock)
    clock.advance_to(50_999)
    generator.on_event({}, 1_000, output)
    assert output == []
    generator.on_periodic_emit(output)
    assert output == [40]


def test_a_time_lag_is_not_negative() -> None:
    with pytest.raises(ValueError, match="time lag of -1 ms"):
        TimeLag(-1, ArrivalClock())
