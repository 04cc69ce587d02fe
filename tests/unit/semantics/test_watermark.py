"""Watermark generators: one millisecond more than the bound behind the newest row, seen at the next emission."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.pipeline.model import Strategy, Watermark
from spark_jobs.semantics.instants import MIN
from spark_jobs.semantics.watermark import BoundedOutOfOrderness, WatermarkGenerator, generator


class Output(list[int]):
    def emit_watermark(self, watermark: int) -> None:
        self.append(watermark)


def after(made: WatermarkGenerator, *times: int) -> list[int]:
    output = Output()
    for ts in times:
        made.on_event({}, ts, output)
    made.on_periodic_emit(output)
    return output


def test_the_watermark_is_the_newest_row_less_the_bound_less_one_millisecond() -> None:
    assert after(BoundedOutOfOrderness(100), 1000, 500) == [899]


def test_before_the_first_row_there_is_no_watermark_whatever_the_bound() -> None:
    assert after(BoundedOutOfOrderness(0)) == after(BoundedOutOfOrderness(10**12)) == [MIN]


def test_the_pipeline_chooses_bound_and_strategy() -> None:
    bounded = Watermark(strategy=Strategy.BOUNDED_OUT_OF_ORDERNESS, out_of_orderness_ms=7)
    assert after(generator(bounded), 100) == [92]
    assert after(generator(replace(bounded, strategy=Strategy.MONOTONOUS)), 100) == [99]


def test_unknown_strategies_are_refused() -> None:
    unknown: Any = SimpleNamespace(strategy=SimpleNamespace(value="time_lag"))
    with pytest.raises(ValueError, match="found strategy 'time_lag', known: bounded_out_of_orderness, monotonous"):
        generator(unknown)


def test_a_bound_is_not_negative() -> None:
    with pytest.raises(ValueError, match="bound of -1 ms"):
        BoundedOutOfOrderness(-1)
