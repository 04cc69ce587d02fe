"""Invariants of complete results: a right run breaks none, and each fault of one breaks those that are about it."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from expectations import AuditError
from expectations.staged import Staged
from expectations.suites import complete_results as suite
from spark_jobs.pipeline.model import Mode, ReplayOrder
from tests.support.generated_run import (
    CORRECT,
    COUNTS,
    PIPELINE,
    Fault,
    Rows,
    add,
    all_of,
    change,
    frame,
    frames,
    interpreted,
    late_event,
    remove,
    repeat,
    window,
)

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

COMPLETE = replace(PIPELINE, replay=ReplayOrder(mode=Mode.COMPLETE))
SCHEMA = (
    "carrier string, window_start timestamp, window_end timestamp, flights bigint, row_count bigint, "
    "missed_rows bigint, is_shown boolean, faithful struct<flights: bigint, row_count: bigint>, run_id string"
)
TABLE = "complete_results"


def told(carrier: str | None, start: float, count: int, shown: int | None) -> dict[str, Any]:
    faithful = None if shown is None else (shown, shown)
    missing = {"missed_rows": count - (shown or 0), "is_shown": shown is not None, "faithful": faithful}
    return {**window(start), "carrier": carrier, "flights": count, "row_count": count, **missing}


RIGHT: Rows = {
    **CORRECT,
    TABLE: [
        told("AA", 0, 5, 5),
        told(None, 0, 2, 1),
        told("BB", 0, 1, None),
        told("AA", 10, 2, 2),
        told(None, 20, 4, 4),
    ],
}
FAULTS: dict[str, tuple[Fault, set[str]]] = {
    "nothing": (all_of(), set()),
    "a window without its complete result": (remove(TABLE, 0), {"every_result_has_a_complete_one"}),
    "a complete result twice": (repeat(TABLE, 3), {"every_result_has_a_complete_one"}),
    "a result that is gone": (
        remove("window_results", 0),
        {"complete_results_tell_what_the_results_say", "complete_results_have_the_rows_of_the_results"},
    ),
    "a result that is not told": (
        change(TABLE, 3, is_shown=False, faithful=None),
        {"complete_results_tell_what_the_results_say"},
    ),
    "a row too few": (change(TABLE, 0, row_count=4), {"complete_results_have_the_rows_of_the_results"}),
    "a row that is missed unheard": (
        change(TABLE, 3, row_count=3, missed_rows=1),
        {"complete_results_miss_the_rows_that_came_too_late"},
    ),
    "a late event more": (
        add("late_events", late_event("BB", 7, 22, 19)),
        {"complete_results_miss_the_rows_that_came_too_late"},
    ),
    "more missed than there is": (
        change(TABLE, 2, missed_rows=2),
        {
            "complete_results_miss_no_more_rows_than_they_have",
            "complete_results_have_the_rows_of_the_results",
            "complete_results_miss_the_rows_that_came_too_late",
        },
    ),
    "a window beside the grid": (
        change(TABLE, 2, **told("BB", 5, 1, None)),
        {
            "windows_lie_on_the_grid",
            "every_result_has_a_complete_one",
            "complete_results_miss_the_rows_that_came_too_late",
        },
    ),
}


def staged(spark: SparkSession, rows: Rows) -> Staged:
    faithful = {table: there for table, there in rows.items() if table != TABLE}
    return Staged({**frames(spark, faithful), TABLE: frame(spark, SCHEMA, rows[TABLE])}, COMPLETE, COUNTS)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_breaks_the_laws_about_it(spark: SparkSession, fault: str) -> None:
    spoil, expected = FAULTS[fault]
    rows = copy.deepcopy(RIGHT)
    spoil(rows)
    run, invariants = staged(spark, rows), suite.invariants(COMPLETE)
    with interpreted(spark):
        counts = [F.count_if(~F.coalesce(F.expr(invariant.condition), F.lit(False))) for invariant in invariants]
        found = suite.rows(run).agg(*counts).collect()[0]
    run.release()
    assert {invariant.name for invariant, count in zip(invariants, found, strict=True) if count} == expected


def test_every_law_has_a_fault() -> None:
    never_broken = {"windows_are_as_long_as_declared"}
    assert {invariant.name for invariant in suite.invariants(COMPLETE)} - never_broken == set().union(
        *(b for _, b in FAULTS.values())
    )
    assert suite.invariants(PIPELINE) == ()


def test_a_run_in_the_mode_complete_has_the_table(spark: SparkSession) -> None:
    with pytest.raises(AuditError, match="the staged table complete_results is missing"):
        Staged(frames(spark, CORRECT), COMPLETE, COUNTS)
