"""Idleness: looked at only at emissions, one emission later than one thinks, and ended only by a watermark."""

from __future__ import annotations

import pytest

from spark_jobs.pipeline.model import Emit, EmitKind, Strategy
from spark_jobs.semantics.reference import replay
from spark_jobs.semantics.rows.clock import ArrivalClock
from spark_jobs.semantics.watermark.generators import BoundedOutOfOrderness
from spark_jobs.semantics.watermark.idleness import IdlenessTimer, WithIdleness
from spark_jobs.semantics.watermark.multiplexer import WatermarkMerge
from spark_jobs.semantics.watermark.punctuated import Punctuated
from tests.support.outputs import Output
from tests.support.rows_by_hand import Change, at, partitioned, row

EVERY_SECOND = Emit(EmitKind.EVERY, interval_ms=1_000)


def test_a_partition_is_idle_at_the_first_emission_that_finds_the_timeout_exceeded() -> None:
    clock = ArrivalClock()
    timer = IdlenessTimer(10, clock)
    timer.activity()
    idle_at = {}
    for now_ms in range(5, 40, 5):
        clock.advance_to(now_ms * 1000)
        idle_at[now_ms] = timer.check()
    # 5 sees the row, 10 starts the timer, at 20 exactly 10 ms are over: rule 31.
    assert [now_ms for now_ms, is_idle in idle_at.items() if is_idle] == [25, 30, 35]


def test_a_partition_without_rows_starts_its_timer_at_the_first_emission() -> None:
    clock = ArrivalClock()
    timer = IdlenessTimer(10, clock)
    assert not timer.check()
    clock.advance_to(11_000)
    assert timer.check()
    timer.activity()
    assert not timer.check()


def test_idle_partition_is_marked_once_and_its_generator_emits_nothing() -> None:
    clock, output = ArrivalClock(), Output()
    generator = WithIdleness(BoundedOutOfOrderness(0), IdlenessTimer(1, clock))
    generator.on_event({}, 100, output)
    for now_ms in range(5):
        clock.advance_to(now_ms * 1000)
        generator.on_periodic_emit(output)
    assert output.is_idle
    assert output == [99, 99, 99]
    output.is_idle = False
    generator.on_periodic_emit(output)
    assert not output.is_idle


def test_a_row_alone_does_not_end_idleness_a_watermark_does() -> None:
    clock, output = ArrivalClock(), Output()
    generator = WithIdleness(Punctuated("mark", None), IdlenessTimer(1, clock))
    for now_ms in range(3):
        clock.advance_to(now_ms * 1000)
        generator.on_periodic_emit(output)
    assert output.is_idle
    generator.on_event({"mark": False}, 100, output)
    generator.on_periodic_emit(output)
    assert output.is_idle
    generator.on_event({"mark": True}, 100, output)
    assert not output.is_idle


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_timeout_has_length(timeout: int) -> None:
    with pytest.raises(ValueError, match=f"idle timeout of {timeout} ms"):
        IdlenessTimer(timeout, ArrivalClock())


def merged(**watermarks: int) -> tuple[WatermarkMerge, Output]:
    output = Output()
    merge = WatermarkMerge(output)
    for partition, watermark in watermarks.items():
        merge.register(partition)
        merge.deferred(partition).emit_watermark(watermark)
    merge.on_periodic_emit()
    return merge, output


def test_idle_partition_does_not_hold_the_watermark_back() -> None:
    merge, output = merged(a=10, b=3)
    merge.deferred("b").mark_idle()
    assert output == [3]
    merge.on_periodic_emit()
    assert output == [3, 10]
    assert not output.is_idle


def test_a_partition_that_comes_back_older_stalls_the_watermark() -> None:
    merge, output = merged(a=10, b=3)
    merge.immediate("b").mark_idle()
    merge.immediate("b").emit_watermark(5)
    merge.immediate("a").emit_watermark(20)
    assert output == [3, 10]
    merge.immediate("b").emit_watermark(12)
    assert output == [3, 10, 12]


def test_a_lower_watermark_ends_idleness_too() -> None:
    merge, output = merged(a=10, b=3)
    merge.immediate("b").mark_idle()
    merge.immediate("b").emit_watermark(1)
    merge.immediate("a").emit_watermark(20)
    assert output == [3, 10]
    assert merge.partitions == {"a": 20, "b": 3}


def test_when_all_are_idle_the_watermark_is_the_highest_of_all() -> None:
    merge, output = merged(a=10, b=3)
    merge.deferred("a").mark_idle()
    merge.deferred("b").mark_idle()
    merge.on_periodic_emit()
    assert output == [3, 10]
    assert output.is_idle


def test_a_partition_may_be_marked_active_again() -> None:
    merge, output = merged(a=10, b=3)
    merge.immediate("b").mark_idle()
    merge.immediate("b").mark_active()
    merge.immediate("a").emit_watermark(20)
    assert output == [3, 10]


def test_a_silent_partition_is_left_behind_and_windows_fire(changed: Change) -> None:
    stream = [row(1, 1, p="a"), row(2, 2, p="b"), row(3, 30, p="a"), row(9, 31, p="a")]
    waiting = changed(source=partitioned("p"), watermark={"emit": EVERY_SECOND})
    assert [pane["fired_at"] for pane in replay(stream, waiting).panes] == [at(9)] * 2
    patient = changed(source=partitioned("p"), watermark={"emit": EVERY_SECOND, "idle_timeout_ms": 2_000})
    # b's row is seen at 3, the timer starts at 4, more than 2 s are over at 7.
    assert [pane["fired_at"] for pane in replay(stream, patient).panes] == [at(7), at(9)]


def test_a_time_lag_fires_windows_while_no_row_comes(changed: Change) -> None:
    lagging = changed(watermark={"strategy": Strategy.TIME_LAG, "lag_ms": 3_000, "emit": EVERY_SECOND})
    first, _ = replay([row(1, 1), row(40, 40)], lagging).panes
    assert first["fired_at"] == at(13)
