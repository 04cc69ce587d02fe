"""What becomes of late rows, in the reference: withdrawn panes, gathered ones, dropped rows, results without an end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.pipeline.model import (
    Accumulation,
    Aggregate,
    Emit,
    EmitKind,
    EndOfInput,
    LateData,
    LatePanes,
    Pipeline,
    ReplayOrder,
    Strategy,
    Watermark,
    Windows,
)
from spark_jobs.semantics.reference import replay
from spark_jobs.semantics.spec import WindowKind
from tests.support.rows_by_hand import at, row

# Window [0, 10) fires at row 3 (watermark 9.999), is late with 4 and 5, closes at 6 (watermark 14.999).
STREAM = [row(1, 4), row(2, 8), row(3, 12), row(4, 9), row(5, 1), row(6, 17), row(7, 3)]
EVERY_FOUR = Emit(EmitKind.EVERY, interval_ms=4_000)


def summary(pane: dict[str, Any]) -> tuple[Any, ...]:
    return (pane.get("is_retraction"), pane["pane_index"], pane["timing"], pane["fired_at"], pane["ids"])


def of_first_window(panes: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [summary(pane) for pane in panes if pane["window_start"] == at(0)]


def with_windows(pipeline: Pipeline, **changes: Any) -> Pipeline:
    return replace(pipeline, windows=replace(pipeline.windows, **changes))


def test_a_pane_is_withdrawn_before_another_takes_its_place(pipeline: Pipeline) -> None:
    panes = replay(STREAM, with_windows(pipeline, accumulation=Accumulation.RETRACTING)).panes
    assert of_first_window(panes) == [
        (False, 0, "on_time", at(3), [1, 2]),
        (True, 0, "on_time", at(4), [1, 2]),
        (False, 1, "late", at(4), [1, 2, 4]),
        (True, 1, "late", at(5), [1, 2, 4]),
        (False, 2, "late", at(5), [1, 2, 4, 5]),
    ]
    withdrawn = next(pane for pane in panes if pane["is_retraction"])
    assert withdrawn["watermark"] == panes[2]["watermark"]


def test_a_merged_session_withdraws_the_sessions_that_it_absorbs(pipeline: Pipeline) -> None:
    sessions = Windows(
        kind=WindowKind.SESSION,
        gap_ms=2_000,
        allowed_lateness_ms=60_000,
        accumulation=Accumulation.RETRACTING,
        aggregates=pipeline.windows.aggregates,
    )
    # Two sessions fire at row 3, and row 4 lies between them.
    rows = [row(1, 1), row(2, 5), row(3, 20), row(4, 3)]
    panes = replay(rows, replace(pipeline, windows=sessions)).panes
    assert [(pane["is_retraction"], pane["window_start"], pane["window_end"], pane["ids"]) for pane in panes[:5]] == [
        (False, at(1), at(3), [1]),
        (False, at(5), at(7), [2]),
        (True, at(1), at(3), [1]),
        (True, at(5), at(7), [2]),
        (False, at(1), at(7), [1, 2, 4]),
    ]


@pytest.mark.parametrize(
    ("accumulation", "ids"), [(Accumulation.ACCUMULATING, [1, 2, 4, 5]), (Accumulation.DISCARDING, [4, 5])]
)
def test_gathered_late_rows_fire_one_pane_at_the_end_of_their_epoch(
    pipeline: Pipeline, accumulation: Accumulation, ids: list[int]
) -> None:
    """Emissions at 4, 8, ...: row 3 has moved the watermark at 4, rows 4 and 5 are of the epoch that ends at 8."""
    every = replace(pipeline, watermark=replace(pipeline.watermark, emit=EVERY_FOUR))
    gathering = with_windows(every, late_panes=LatePanes.PER_EPOCH, accumulation=accumulation)
    rows = [*STREAM[:6], row(9, 30)]
    panes = of_first_window(replay(rows, gathering).panes)
    assert panes == [(None, 0, "on_time", at(4), [1, 2]), (None, 1, "late", at(8), ids)]


@pytest.mark.parametrize(("end", "late"), [(EndOfInput.CLOSE, [[1, 2, 4]]), (EndOfInput.KEEP_OPEN, [])])
def test_gathered_rows_wait_for_an_emission_or_the_end_of_time(
    pipeline: Pipeline, end: EndOfInput, late: list[list[int]]
) -> None:
    every = replace(
        pipeline, watermark=replace(pipeline.watermark, emit=EVERY_FOUR), replay=ReplayOrder(end_of_input=end)
    )
    outcome = replay(STREAM[:4], with_windows(every, late_panes=LatePanes.PER_EPOCH))
    assert [pane["ids"] for pane in outcome.panes if pane["timing"] == "late"] == late
    assert outcome.counts["late"] == 1


def test_rows_that_are_separate_epochs_are_not_gathered(pipeline: Pipeline) -> None:
    marks = Watermark(Strategy.PUNCTUATED, when="id = 3", emit=EVERY_FOUR)
    gathering = with_windows(replace(pipeline, watermark=marks), late_panes=LatePanes.PER_EPOCH)
    panes = of_first_window(replay(STREAM[:5], gathering).panes)
    assert [pane[1:4] for pane in panes] == [(0, "on_time", at(3)), (1, "late", at(4)), (2, "late", at(5))]


def test_dropped_rows_are_counted_and_not_kept(pipeline: Pipeline) -> None:
    side_output, dropped = (
        replay(STREAM, with_windows(pipeline, late_data=late_data))
        for late_data in (LateData.SIDE_OUTPUT, LateData.DROP)
    )
    assert [late["id"] for late in side_output.late_events] == [7]
    assert dropped.late_events == []
    assert dropped.counts == side_output.counts
    assert dropped.window_results == side_output.window_results


def test_a_late_row_updates_its_result_however_late(pipeline: Pipeline) -> None:
    outcome = replay(STREAM, with_windows(pipeline, late_data=LateData.UPDATE, allowed_lateness_ms=0))
    assert outcome.counts["too_late"] == 0
    assert of_first_window(outcome.panes)[-1][1:] == (3, "late", at(7), [1, 2, 4, 5, 7])


def test_an_aggregate_sees_its_window_and_watermark(pipeline: Pipeline) -> None:
    asking = (
        Aggregate("starts", "min(window_start)"),
        Aggregate("ends", "max(window_end)"),
        Aggregate("at", "max(watermark)"),
    )
    for pane in replay(STREAM, with_windows(pipeline, aggregates=asking)).panes:
        assert (pane["starts"], pane["ends"], pane["at"]) == (
            pane["window_start"],
            pane["window_end"],
            pane["watermark"],
        )


def test_a_column_of_the_source_comes_before_the_watermark(pipeline: Pipeline) -> None:
    asking = (Aggregate("seen", "max(watermark)"),)
    rows = [{**drawn, "Watermark": drawn["id"]} for drawn in STREAM]
    assert replay(rows, with_windows(pipeline, aggregates=asking)).panes[0]["seen"] == 2
