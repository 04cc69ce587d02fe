"""Strategies in a replay: a marked row is judged before its own watermark, and fires at its own clock."""

from __future__ import annotations

from spark_jobs.pipeline.model import Emit, EmitKind, Strategy, TimeField
from spark_jobs.semantics.reference import replay
from spark_jobs.semantics.rows.instants import END_OF_INPUT
from tests.support.rows_by_hand import Change, at, partitioned, row

EVERY_MINUTE = Emit(EmitKind.EVERY, interval_ms=60_000)


def test_a_marked_row_is_on_time_for_the_window_that_it_fires(changed: Change) -> None:
    marked = changed(watermark={"strategy": Strategy.PUNCTUATED, "when": "mark", "emit": EVERY_MINUTE})
    rows = [row(1, 1, mark=False), row(2, 9.999, mark=True), row(3, 2, mark=False)]
    first, late = replay(rows, marked).panes
    assert (first["fired_at"], first["ids"], first["watermark"]) == (at(2), [1, 2], at(9.999))
    assert (late["timing"], late["ids"]) == ("late", [1, 2, 3])


def test_a_row_may_carry_another_watermark_than_its_event_time(changed: Change) -> None:
    settings = {"strategy": Strategy.PUNCTUATED, "when": "until is not null", "value": TimeField("until")}
    rows = [row(1, 1, until=None), row(2, 2, until=at(9.999)), row(3, 3, until=None)]
    first, _ = replay(rows, changed(watermark=settings)).panes
    assert (first["fired_at"], first["ids"]) == (at(2), [1, 2])


def test_marks_of_one_partition_wait_for_the_other(changed: Change) -> None:
    marked = changed(source=partitioned("p"), watermark={"strategy": Strategy.PUNCTUATED, "when": "mark"})
    rows = [row(1, 1, p="a", mark=False), row(2, 12, p="b", mark=True), row(3, 16, p="a", mark=True)]
    first, _ = replay(rows, marked).panes
    assert (first["fired_at"], first["ids"], first["watermark"]) == (at(3), [1], at(12))


def test_without_watermarks_everything_fires_at_the_end(changed: Change) -> None:
    outcome = replay([row(1, 1), row(2, 500), row(3, 2)], changed(watermark={"strategy": Strategy.NONE}))
    assert [(pane["ids"], pane["watermark"]) for pane in outcome.panes] == [
        ([1, 3], END_OF_INPUT),
        ([2], END_OF_INPUT),
    ]
    assert outcome.late_events == []
