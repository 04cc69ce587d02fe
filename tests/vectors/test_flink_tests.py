"""Cases of Flink's own test suite, transcribed as data: each concept alone gives what Flink's class gives."""

from __future__ import annotations

import json

import pytest

from spark_jobs.pipeline import PipelineError, from_mapping
from spark_jobs.semantics.panes.triggers import Continuous, Count, EventTime, Trigger
from spark_jobs.semantics.panes.window_operator import Pane, WindowOperator
from spark_jobs.semantics.rows.clock import ArrivalClock
from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.sessions.merging_windows import MergingWindows, touches
from spark_jobs.semantics.sessions.session_operator import SessionOperator
from spark_jobs.semantics.watermark.generators import BoundedOutOfOrderness, WatermarkOutput
from spark_jobs.semantics.watermark.idleness import IdlenessTimer
from spark_jobs.semantics.watermark.multiplexer import WatermarkMerge
from spark_jobs.semantics.watermark.valve import Valve
from spark_jobs.semantics.windows.grid import FixedGrid, newest_start
from spark_jobs.semantics.windows.lateness import Lateness, fate
from spark_jobs.semantics.windows.window_assigners import (
    SlidingWindows,
    TimeWindow,
    TumblingWindows,
    WindowAssigner,
)
from tests.support.outputs import Output
from tests.vectors.flink_cases import CASES, REFUSED, Case, of_schema


def operator(case: Case) -> WindowOperator[str, int] | SessionOperator[str, int]:
    window, lateness = case["window"], case["allowed_lateness_ms"]
    declared = case["trigger"]
    discarding = declared["kind"] == "purging"
    fires = trigger(declared["inner"] if discarding else declared)
    if window["kind"] == "session":
        return SessionOperator(window["gap_ms"], allowed_lateness_ms=lateness, discarding=discarding, trigger=fires)
    return WindowOperator(assigner(window), allowed_lateness_ms=lateness, discarding=discarding, trigger=fires)


def trigger(declared: Case) -> Trigger:
    if declared["kind"] == "continuous_event_time":
        return Continuous(declared["interval_ms"])
    if declared["kind"] == "count":
        return Count(declared["n"])
    assert declared == {"kind": "event_time"}
    return EventTime()


def assigner(window: Case) -> WindowAssigner:
    if window["kind"] == "sliding":
        return SlidingWindows(window["size_ms"], window["slide_ms"], window["offset_ms"])
    return TumblingWindows(window["size_ms"], window["offset_ms"])


def test_every_case_is_read() -> None:
    windows = {"merge_windows", "merging_window_set", "window_assign", "window_intersects", "window_operator"}
    watermarks = {"idleness_timer", "parameter_validation", "watermark_generator", "watermark_multiplexer"}
    watermarks |= {"status_watermark_valve"}
    schemas = windows | watermarks | {"interval_join", "interval_join_buffers", "window_join", "window_start"}
    assert {case["schema"] for case in CASES} == schemas


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_pipeline_cannot_ask_for_is_refused_by_name(name: str) -> None:
    assert name in {case["name"] for case in CASES}
    key, value = REFUSED[name]
    with pytest.raises(PipelineError) as caught:
        from_mapping(
            {"name": "x", "windows": {"kind": "session", key: value}} if key == "gap" else {"windows": {key: value}}
        )
    messages = [problem.message for problem in caught.value.problems if problem.key == f"windows.{key}"]
    assert len(messages) == 1
    assert "not supported by this version" in messages[0] or "expected a duration" in messages[0]


def windows_of(window: Case, ts: int) -> list[TimeWindow]:
    if window["kind"] != "session":
        return list(assigner(window).assign(ts))
    alone: SessionOperator[str, int] = SessionOperator(window["gap_ms"], allowed_lateness_ms=0, discarding=False)
    return [verdict.window for verdict in alone.on_row("k", ts, 0)]


@of_schema("window_start")
def test_window_start(case: Case) -> None:
    for expected in case["cases"]:
        start = newest_start(expected["ts"], FixedGrid(case["size_ms"], case["offset_ms"]))
        assert start == expected["start"], expected


@of_schema("window_assign")
def test_window_assignment(case: Case) -> None:
    for expected in case["cases"]:
        windows = windows_of(case["window"], expected["ts"])
        assert sorted(map(list, windows)) == sorted(expected["windows"]), expected


@of_schema("parameter_validation")
def test_window_parameters(case: Case) -> None:
    for expected in case["cases"]:
        if "idle_timeout_ms" in expected:
            with pytest.raises(ValueError, match="idle timeout"):
                IdlenessTimer(expected["idle_timeout_ms"], ArrivalClock())
            assert not expected["valid"]
            continue
        parameters = {"window": expected["window"], "allowed_lateness_ms": 0, "trigger": {"kind": "event_time"}}
        if expected["valid"]:
            operator(parameters)
        else:
            with pytest.raises(ValueError, match=r"window (size|slide|offset)|session gap"):
                operator(parameters)


@of_schema("window_intersects")
def test_windows_touch(case: Case) -> None:
    for expected in case["cases"]:
        assert touches(TimeWindow(*expected["a"]), TimeWindow(*expected["b"])) is expected["intersects"], expected


