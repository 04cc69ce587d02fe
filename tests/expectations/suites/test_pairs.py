"""Each expectation about a join fails when its data are broken in just that way, and none where they are right."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import reduce
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from expectations import AuditError, check
from expectations.staged_join import StagedJoin
from expectations.suites import JOIN_SUITES
from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.pipeline.model import Accumulation, LateData, Quality
from spark_jobs.semantics.spec import WindowKind
from tests.support.generated_run import Rows, add, all_of, at, change, frame, interpreted, remove, repeat

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

TIMES = {"arrival_time": "landed", "watermark": {"strategy": "monotonous"}}
INTERVAL = from_mapping(
    {
        "name": "paid_orders",
        "sources": [
            {"name": "orders", "table": "o/o", "event_time": "made", **TIMES},
            {"name": "payments", "table": "p/p", "event_time": "paid", **TIMES},
        ],
        "join": {
            "key": {"orders": ["order_id"], "payments": ["paid_for"]},
            "between": ["-5s", "10s"],
            "exclusive": ["upper"],
        },
        "quality": {"max_too_late_ratio": 0.5},
    }
)
WINDOW = from_mapping(
    {
        "name": "paid_orders",
        "sources": [
            {"name": "orders", "table": "o/o", "event_time": "made", **TIMES},
            {"name": "payments", "table": "p/p", "event_time": "paid", **TIMES},
        ],
        "join": {"key": {"orders": ["order_id"], "payments": ["paid_for"]}},
        "windows": {"size": "10s", "allowed_lateness": "5s"},
    }
)
SESSION = replace(WINDOW, windows=replace(WINDOW.windows, kind=WindowKind.SESSION, size_ms=0, gap_ms=10_000))
SPLIT = from_mapping(
    {
        "name": "paid_orders",
        "source": {"table": "e/e", "event_time": "made", "arrival_time": "landed"},
        "watermark": {"strategy": "monotonous"},
        "join": {"key": ["order_id"], "between": ["-5s", "10s"], "second_when": "kind = 'payment'"},
    }
)
PAIR = (
    "orders struct<order_id string, made timestamp, landed timestamp>, "
    "payments struct<paid_for string, paid timestamp, landed timestamp>, fired_at timestamp, run_id string"
)
FIRING = "order_id string, window_start timestamp, window_end timestamp, pane_index int, timing string, "
EVENT = "struct<order_id string, made timestamp, landed timestamp, kind string>"
LATE = "source string, event_time timestamp, arrival_time timestamp, watermark timestamp, late_by_ms bigint"
INVALID = "source string, reason string, run_id string"
SCHEMAS = {
    "interval": {"pairs": f"event_time timestamp, {PAIR}", "late_events": LATE, "invalid_events": INVALID},
    "window": {
        "pairs": f"{FIRING} watermark timestamp, {PAIR}",
        "late_events": f"{LATE}, window_start timestamp, window_end timestamp",
        "invalid_events": INVALID,
    },
    "session": {
        "pairs": f"{FIRING} watermark timestamp, {PAIR}",
        "late_events": f"{LATE}, window_start timestamp, window_end timestamp",
        "invalid_events": INVALID,
    },
    "split": {
        "pairs": f"event_time timestamp, left {EVENT}, right {EVENT}, fired_at timestamp, run_id string",
        "late_events": LATE,
        "invalid_events": INVALID,
    },
}


def order(key: str | None, made: float, landed: float) -> tuple[Any, ...]:
    return (key, at(made), at(landed))


def pair(first: tuple[Any, ...], second: tuple[Any, ...], event: datetime, fired: datetime) -> dict[str, Any]:
    return {"orders": first, "payments": second, "event_time": event, "fired_at": fired, "run_id": "r1"}


def late(source: str, event: float, arrival: float, watermark: float) -> dict[str, Any]:
    times = {"event_time": at(event), "arrival_time": at(arrival), "watermark": at(watermark)}
    start = int(event // 10 * 10)
    window = {"window_start": at(start), "window_end": at(start + 10)}
    return {"source": source, **times, "late_by_ms": round((watermark - event) * 1000), **window}


def fired(
    first: tuple[Any, ...], second: tuple[Any, ...], index: int, timing: str, moment: float, watermark: float
) -> dict[str, Any]:
    start = int((first[1] - at(0)).total_seconds() // 10 * 10)
    window = {"window_start": at(start), "window_end": at(start + 10), "order_id": first[0]}
    told = {"pane_index": index, "timing": timing, "watermark": at(watermark)}
    return {**pair(first, second, at(0), at(moment)), **window, **told}


def of_session(orders: list[tuple[Any, ...]], end: float, *told: Any) -> list[dict[str, Any]]:
    """The pairs of a firing of the session that begins at 11, whose one payment happened at 14."""
    window = {"window_start": at(11), "window_end": at(end)}
    return [{**fired(one, order("a", 14, 15), *told), **window} for one in orders]


NEAR, EARLY = order("a", 10, 11), order(None, 20, 25)
INVALIDS = [{"source": "orders", "reason": "event_time_missing", "run_id": "r1"}]
LATES = [late("orders", 5, 19, 16), late("payments", 6, 20, 18)]
CORRECT: dict[str, Rows] = {
    "interval": {
        "pairs": [
            pair(NEAR, order("a", 15, 16), at(15), at(16)),
            pair(EARLY, order(None, 15, 22), at(20), at(25)),
        ],
        "late_events": LATES,
        "invalid_events": INVALIDS,
    },
    "window": {
        "pairs": [
            fired(order("a", 11, 12), order("a", 12, 13), 0, "on_time", 22, 19.999),
            fired(order("a", 11, 12), order("a", 12, 13), 1, "late", 23, 20),
            fired(order("a", 11, 12), order("a", 14, 23), 1, "late", 23, 20),
            fired(order(None, 22, 23), order(None, 23, 24), 2, "late", 33, 31),
        ],
        "late_events": LATES,
        "invalid_events": INVALIDS,
    },
    "session": {
        # The second order is late for a session that has fired, the third makes it a longer one.
        "pairs": [
            *of_session([order("a", 11, 12)], 24, 0, "on_time", 26, 23.999),
            *of_session([order("a", 11, 12), order("a", 13, 27)], 24, 1, "late", 27, 24),
            *of_session([order("a", n, m) for n, m in ((11, 12), (13, 27), (23, 28))], 33, 0, "on_time", 35, 33),
        ],
        "late_events": [
            {**late("orders", 5, 24, 20), "window_start": at(5), "window_end": at(15)},
            {**late("payments", 6, 26, 22), "window_start": at(6), "window_end": at(16)},
        ],
        "invalid_events": INVALIDS,
    },
    "split": {
        "pairs": [
            {
                "left": ("a", at(10), at(11), "order"),
                "right": ("a", at(15), at(16), "payment"),
                "event_time": at(15),
                "fired_at": at(16),
            }
        ],
        "late_events": [],
        "invalid_events": [],
    },
}
READ = {"rows_read_of_orders": 6, "filtered_of_orders": 1, "on_time_of_orders": 3, "late_of_orders": 0}
READ |= {"rows_read_of_payments": 4, "filtered_of_payments": 0, "on_time_of_payments": 2, "late_of_payments": 1}
READ |= {"unassigned_of_orders": 0, "unassigned_of_payments": 0}
STAGED = {"invalid_of_orders": 1, "invalid_of_payments": 0, "too_late_of_orders": 1, "too_late_of_payments": 1}
PIPELINES = {"interval": INTERVAL, "window": WINDOW, "session": SESSION, "split": SPLIT}


def counts_of(kind: str) -> dict[str, int]:
    counts = {**READ, **STAGED, "pairs": len(CORRECT[kind]["pairs"])}
    if kind != "split":
        return counts
    nothing = dict.fromkeys((*READ, *STAGED), 0)
    renamed = {name.replace("orders", "left").replace("payments", "right"): 0 for name in nothing}
    return {**renamed, "pairs": 1}


def tables(spark: SparkSession, kind: str, rows: Rows) -> dict[str, Any]:
    return {name: frame(spark, schema, rows[name]) for name, schema in SCHEMAS[kind].items()}


def broken(
    spark: SparkSession,
    kind: str,
    rows: Rows,
    pipeline: Pipeline | None = None,
    counts: Mapping[str, int] | None = None,
) -> set[str]:
    """The invariants that staged tables break, counted in plain Spark."""
    judged = pipeline or PIPELINES[kind]
    staged = StagedJoin(tables(spark, kind, rows), judged, counts or counts_of(kind))
    with interpreted(spark):
        # All suites in one job: of a few rows its start is what takes time.
        counted = [
            suite.rows(staged).agg(
                *(
                    F.count_if(~F.coalesce(F.expr(invariant.condition), F.lit(False))).alias(
                        f"{suite.name}.{invariant.name}"
                    )
                    for invariant in invariants
                )
            )
            for suite in JOIN_SUITES
            if (invariants := suite.invariants(judged))
        ]
        found = reduce(DataFrame.crossJoin, counted).collect()[0].asDict()
    staged.release()
    return {name for name, n in found.items() if n}


@pytest.mark.parametrize("kind", list(PIPELINES))
def test_a_right_run_breaks_nothing(spark: SparkSession, kind: str) -> None:
    assert broken(spark, kind, CORRECT[kind]) == set()


RUN = "run.reported_counts_are_what_is_staged"
ORDERS, PAYMENTS = (f"run.every_row_of_{name}_is_accounted_for" for name in ("orders", "payments"))
FAULTS: list[tuple[str, Callable[[Rows], Any], set[str]]] = [
    ("interval", change("pairs", 0, payments=order("b", 15, 16)), {"pairs.rows_of_a_pair_have_one_key"}),
    ("interval", change("pairs", 1, payments=order("a", 15, 22)), {"pairs.rows_of_a_pair_have_one_key"}),
    (
        "interval",
        change("pairs", 0, payments=order("a", 20, 16), event_time=at(20)),
        {"pairs.rows_of_a_pair_lie_within_the_bounds"},
    ),
    (
        "interval",
        change("pairs", 1, payments=order(None, 14.999, 22)),
        {"pairs.rows_of_a_pair_lie_within_the_bounds"},
    ),
    ("interval", change("pairs", 0, event_time=at(10)), {"pairs.the_event_time_of_a_pair_is_the_greater"}),
    ("interval", change("pairs", 0, event_time=at(15.000001)), {"pairs.the_event_time_of_a_pair_is_the_greater"}),
    ("interval", change("pairs", 0, fired_at=at(11)), {"pairs.a_pair_fires_when_its_later_row_comes"}),
    ("interval", change("pairs", 0, fired_at=at(16.000001)), {"pairs.a_pair_fires_when_its_later_row_comes"}),
    (
        "interval",
        change("late_events", 0, watermark=at(5), late_by_ms=0),
        {"late_join_rows.late_rows_lie_strictly_behind_their_watermark"},
    ),
    (
        "interval",
        change("late_events", 1, late_by_ms=11_000),
        {"late_join_rows.late_rows_lie_strictly_behind_their_watermark"},
    ),
    (
        "interval",
        change("late_events", 0, source="refunds"),
        {"late_join_rows.late_rows_are_of_an_input", RUN, ORDERS},
    ),
    ("interval", repeat("pairs", 0), {RUN}),
    ("interval", remove("late_events", 1), {RUN, PAYMENTS}),
    ("interval", remove("invalid_events", 0), {RUN, ORDERS}),
    ("interval", change("invalid_events", 0, source="payments"), {RUN, ORDERS, PAYMENTS}),
    ("interval", change("invalid_events", 0, reason="a whim"), {"source.invalid_rows_say_why"}),
    (
        "split",
        change("pairs", 0, right=("a", at(15), at(16), "order")),
        {"pairs.rows_of_a_pair_are_of_their_sides"},
    ),
    (
        "split",
        change("pairs", 0, left=("a", at(10), at(11), "payment")),
        {"pairs.rows_of_a_pair_are_of_their_sides"},
    ),
    (
        "window",
        change("pairs", 0, window_start=at(10.5), window_end=at(20.5), pane_index=0, watermark=at(20.499)),
        {"pairs.windows_lie_on_the_grid"},
    ),
    (
        "window",
        change("pairs", 3, window_end=at(31)),
        {"pairs.windows_are_as_long_as_declared"},
    ),
    (
        "window",
        change("pairs", 3, payments=order(None, 30, 31)),
        {"pairs.rows_of_a_pair_lie_in_its_window"},
    ),
    ("window", change("pairs", 3, orders=order(None, 19, 23)), {"pairs.rows_of_a_pair_lie_in_its_window"}),
    ("window", change("pairs", 3, order_id="a"), {"pairs.a_pair_has_the_key_of_its_rows"}),
    ("window", change("pairs", 3, payments=order(None, 23, 34)), {"pairs.pairs_fire_when_both_rows_have_come"}),
    ("window", change("pairs", 1, fired_at=at(24)), {"pair_firings.pairs_of_a_firing_come_together"}),
    (
        "window",
        change("pairs", 0, watermark=at(19.998)),
        {"pair_firings.no_firing_comes_before_its_watermark"},
    ),
    ("window", change("pairs", 3, watermark=at(34.999)), {"pair_firings.no_late_firing_comes_after_cleanup"}),
    ("window", change("pairs", 0, timing="early"), {"pair_firings.firings_are_on_time_or_late"}),
    ("window", change("pairs", 3, timing="on_time"), {"pair_firings.only_firing_0_is_on_time"}),
    ("window", change("pairs", 0, fired_at=at(23.5)), {"pair_firings.firings_come_in_the_order_of_their_numbers"}),
    ("window", change("pairs", 0, watermark=at(20.5)), {"pair_firings.firings_come_in_the_order_of_their_numbers"}),
    (
        "window",
        all_of(change("pairs", 1, pane_index=2), change("pairs", 2, pane_index=2)),
        {"pair_firings.firings_show_all_pairs_so_far"},
    ),
    (
        "window",
        all_of(repeat("pairs", 0), repeat("pairs", 0)),
        {"pair_firings.firings_show_all_pairs_so_far", RUN},
    ),
    (
        "window",
        change("late_events", 0, watermark=at(14.998), late_by_ms=9_998),
        {"late_join_rows.no_row_is_too_late_for_an_open_window"},
    ),
    (
        "window",
        change("late_events", 0, window_start=at(10), window_end=at(20), watermark=at(25), late_by_ms=20_000),
        {"late_join_rows.late_events_missed_their_own_window"},
    ),
    ("window", add("late_events", late("orders", 5, 19, 16)), {RUN, ORDERS}),
    ("session", change("pairs", 2, pane_index=3), {"pair_firings.firings_show_all_pairs_so_far"}),
    (
        "session",
        change("late_events", 0, window_start=at(4), window_end=at(14)),
        {"late_join_rows.late_events_missed_their_own_window"},
    ),
    (
        "session",
        change("pairs", 0, window_end=at(20)),
        {"pairs.sessions_are_no_shorter_than_the_gap"},
    ),
]


@pytest.mark.parametrize(
    ("kind", "fault", "invariants"),
    [pytest.param(*fault, marks=[] if number % 6 == 0 else pytest.mark.soak) for number, fault in enumerate(FAULTS)],
)
def test_a_fault_breaks_the_laws_about_it(
    spark: SparkSession, kind: str, fault: Callable[[Rows], Any], invariants: set[str]
) -> None:
    rows = copy.deepcopy(CORRECT[kind])
    fault(rows)
    assert broken(spark, kind, rows) == invariants


def test_a_count_that_does_not_add_up_is_told_for_its_input(spark: SparkSession) -> None:
    counts = {**counts_of("interval"), "on_time_of_payments": 3}
    assert broken(spark, "interval", CORRECT["interval"], counts=counts) == {PAYMENTS}


def test_rows_between_two_windows_are_accounted_for(spark: SparkSession) -> None:
    spec = replace(WINDOW.windows, kind=WindowKind.SLIDING, slide_ms=20_000, offset_ms=10_000)
    rows = copy.deepcopy(CORRECT["window"])
    rows["pairs"].pop()
    for one in rows["late_events"]:
        one.update(window_start=None, window_end=None)
    counts = {**counts_of("window"), "pairs": 3, "on_time_of_orders": 2, "unassigned_of_orders": 1}
    assert broken(spark, "window", rows, replace(WINDOW, windows=spec), counts) == set()
    short = {**counts, "unassigned_of_orders": 0}
    assert broken(spark, "window", rows, replace(WINDOW, windows=spec), short) == {ORDERS}


def test_late_rows_have_no_partner_where_firings_are_discarded(spark: SparkSession) -> None:
    pipeline = replace(WINDOW, windows=replace(WINDOW.windows, accumulation=Accumulation.DISCARDING))
    found = broken(spark, "window", CORRECT["window"], pipeline)
    assert found == {"pair_firings.late_rows_alone_have_no_partner"}


def test_too_many_late_rows_are_told(spark: SparkSession) -> None:
    # Two of eight rows that could join.
    strict, lax = (replace(INTERVAL, quality=Quality(max_too_late_ratio=limit)) for limit in (0.249, 0.25))
    assert broken(spark, "interval", CORRECT["interval"], strict) == {"run.not_too_many_rows_are_too_late"}
    assert broken(spark, "interval", CORRECT["interval"], lax) == set()


def test_dropped_rows_are_as_many_as_reported(spark: SparkSession) -> None:
    pipeline = replace(WINDOW, windows=replace(WINDOW.windows, late_data=LateData.DROP))
    rows = {**CORRECT["window"], "late_events": []}
    found = broken(spark, "window", rows, pipeline)
    assert found == set()


def test_checks_name_their_input_and_hide_columns_of_the_source(spark: SparkSession) -> None:
    rows = copy.deepcopy(CORRECT["interval"])
    change("pairs", 0, fired_at=at(11))(rows)
    found = check(tables(spark, "interval", rows), INTERVAL, counts_of("interval"))
    failed = [one for one in found if not one.success]
    assert [one.expectation for one in failed] == ["a_pair_fires_when_its_later_row_comes"]
    assert '"first_ms"' in failed[0].details
    assert "paid_for" not in failed[0].details
    summed = next(one for one in found if one.expectation == "every_row_of_orders_is_accounted_for")
    assert summed.observed == "6 read; 1 invalid + 1 filtered + 3 on time + 0 late + 1 too late = 6"


def test_a_table_that_is_not_there_is_told(spark: SparkSession) -> None:
    there = tables(spark, "interval", CORRECT["interval"])
    with pytest.raises(AuditError, match="the staged table pairs is missing, found late_events"):
        StagedJoin({"late_events": there["late_events"]}, INTERVAL, counts_of("interval"))
    with pytest.raises(AuditError, match="the staged table pairs has no column fired_at"):
        StagedJoin({**there, "pairs": there["pairs"].drop("fired_at")}, INTERVAL, counts_of("interval"))
    with pytest.raises(AuditError, match="the replay reported no late_of_payments"):
        StagedJoin(there, INTERVAL, {n: c for n, c in counts_of("interval").items() if n != "late_of_payments"})
