"""The reference interpreter: which rows the tables hold, and what is in their columns."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spark_jobs.pipeline.model import (
    Aggregate,
    Emit,
    EmitKind,
    EndOfInput,
    Order,
    Pipeline,
    Placement,
    TimeField,
    TimeUnit,
)
from spark_jobs.semantics.reference import Replay, replay
from spark_jobs.semantics.rows.instants import END_OF_INPUT
from tests.support.rows_by_hand import Change, at, partitioned, row

EVERY_MINUTE = Emit(EmitKind.EVERY, interval_ms=60_000)
MILLISECOND = timedelta(milliseconds=1)

# Window [0, 10) fires at row 3 (watermark 9.999), is late with 4, closes at 5 (watermark 14.999), is too late for 6.
STREAM = [row(1, 4), row(2, 8), row(3, 12), row(4, 9), row(5, 17), row(6, 3)]


def ids(outcome: Replay) -> list[tuple[str, list[Any]]]:
    return [(pane["timing"], pane["ids"]) for pane in outcome.panes]


def test_panes_table(pipeline: Pipeline) -> None:
    first, late, last = replay(STREAM, pipeline).panes
    assert list(first.items()) == [
        ("window_start", at(0)),
        ("window_end", at(10)),
        ("pane_index", 0),
        ("timing", "on_time"),
        ("fired_at", at(3)),
        ("watermark", at(10) - MILLISECOND),
        ("ids", [1, 2]),
        ("row_count", 2),
    ]
    assert late == {
        **first,
        "pane_index": 1,
        "timing": "late",
        "fired_at": at(4),
        "ids": [1, 2, 4],
        "row_count": 3,
    }
    assert (last["window_start"], last["ids"], last["fired_at"]) == (at(10), [3, 5], at(6))
    assert last["watermark"] == END_OF_INPUT


def test_window_results_table(pipeline: Pipeline) -> None:
    first, last = replay(STREAM, pipeline).window_results
    assert list(first.items()) == [
        ("window_start", at(0)),
        ("window_end", at(10)),
        ("ids", [1, 2, 4]),
        ("pane_count", 2),
        ("row_count", 3),
        ("too_late_count", 1),
        ("last_fired_at", at(4)),
    ]
    assert (last["window_start"], last["pane_count"], last["too_late_count"]) == (at(10), 1, 0)


def test_late_events_table(pipeline: Pipeline) -> None:
    (late,) = replay(STREAM, pipeline).late_events
    assert list(late.items()) == [
        *STREAM[5].items(),
        ("event_time", at(3)),
        ("arrival_time", at(6)),
        ("watermark", at(15) - MILLISECOND),
        ("late_by_ms", 11_999),
        ("window_start", at(0)),
        ("window_end", at(10)),
    ]


def test_watermarks_table(pipeline: Pipeline) -> None:
    first, last = replay(STREAM, pipeline).watermarks
    assert list(first.items()) == [
        ("window_start", at(0)),
        ("window_end", at(10)),
        ("fires_at", at(3)),
        ("watermark_at_fire", at(10) - MILLISECOND),
        ("closes_at", at(5)),
        ("partition_watermarks", [{"source_partition": "", "watermark": at(10) - MILLISECOND}]),
    ]
    assert list(last.values()) == [at(10), at(20), at(6), END_OF_INPUT, at(6), None]


def test_counts_add_up(pipeline: Pipeline) -> None:
    assert replay([*STREAM, row(7, None)], pipeline).counts == {
        "rows_read": 7,
        "invalid": 1,
        "filtered": 0,
        "on_time": 4,
        "late": 1,
        "too_late": 1,
        "unassigned": 0,
        "windows": 2,
        "panes": 3,
        "early_panes": 0,
        "late_panes": 1,
    }


def test_the_order_of_reading_does_not_matter(pipeline: Pipeline) -> None:
    shuffled = STREAM.copy()
    random.Random(1).shuffle(shuffled)
    assert replay(shuffled, pipeline) == replay(STREAM, pipeline)


def test_an_empty_table_gives_empty_tables(pipeline: Pipeline) -> None:
    outcome = replay([], pipeline, until=at(9))
    assert (outcome.panes, outcome.window_results, outcome.late_events) == ([], [], [])
    assert (outcome.invalid_events, outcome.watermarks, set(outcome.counts.values())) == ([], [], {0})


def test_keys_keep_their_columns_and_have_separate_panes(changed: Change) -> None:
    keyed = changed(windows={"key": ("carrier", "origin")})
    rows = [
        row(1, 1, carrier="AA", origin=None),
        row(2, 2, carrier="UA", origin="JFK"),
        row(3, 3, carrier="AA", origin=None),
    ]
    first, second = replay(rows, keyed).panes
    assert list(first)[:4] == ["carrier", "origin", "window_start", "window_end"]
    assert (first["carrier"], first["origin"], first["ids"]) == ("AA", None, [1, 3])
    assert (second["carrier"], second["origin"], second["ids"]) == ("UA", "JFK", [2])


def test_too_late_rows_are_counted_for_their_own_key_and_window(changed: Change) -> None:
    keyed = changed(windows={"key": ("carrier",)})
    rows = [row(1, 1, carrier="AA"), row(2, 30, carrier="UA"), row(3, 2, carrier="AA"), row(4, 2, carrier="UA")]
    results = replay(rows, keyed).window_results
    assert [(r["carrier"], r["window_start"], r["too_late_count"]) for r in results] == [
        ("AA", at(0), 1),
        ("UA", at(30), 0),
    ]


def test_windows_whose_rows_were_all_too_late_are_in_the_calendar_only(pipeline: Pipeline) -> None:
    outcome = replay([row(1, 100), row(2, 5)], pipeline)
    assert [r["window_start"] for r in outcome.window_results] == [at(100)]
    assert [(w["window_start"], w["fires_at"], w["closes_at"]) for w in outcome.watermarks] == [
        (at(0), at(1), at(1)),
        (at(100), at(2), at(2)),
    ]


def test_with_keep_open_windows_that_are_not_passed_stay_pending(changed: Change) -> None:
    outcome = replay(STREAM, changed(replay={"end_of_input": EndOfInput.KEEP_OPEN}), until=at(60))
    assert ids(outcome) == [("on_time", [1, 2]), ("late", [1, 2, 4])]
    assert list(outcome.watermarks[1].values()) == [at(10), at(20), None, None, None, None]
    assert outcome.counts["on_time"] == 4


def test_a_window_may_have_fired_and_still_be_open(changed: Change) -> None:
    outcome = replay(STREAM[:4], changed(replay={"end_of_input": EndOfInput.KEEP_OPEN}))
    assert (outcome.watermarks[0]["fires_at"], outcome.watermarks[0]["closes_at"]) == (at(3), None)


def test_the_end_of_the_input_is_dated_by_until(pipeline: Pipeline) -> None:
    assert replay(STREAM, pipeline, until=at(60.0009)).panes[-1]["fired_at"] == at(60)
    assert replay(STREAM, pipeline, until=at(6)).panes[-1]["fired_at"] == at(6)


def test_until_may_not_lie_before_the_last_row(pipeline: Pipeline) -> None:
    with pytest.raises(ValueError, match=r"found a row at .*12:00:06.*, behind until .*12:00:05\.999"):
        replay(STREAM, pipeline, until=at(6) - MILLISECOND)


def test_ticks_continue_until_the_clock_stops(changed: Change) -> None:
    ticking = changed(watermark={"emit": EVERY_MINUTE})
    rows = [row(1, 5), row(70, 40)]
    assert [(p["window_start"], p["fired_at"]) for p in replay(rows, ticking).panes] == [
        (at(0), at(70)),
        (at(40), at(70)),
    ]
    outcome = replay(rows, ticking, until=at(130))
    assert [(p["window_start"], p["fired_at"], p["watermark"]) for p in outcome.panes] == [
        (at(0), at(120), at(38) - MILLISECOND),
        (at(40), at(130), END_OF_INPUT),
    ]
    assert outcome.watermarks[0]["fires_at"] == at(120)


def test_rows_of_one_epoch_are_judged_by_the_same_watermark(changed: Change) -> None:
    ticking = changed(watermark={"emit": EVERY_MINUTE})
    rows = [row(1, 100), row(2, 1), row(59.999, 2), row(60, 3)]
    assert [late["id"] for late in replay(rows, ticking).late_events] == [60]


def test_a_row_is_not_judged_by_itself(pipeline: Pipeline) -> None:
    assert replay([row(1, 100)], pipeline).counts["on_time"] == 1


def test_arrival_decides_the_order_to_the_microsecond(pipeline: Pipeline) -> None:
    rows = [row(1.000001, 1), row(1, 100)]
    assert [late["id"] for late in replay(rows, pipeline).late_events] == [1.000001]
    rows = [row(1, 1), row(1.000001, 100)]
    assert replay(rows, pipeline).late_events == []


def test_ties_are_broken_by_partition_then_tie_columns_then_the_row(changed: Change) -> None:
    tied = changed(source={**partitioned("origin"), "tie_break": ("seq",)})
    rows = [row(1, 100, origin="a", seq=1, z=0), row(1, 1, origin="a", seq=0, z=9)]
    assert replay(rows, tied).late_events == []
    rows = [row(1, 100, origin="a", seq=0, z=0), row(1, 1, origin="a", seq=0, z=9)]
    assert len(replay(rows, tied).late_events) == 0, "happened comes before z"
    rows = [row(1, 100, origin="a", seq=0), row(1, 1, origin="a", seq=1)]
    assert len(replay(rows, tied).late_events) == 1


def test_no_row_is_late_in_event_time_order(changed: Change) -> None:
    outcome = replay(STREAM, changed(replay={"order": Order.EVENT_TIME}))
    assert [(p["timing"], p["ids"], p["fired_at"]) for p in outcome.panes] == [
        ("on_time", [6, 1, 2, 4], at(12)),
        ("on_time", [3, 5], at(17)),
    ]


def test_event_time_order_needs_no_arrival(changed: Change) -> None:
    timeless = changed(source={"arrival_time": None, "future_guard_ms": None}, replay={"order": Order.EVENT_TIME})
    rows = [{"id": 1, "happened": at(1)}, {"id": 2, "happened": at(2)}]
    (pane,) = replay(rows, timeless).panes
    assert (pane["ids"], pane["fired_at"]) == ([1, 2], at(2))


def test_arrival_order_needs_arrival(changed: Change) -> None:
    with pytest.raises(ValueError, match=r"found no source\.arrival_time"):
        replay([], changed(source={"arrival_time": None}))


def test_invalid_rows_move_nothing_and_keep_their_columns(changed: Change) -> None:
    bad = [row(2, None, x=1), row(None, 5, x=2), row(3, 90_000, x=3), {**row(4, 5, x=4), "happened": END_OF_INPUT}]
    outcome = replay([row(1, 1), *bad, row(5, 2)], changed())
    reasons = ["event_time_missing", "arrival_time_missing", "event_time_in_future", "event_time_after_range"]
    assert outcome.invalid_events == [{**r, "reason": reason} for r, reason in zip(bad, reasons, strict=True)]
    assert ids(outcome) == [("on_time", [1, 5])]
    assert outcome.counts["invalid"] == 4


def test_invalid_rows_do_not_count_for_every_n(changed: Change) -> None:
    counting = changed(watermark={"emit": Emit(EmitKind.EVERY_N, n=2)})
    outcome = replay([row(1, 1), row(2, None), row(3, 100), row(4, 2)], counting)
    assert [late["id"] for late in outcome.late_events] == [4]


FILTERED = [row(1, 1, kept=True), row(2, 100, kept=False), row(3, 2, kept=True), row(4, 3, kept=None)]


def test_filtered_rows_move_the_watermark_at_the_source(changed: Change) -> None:
    outcome = replay(FILTERED, changed(source={"where": "kept"}))
    assert [late["id"] for late in outcome.late_events] == [3]
    assert outcome.panes[0]["fired_at"] == at(2)
    assert (outcome.counts["filtered"], outcome.counts["too_late"], outcome.counts["on_time"]) == (2, 1, 1)
    assert [w["window_start"] for w in outcome.watermarks] == [at(0)]


def test_filtered_rows_do_not_exist_after_where(changed: Change) -> None:
    after = changed(source={"where": "kept"}, watermark={"placement": Placement.AFTER_WHERE})
    outcome = replay(FILTERED, after)
    assert ids(outcome) == [("on_time", [1, 3])]
    assert outcome.panes[0]["fired_at"] == at(3)
    assert (outcome.counts["filtered"], outcome.counts["on_time"]) == (2, 2)


def test_python_functions_stand_in_for_sql_that_the_reference_does_not_read(changed: Change) -> None:
    unreadable = changed(
        source={"where": "id rlike '[13]'"}, windows={"aggregates": (Aggregate("spread", "stddev(id)"),)}
    )
    outcome = replay(
        STREAM[:2],
        unreadable,
        where=lambda r: r["id"] == 2,
        aggregates={"spread": lambda rows: [r["id"] for r in rows]},
    )
    assert [pane["spread"] for pane in outcome.panes] == [[2]]


def test_partitions_show_their_watermarks_at_the_firing(changed: Change) -> None:
    split = changed(source=partitioned("origin", declared=(("b",),)))
    rows = [
        row(1, 1, origin=None),
        row(2, 16, origin="a"),
        row(3, 20, origin="b"),
        row(4, 15, origin=None),
        row(5, 90, origin="c"),
    ]
    first, *_ = replay(rows, split).watermarks
    assert first["fires_at"] == at(4)
    assert first["partition_watermarks"] == [
        {"source_partition": "a", "watermark": at(14) - MILLISECOND},
        {"source_partition": "b", "watermark": at(18) - MILLISECOND},
        {"source_partition": "null", "watermark": at(13) - MILLISECOND},
    ]


def test_a_silent_declared_partition_holds_all_windows_until_the_end(changed: Change) -> None:
    split = changed(source=partitioned("origin", declared=(("a",), ("silent",))))
    outcome = replay([row(1, 1, origin="a"), row(2, 100, origin="a"), row(3, 1, origin="a")], split)
    assert [pane["watermark"] for pane in outcome.panes] == [END_OF_INPUT] * 2
    assert outcome.late_events == []


def test_a_declared_number_names_the_partition_of_the_rows(changed: Change) -> None:
    split = changed(source=partitioned("shard", "zone", declared=((7, "x"),)))
    outcome = replay([row(1, 1, shard=7, zone="x"), row(2, 30, shard=7, zone="x")], split)
    assert outcome.watermarks[0]["partition_watermarks"] == [
        {"source_partition": "7|x", "watermark": at(28) - MILLISECOND}
    ]


def test_a_missing_column_is_named(pipeline: Pipeline, changed: Change) -> None:
    with pytest.raises(ValueError, match="found no column 'happened'; the row has arrived"):
        replay([{"arrived": at(1)}], pipeline)
    with pytest.raises(ValueError, match="found no column 'origin'"):
        replay(STREAM, changed(source=partitioned("origin")))


def test_a_row_whose_arrival_is_beyond_all_tables_moves_nothing(changed: Change) -> None:
    milliseconds = changed(source={"arrival_time": TimeField("arrived", unit=TimeUnit.SECONDS)})
    rows = [{**row(i, 1), "arrived": arrived} for i, arrived in ((1, 1_704_110_400), (2, 1_704_110_400_000))]
    outcome = replay(rows, milliseconds)
    assert [event["reason"] for event in outcome.invalid_events] == ["arrival_time_after_range"]
    assert ids(outcome) == [("on_time", [1])]


def test_one_arrival_of_1970_does_not_pass_the_future_guard(changed: Change) -> None:
    newest = {**row(1, 50), "arrived": datetime(1970, 1, 1, tzinfo=UTC)}
    outcome = replay([newest, row(2, 1), row(3, 2)], changed())
    assert [event["reason"] for event in outcome.invalid_events] == ["event_time_in_future"]
    assert ids(outcome) == [("on_time", [2, 3])]


def test_a_numeric_event_time_in_the_wrong_unit_is_out_of_range(changed: Change) -> None:
    seconds = changed(source={"event_time": TimeField("happened", unit=TimeUnit.SECONDS)})
    outcome = replay([{**row(1, 1), "happened": 1_704_110_400_000}], seconds)
    assert outcome.invalid_events[0]["reason"] == "event_time_after_range"
