"""Rows that are left out: each for its first reason, duplicates of the first row to arrive."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.pipeline.model import (
    Aggregate,
    Emit,
    EmitKind,
    Pipeline,
    Placement,
    QuarantineRule,
    Source,
    TimeField,
    TimeUnit,
    Watermark,
    Windows,
)
from spark_jobs.semantics import reference

SOURCE = Source(
    table="any",
    event_time=TimeField("ts", TimeUnit.MILLISECONDS),
    arrival_time=TimeField("arrival", TimeUnit.MILLISECONDS),
    where="kind <> 'test'",
    quarantine=(QuarantineRule("negative", "amount < 0"), QuarantineRule("huge", "amount > 100")),
    deduplicate=("event_id",),
)
PIPELINE = Pipeline(
    name="any",
    source=SOURCE,
    windows=Windows(size_ms=10, aggregates=(Aggregate("rows", "count(*)"), Aggregate("total", "sum(amount)"))),
    watermark=Watermark(out_of_orderness_ms=0, emit=Emit(EmitKind.PER_EVENT)),
)


def row(event_id: str | None, ts: int, arrival: int, amount: int = 1, kind: str = "click") -> dict[str, Any]:
    return {"event_id": event_id, "ts": ts, "arrival": arrival, "amount": amount, "kind": kind}


def totals(result: reference.Replay) -> list[tuple[int, int]]:
    return [(pane["rows"], pane["total"]) for pane in result.panes]


def test_the_first_row_to_arrive_stays_wherever_it_is_stored() -> None:
    result = reference.replay([row("a", 3, 9, 7), row("a", 2, 4, 5), row("b", 1, 5)], PIPELINE)
    assert totals(result) == [(2, 6)]
    assert result.counts["duplicates"] == 1


def test_rows_without_a_name_have_no_duplicates() -> None:
    result = reference.replay([row(None, 1, 1), row(None, 1, 1)], PIPELINE)
    assert (result.counts["duplicates"], totals(result)) == (0, [(2, 2)])


def test_of_identical_rows_one_stays() -> None:
    result = reference.replay([row("a", 1, 1)] * 3, PIPELINE)
    assert (result.counts["duplicates"], totals(result)) == (2, [(1, 1)])


def test_a_broken_row_is_an_invalid_event_with_its_first_rule() -> None:
    result = reference.replay([row("a", 1, 1, -1), row("b", 2, 2, 101), row("c", 3, 3)], PIPELINE)
    assert [event["reason"] for event in result.invalid_events] == ["negative", "huge"]
    assert (result.counts["quarantined"], result.counts["invalid"], totals(result)) == (2, 0, [(1, 1)])


def test_a_row_that_is_left_out_is_nobodys_first_row() -> None:
    rows = [row("a", 1, 1, -1), row("b", 1, 1, kind="test"), row("a", 2, 2), row("b", 2, 2)]
    result = reference.replay(rows, PIPELINE)
    assert {name: result.counts[name] for name in ("filtered", "quarantined", "duplicates")} == {
        "filtered": 1,
        "quarantined": 1,
        "duplicates": 0,
    }
    assert totals(result) == [(2, 2)]


def test_no_rule_judges_a_row_that_where_drops() -> None:
    result = reference.replay([row("a", 1, 1, -1, kind="test")], PIPELINE)
    assert (result.counts["filtered"], result.invalid_events) == (1, [])


@pytest.mark.parametrize(("placement", "rows_too_late"), [(Placement.SOURCE, 1), (Placement.AFTER_WHERE, 0)])
def test_rows_left_out_move_the_watermark_with_the_placement_source(placement: Placement, rows_too_late: int) -> None:
    pipeline = replace(PIPELINE, watermark=replace(PIPELINE.watermark, placement=placement))
    for leaving_out in (row("a", 50, 2), row("c", 50, 2, -1)):
        result = reference.replay([row("a", 1, 1), leaving_out, row("b", 2, 3)], pipeline)
        assert result.counts["too_late"] == rows_too_late


def test_every_row_is_counted_once() -> None:
    rows = [row("a", 1, 1), row("a", 1, 2), row("b", 2, 3, -1), row("c", 3, 4, kind="test"), row("d", 90, 5)]
    counts = reference.replay([*rows, row("e", 2, 6)], PIPELINE).counts
    fates = ("invalid", "filtered", "quarantined", "duplicates", "on_time", "late", "too_late", "unassigned")
    assert counts["rows_read"] == sum(counts[name] for name in fates) == 6


def test_a_pipeline_without_rules_has_no_further_counts() -> None:
    plain = replace(PIPELINE, source=replace(SOURCE, quarantine=(), deduplicate=()))
    assert not {"quarantined", "duplicates"} & set(reference.replay([row("a", 1, 1)], plain).counts)
