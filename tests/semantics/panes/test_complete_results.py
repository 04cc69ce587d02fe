"""Complete results in plain Python: drawn cases, and what must hold of any stream under any settings."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.pipeline.model import (
    Accumulation,
    Aggregate,
    Emit,
    EndOfInput,
    Mode,
    Pipeline,
    Source,
    Strategy,
    TimeField,
    TimeUnit,
    Trigger,
    TriggerKind,
    Watermark,
    Windows,
)
from spark_jobs.semantics.panes.complete_results import complete_windows
from spark_jobs.semantics.reference import Replay, TableRow, replay
from spark_jobs.semantics.rows.instants import END_OF_INPUT, MAX, micros
from spark_jobs.semantics.spec import WindowKind
from spark_jobs.semantics.windows.window_assigners import TimeWindow
from tests.support.drawn_streams import Rows, pipelines, streams

IDS = Aggregate("ids", "collect_list(id)")


def rows_by_window(rows: list[tuple[str, int, str]], windows: Windows, watermark: int = MAX) -> dict[TimeWindow, str]:
    return {w.window: "".join(w.rows) for w in complete_windows(rows, windows, watermark)}


def test_a_row_is_in_each_of_its_windows() -> None:
    rows = [("k", 3, "b"), ("k", 1, "a"), ("k", 11, "c")]
    tumbling = Windows(size_ms=4)
    assert rows_by_window(rows, tumbling) == {TimeWindow(0, 4): "ba", TimeWindow(8, 12): "c"}
    overlapping = Windows(kind=WindowKind.SLIDING, size_ms=4, slide_ms=2)
    expected = {(-2, 2): "a", (0, 4): "ba", (2, 6): "b", (8, 12): "c", (10, 14): "c"}
    assert rows_by_window(rows, overlapping) == {TimeWindow(*window): names for window, names in expected.items()}
    assert rows_by_window(rows, Windows(kind=WindowKind.SLIDING, size_ms=2, slide_ms=4)) == {TimeWindow(0, 2): "a"}


def test_sessions_end_where_the_gap_is_exceeded() -> None:
    rows = [("k", 20, "d"), ("k", 5, "b"), ("k", 0, "a"), ("k", 11, "c")]
    assert rows_by_window(rows, Windows(kind=WindowKind.SESSION, gap_ms=5)) == {
        TimeWindow(0, 10): "ba",
        TimeWindow(11, 16): "c",
        TimeWindow(20, 25): "d",
    }
    assert rows_by_window(rows, Windows(kind=WindowKind.SESSION, gap_ms=6)) == {
        TimeWindow(0, 17): "bac",
        TimeWindow(20, 26): "d",
    }
    assert [
        w.window
        for w in complete_windows([("x", 0, ""), ("y", 1, "")], Windows(kind=WindowKind.SESSION, gap_ms=5), MAX)
    ] == [
        TimeWindow(0, 5),
        TimeWindow(1, 6),
    ]


def test_windows_wait_for_the_watermark_to_reach_their_last_instant() -> None:
    rows = [("k", 1, "a"), ("k", 5, "b")]
    assert rows_by_window(rows, Windows(size_ms=4), watermark=3) == {TimeWindow(0, 4): "a"}
    assert rows_by_window(rows, Windows(size_ms=4), watermark=2) == {}


def pipeline_of(windows: Windows) -> Pipeline:
    """Watermark at each row, without a bound; arrival is the order of the rows."""
    source = Source("any", TimeField("ts", TimeUnit.MILLISECONDS), TimeField("arrival", TimeUnit.MILLISECONDS))
    pipeline = Pipeline("any", source, replace(windows, key=("key",), aggregates=(IDS,)), Watermark(emit=Emit()))
    return complete(pipeline)


def complete(pipeline: Pipeline) -> Pipeline:
    return replace(pipeline, replay=replace(pipeline.replay, mode=Mode.COMPLETE))


def arrived(*instants: int) -> Rows:
    return [{"id": i, "arrival": 1000 + i, "ts": ts, "key": "k"} for i, ts in enumerate(instants)]


def summaries(rows: Rows, windows: Windows) -> list[TableRow]:
    columns = ("ids", "row_count", "missed_rows", "is_shown", "faithful")
    return [{c: row[c] for c in columns} for row in replay(rows, pipeline_of(windows)).complete_results]


def test_too_late_rows_are_missing() -> None:
    results = summaries(arrived(1, 25, 2, 3, 12), Windows(size_ms=10))
    assert results == [
        {
            "ids": [0, 2, 3],
            "row_count": 3,
            "missed_rows": 2,
            "is_shown": True,
            "faithful": {"ids": [0], "row_count": 1},
        },
        {"ids": [4], "row_count": 1, "missed_rows": 1, "is_shown": False, "faithful": None},
        {"ids": [1], "row_count": 1, "missed_rows": 0, "is_shown": True, "faithful": {"ids": [1], "row_count": 1}},
    ]


def test_discarded_rows_have_been_shown() -> None:
    windows = Windows(size_ms=10, allowed_lateness_ms=50, accumulation=Accumulation.DISCARDING)
    [first, _] = summaries(arrived(1, 25, 2, 3), windows)
    assert (first["ids"], first["missed_rows"]) == ([0, 2, 3], 0)
    assert first["faithful"] == {"ids": [3], "row_count": 1}


def test_rows_that_no_count_has_fired_are_missed() -> None:
    [row] = summaries(arrived(1, 2, 3, 4, 5), Windows(size_ms=10, trigger=Trigger(TriggerKind.COUNT, n=3)))
    assert (row["row_count"], row["missed_rows"], row["faithful"]["ids"]) == (5, 2, [0, 1, 2])


def test_a_complete_session_holds_the_faithful_ones_that_lie_in_it() -> None:
    # 4 comes when [0, 4) has fired and gone, and would have joined it with [7, 11).
    [first, _] = summaries(arrived(0, 7, 4, 50), Windows(kind=WindowKind.SESSION, gap_ms=4))
    bounds = [(micros(part["window_start"]) // 1000, micros(part["window_end"]) // 1000) for part in first["faithful"]]
    assert bounds == [(0, 4), (4, 11)]
    assert [part["ids"] for part in first["faithful"]] == [[0], [1, 2]]
    assert (first["ids"], first["missed_rows"], first["is_shown"]) == ([0, 1, 2], 0, True)
    [alone, _] = summaries(arrived(50, 0), Windows(kind=WindowKind.SESSION, gap_ms=4))
    assert (alone["ids"], alone["missed_rows"], alone["is_shown"], alone["faithful"]) == ([1], 1, False, None)


def test_the_watermark_of_complete_results_is_the_end_of_the_input() -> None:
    asking = replace(pipeline_of(Windows(size_ms=10)), windows=Windows(size_ms=10, aggregates=(ASKING,)))
    [row, _] = replay(
        arrived(1, 25), asking, aggregates={"reached": lambda rows: rows[0]["watermark"]}
    ).complete_results
    assert row["reached"] == END_OF_INPUT
    assert row["faithful"]["reached"] < END_OF_INPUT


ASKING = Aggregate("reached", "max(watermark)")


def test_only_the_mode_complete_has_complete_results() -> None:
    plain = pipeline_of(Windows(size_ms=10))
    plain = replace(plain, replay=replace(plain.replay, mode=Mode.FAITHFUL))
    assert replay(arrived(1), plain).complete_results == []
    assert complete(plain).same_results == {plain.fingerprint, complete(plain).fingerprint}
    assert len(plain.same_results) == 2


kinds: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {},
        {"kind": "sliding", "size_ms": 9, "slide_ms": 4, "offset_ms": 1},
        {"kind": "sliding", "size_ms": 5, "slide_ms": 8, "offset_ms": 1},
        {"kind": "session", "gap_ms": 4},
    ]
)
triggers = st.sampled_from([Trigger(), Trigger(TriggerKind.CONTINUOUS, interval_ms=3), Trigger(TriggerKind.COUNT, n=2)])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Rows, Pipeline]:
    pipeline = draw(pipelines)
    windows = replace(pipeline.windows, **draw(kinds), trigger=draw(triggers))
    return draw(streams()), complete(replace(pipeline, windows=windows))


def by_window(rows: list[TableRow]) -> dict[Any, TableRow]:
    return {(row.get("key"), row["window_start"], row["window_end"]): row for row in rows}


def filling(rows: Rows) -> Rows:
    return [row for row in rows if row["ts"] is not None and row["kept"]]


def own(outcome: Replay) -> dict[str, Any]:
    return {name: rows for name, rows in vars(outcome).items() if name != "complete_results"}


@settings(max_examples=300, deadline=None)
@given(case=cases())
def test_faithful_results_stay_as_they_are_and_lie_in_complete_ones(case: tuple[Rows, Pipeline]) -> None:
    rows, pipeline = case
    outcome = replay(rows, pipeline)
    plain = replace(pipeline, replay=replace(pipeline.replay, mode=Mode.FAITHFUL))
    assert own(outcome) == own(replay(rows, plain))
    for row in outcome.complete_results:
        assert 0 <= row["missed_rows"] <= row["row_count"] == len(row["ids"])
        assert row["is_shown"] == (row["faithful"] is not None)
    if pipeline.windows.kind == "session":
        parts = [part for row in outcome.complete_results for part in row["faithful"] or []]
    else:
        parts = [row["faithful"] for row in outcome.complete_results if row["is_shown"]]
    if pipeline.replay.end_of_input is EndOfInput.CLOSE:
        assert len(parts) == len(outcome.window_results)
        if pipeline.windows.kind != "sliding":
            row_counts = Counter(number for row in outcome.complete_results for number in row["ids"])
            assert row_counts == Counter(row["id"] for row in filling(rows))
            missed_rows = sum(row["missed_rows"] for row in outcome.complete_results)
            by_count = pipeline.windows.trigger.kind is TriggerKind.COUNT
            assert missed_rows >= outcome.counts["too_late"] if by_count else missed_rows == outcome.counts["too_late"]


@settings(max_examples=300, deadline=None)
@given(case=cases())
def test_no_row_is_missing_under_a_bound_longer_than_the_history(case: tuple[Rows, Pipeline]) -> None:
    """With a bound longer than the history the faithful result is the complete one, of every window."""
    rows, pipeline = case
    waiting = replace(pipeline.watermark, strategy=Strategy.BOUNDED_OUT_OF_ORDERNESS, out_of_orderness_ms=10**6)
    outcome = replay(rows, replace(pipeline, watermark=waiting, windows=replace(pipeline.windows, trigger=Trigger())))
    complete, faithful = by_window(outcome.complete_results), by_window(outcome.window_results)
    assert complete.keys() == faithful.keys()
    for window, row in complete.items():
        assert (row["missed_rows"], row["ids"]) == (0, faithful[window]["ids"])


def test_a_complete_window_without_known_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="found window kind 'global'"):
        complete_windows([("k", 1, "a")], Windows(kind="global"), MAX)  # type: ignore[arg-type]  # a kind that does not exist
