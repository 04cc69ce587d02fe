"""The valve against the merge of a source: a channel that lags when it comes back does not stall the others."""

from __future__ import annotations

import pytest

from spark_jobs.semantics.watermark.multiplexer import WatermarkMerge
from spark_jobs.semantics.watermark.valve import Valve
from tests.support.outputs import Output


def test_a_lagging_channel_stalls_a_source_and_not_a_valve() -> None:
    at_source, behind_valve = Output(), Output()
    merge = WatermarkMerge(at_source)
    for name in "ab":
        merge.register(name)
    valve = Valve(2, behind_valve)
    for a, b in (
        (merge.immediate("a"), merge.immediate("b")),
        valve.channels,
    ):
        a.emit_watermark(10)
        b.emit_watermark(10)
        b.mark_idle()
        a.emit_watermark(20)
        b.mark_active()
        b.emit_watermark(15)
        a.emit_watermark(30)
    assert at_source == [10, 20]
    assert behind_valve == [10, 20, 30]


def test_the_last_channel_to_fall_idle_flushes_the_maximum_if_it_held_the_others_back() -> None:
    out = Output()
    slow, fast = Valve(2, out).channels
    slow.emit_watermark(5)
    fast.emit_watermark(9)
    fast.mark_idle()
    slow.mark_idle()
    assert (out, out.is_idle) == ([5, 9], True)


def test_the_last_channel_to_fall_idle_flushes_nothing_if_it_was_not_aligned() -> None:
    out = Output()
    slow, fast = Valve(2, out).channels
    slow.emit_watermark(5)
    slow.mark_idle()
    fast.emit_watermark(9)
    slow.mark_active()
    fast.mark_idle()
    slow.mark_idle()
    assert (out, out.is_idle) == ([9], True)


def test_a_valve_has_a_channel() -> None:
    with pytest.raises(ValueError, match="valve of 0 channels"):
        Valve(0, Output())