@of_schema("merge_windows")
def test_windows_merge(case: Case) -> None:
    in_flight = MergingWindows()
    for window in case["input"]:
        in_flight.apply(in_flight.merge(TimeWindow(*window)))
    merged = {tuple(source) for merge in case["merges"] for source in merge["sources"]}
    alone = [window for window in case["input"] if tuple(window) not in merged]
    assert [list(window) for window in in_flight] == sorted([*alone, *(merge["result"] for merge in case["merges"])])


@of_schema("merging_window_set")
def test_merging_windows(case: Case) -> None:
    in_flight = MergingWindows()
    for step in case["steps"]:
        merge = in_flight.merge(TimeWindow(*step["add"]))
        assert list(merge.hull) == step["result"], step
        assert (merge.absorbed not in ((), (merge.hull,))) is step["merged"], step
        if "sources" in step:
            assert [list(source) for source in merge.absorbed] == sorted(step["sources"]), step
        in_flight.apply(merge)


@of_schema("watermark_generator")
def test_watermark_generator(case: Case) -> None:
    generator, watermarks = BoundedOutOfOrderness(case["strategy"].get("bound_ms", 0)), Output()
    for step in case["steps"]:
        watermarks.clear()
        if "event_ts" in step:
            generator.on_event({}, step["event_ts"], watermarks)
            assert watermarks == []
        else:
            generator.on_periodic_emit(watermarks)
            assert watermarks == [step["expect_watermark"]]


@of_schema("idleness_timer")
def test_idleness_timer(case: Case) -> None:
    clock = ArrivalClock()
    clock.advance_to(case["clock_start_ms"] * 1000)
    timer = IdlenessTimer(case["timeout_ms"], clock)
    for step in case["steps"]:
        if "advance_ms" in step:
            clock.advance_to(clock.now_us + step["advance_ms"] * 1000)
        elif "activity" in step:
            timer.activity()
        else:
            assert timer.check() is step.get("expect_idle", False), step


def output(merge: WatermarkMerge, step: Case) -> WatermarkOutput:
    return (merge.immediate if step["mode"] == "immediate" else merge.deferred)(step["output"])


@of_schema("watermark_multiplexer")
def test_watermark_merge(case: Case) -> None:
    forwarded = Output()
    merge = WatermarkMerge(forwarded)
    for step in case["steps"]:
        if "register" in step:
            merge.register(step["register"])
        elif "emit_watermark" in step:
            output(merge, step).emit_watermark(step["emit_watermark"])
        elif "mark_idle" in step:
            output(merge, step).mark_idle()
        elif "mark_active" in step:
            output(merge, step).mark_active()
        elif "periodic_emit" in step:
            merge.on_periodic_emit()
        else:
            state = {"last_watermark": forwarded[-1] if forwarded else None, "idle": forwarded.is_idle}
            assert state == {**state, **step["expect"]}, step
    assert forwarded == sorted(set(forwarded))


class Sent(list[Case]):
    """What leaves a valve, as the cases write it."""

    def emit_watermark(self, watermark: int) -> None:
        self.append({"watermark": watermark})

    def mark_idle(self) -> None:
        self.append({"status": "IDLE"})

    def mark_active(self) -> None:
        self.append({"status": "ACTIVE"})


@of_schema("status_watermark_valve")
def test_valve(case: Case) -> None:
    sent = Sent()
    valve = Valve(case["channels"], sent)
    for step in case["steps"]:
        channel = valve.channels[step["channel"]]
        sent.clear()
        if "watermark" in step:
            channel.emit_watermark(step["watermark"])
        else:
            {"IDLE": channel.mark_idle, "ACTIVE": channel.mark_active}[step["status"]]()
        assert sent == step["expect"], step
        if "expect_channel_state" in step:
            assert valve.watermarks[step["channel"]] == step["expect_channel_state"]["watermark"], step


@of_schema("window_operator")
def test_window_operator(case: Case) -> None:
    window_operator = operator(case)
    watermark, emitted, late = MIN, [], []
    for number, step in enumerate(case["steps"]):
        panes: list[Pane[str, int]] = []
        if "watermark" in step:
            assert step["watermark"] > watermark
            watermark = step["watermark"]
            panes = window_operator.on_watermark(watermark)
        else:
            row = step["element"]
            verdicts = window_operator.on_row(row["key"], row["ts"], row["value"])
            panes = [verdict.pane for verdict in verdicts if verdict.pane is not None]
            latenesses = [verdict.lateness for verdict in verdicts]
            if fate(latenesses, row["ts"], case["allowed_lateness_ms"], watermark) is Lateness.TOO_LATE:
                late.append({"after_step": number, **row})
        emitted += [record for pane in panes for record in records(pane, number, case["aggregate"])]
    assert by_text(emitted) == by_text(case["expected"])
    assert late == case["expected_late"]


def records(pane: Pane[str, int], step: int, aggregate: str) -> list[Case]:
    window = {"window_start": pane.window.start, "window_end": pane.window.end, "output_ts": pane.window.last}
    values = [sum(pane.rows)] if aggregate == "sum" else list(pane.rows)
    return [{"after_step": step, "key": pane.key, "value": value, **window} for value in values]


def by_text(cases: list[Case]) -> list[Case]:
    return sorted(cases, key=lambda record: json.dumps(record, sort_keys=True))
