"""An audit: what passes, what an answer shows and what it hides, and what a pipeline's settings change."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from expectations import AuditError, Check, check
from spark_jobs.pipeline.model import (
    Accumulation,
    EndOfInput,
    Learned,
    Order,
    Pipeline,
    Quality,
    ReplayOrder,
    Source,
    TimeField,
)
from tests.support.generated_run import (
    CORRECT,
    COUNTS,
    PIPELINE,
    SCHEMAS,
    Fault,
    Rows,
    all_of,
    at,
    change,
    firing,
    frames,
    interpreted,
    invalid,
    late_event,
    pane,
    remove,
    result,
)

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("session"),
    # Modules that Great Expectations imports.
    pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def quick(spark: SparkSession) -> Iterator[None]:
    with interpreted(spark):
        yield


ALL_COUNTS = {**COUNTS, "invalid": 3, "on_time": 9, "late": 3, "too_late": 2, "windows": 4, "panes": 6, "late_panes": 3}


def failing(
    spark: SparkSession, fault: Fault, pipeline: Pipeline = PIPELINE, counts: dict[str, int] = COUNTS
) -> dict[str, Check]:
    """What fails once `fault` has changed the correct rows, by the expectation's name."""
    rows = copy.deepcopy(CORRECT)
    fault(rows)
    return {c.expectation: c for c in check(frames(spark, rows), pipeline, counts) if not c.success}


def test_correct_tables_pass_every_invariant(spark: SparkSession) -> None:
    checks = check(frames(spark, CORRECT), PIPELINE, ALL_COUNTS)
    assert [c for c in checks if not c.success] == []
    assert {(c.suite, c.table) for c in checks} == {
        ("source", "invalid_events"),
        ("watermarks", "watermarks"),
        ("panes", "panes"),
        ("window_results", "window_results"),
        ("late_events", "late_events"),
        ("plausibility", None),
        ("run", None),
    }
    assert {c.details for c in checks} == {""}
    observed = {c.expectation: c.observed for c in checks}
    assert observed["every_row_is_accounted_for"] == (
        "18 read; 3 invalid + 1 filtered + 9 on time + 3 late + 2 too late = 18"
    )
    assert observed["not_too_many_rows_are_too_late"] == "2 of 14 rows (14.286 %)"
    assert observed["no_pane_is_empty"] == "0 of 6 rows"


def test_a_run_without_rows_passes_every_invariant(spark: SparkSession) -> None:
    nothing = frames(spark, {table: [] for table in SCHEMAS})
    assert [c for c in check(nothing, PIPELINE, {"rows_read": 0, "filtered": 0}) if not c.success] == []


@pytest.mark.parametrize(
    ("fault", "sum_found"),
    [
        (remove("late_events", 1), "3 invalid + 1 filtered + 9 on time + 3 late + 1 too late = 17"),
        (remove("invalid_events", 1), "2 invalid + 1 filtered + 9 on time + 3 late + 2 too late = 17"),
        (
            all_of(change("panes", 4, row_count=1), change("window_results", 2, row_count=1)),
            "3 invalid + 1 filtered + 8 on time + 3 late + 2 too late = 17",
        ),
        (
            lambda rows: rows["invalid_events"].append(invalid("event_time_missing")),
            "4 invalid + 1 filtered + 9 on time + 3 late + 2 too late = 19",
        ),
    ],
    ids=["a lost late event", "a lost invalid row", "a lost on-time row", "an invalid row repeated"],
)
def test_a_lost_or_repeated_row_breaks_conservation_alone(spark: SparkSession, fault: Fault, sum_found: str) -> None:
    failures = failing(spark, fault)
    assert list(failures) == ["every_row_is_accounted_for"]
    assert failures["every_row_is_accounted_for"].observed == f"18 read; {sum_found}"


def test_a_count_that_is_not_what_is_staged_is_named(spark: SparkSession) -> None:
    counts = {**ALL_COUNTS, "panes": 7, "too_late": 0}
    checks = check(frames(spark, CORRECT), PIPELINE, counts)
    assert {c.expectation: c.observed for c in checks if not c.success} == {
        "reported_counts_are_what_is_staged": "too_late: 0 reported, 2 staged; panes: 7 reported, 6 staged"
    }


def test_more_too_late_rows_than_the_pipeline_allows_fail(spark: SparkSession) -> None:
    strict = replace(PIPELINE, quality=replace(PIPELINE.quality, max_too_late_ratio=0.142))
    assert list(failing(spark, all_of(), strict)) == ["not_too_many_rows_are_too_late"]


@pytest.mark.soak
def test_other_shares_have_separate_limits(spark: SparkSession) -> None:
    # 14 rows belong to a window, of which 3 are late; 3 of the 18 rows read are invalid.
    for late, invalid_, expected in (
        (0.21, None, ["not_too_many_rows_are_late"]),
        (0.22, 0.16, ["not_too_many_rows_are_invalid"]),
        (None, 0.17, []),
    ):
        quality = replace(PIPELINE.quality, max_late_ratio=late, max_invalid_ratio=invalid_)
        assert list(failing(spark, all_of(), replace(PIPELINE, quality=quality))) == expected


@pytest.mark.soak
def test_a_share_that_is_learned_warns_from_the_seventh_run_on(spark: SparkSession) -> None:
    learned = replace(PIPELINE, quality=Quality(max_too_late_ratio=Learned.LEARNED))
    tables = frames(spark, lost_rows(CORRECT, 30))
    counts = {"rows_read": 18 + 30, "filtered": 1}
    usual = {"on_time": 99, "late": 0, "too_late": 1, "rows_read": 100}
    for runs, success, observed in (
        (6, True, "32 of 44 rows (72.727 %); nothing is usual before 7 earlier runs"),
        (7, False, "32 of 44 rows (72.727 %); usual are up to 1.0 %"),
    ):
        checks = check(tables, learned, counts, None, [usual] * runs)
        (ratio_check,) = (c for c in checks if c.expectation == "not_too_many_rows_are_too_late")
        assert (ratio_check.success, ratio_check.observed, ratio_check.blocks) == (success, observed, False)


def lost_rows(rows: Rows, count: int) -> Rows:
    """The run, and so many more rows that came too late."""
    more = [late_event("BB", 6, 21, 19) for _ in range(count)]
    return {**rows, "late_events": [*rows["late_events"], *more]}


def test_an_invalid_row_shows_its_reason_and_nothing_else(spark: SparkSession) -> None:
    fault = all_of(change("invalid_events", 0, reason="bad"), change("invalid_events", 1, reason=None))
    failures = failing(spark, fault)
    assert list(failures) == ["invalid_rows_say_why"]
    assert failures["invalid_rows_say_why"].unexpected_count == 2
    assert set(failures["invalid_rows_say_why"].details.splitlines()) == {'{"reason":"bad"}', "{}"}


def test_reasons_about_the_arrival_time_need_one(spark: SparkSession) -> None:
    by_event_time = replace(
        PIPELINE, source=Source("flights", TimeField("departed_at")), replay=ReplayOrder(Order.EVENT_TIME)
    )
    failures = failing(spark, change("invalid_events", 0, reason="arrival_time_missing"), by_event_time)
    # The drawn run also holds a row from the future, which nothing could have detected.
    assert {name: c.unexpected_count for name, c in failures.items()} == {"reasons_are_about_what_is_declared": 2}


def test_a_failure_shows_a_few_rows_with_key_and_times_in_utc_and_no_column_of_the_source(spark: SparkSession) -> None:
    def many_early(rows: dict[str, list[dict[str, Any]]]) -> None:
        for _ in range(20):
            rows["late_events"].append({**late_event("BB", 6, 21, 19), "late_by_ms": 1})

    failures = failing(spark, all_of(many_early, change("panes", 3, row_count=2)), counts={**COUNTS, "rows_read": 38})
    wrong = failures["late_by_is_the_watermark_minus_the_event_time"]
    assert wrong.unexpected_count == 20
    assert wrong.observed == "20 of 22 rows"
    assert len(wrong.details.splitlines()) == 5
    assert json.loads(wrong.details.splitlines()[0]) == {
        "event_time": "2013-01-01T00:00:06.000Z",
        "arrival_time": "2013-01-01T00:00:21.000Z",
        "watermark": "2013-01-01T00:00:19.000Z",
        "late_by_ms": 1,
        "window_start": "2013-01-01T00:00:00.000Z",
        "window_end": "2013-01-01T00:00:10.000Z",
    }
    assert json.loads(failures["late_panes_add_one_row"].details)["key"] == {}
    assert "Ada" not in str(failures)


@pytest.mark.soak
def test_discarding_panes_hold_their_own_row(spark: SparkSession) -> None:
    discarding = replace(PIPELINE, windows=replace(PIPELINE.windows, accumulation=Accumulation.DISCARDING))
    alone = all_of(
        change("panes", 1, row_count=1),
        change("panes", 2, row_count=1),
        change("window_results", 0, row_count=1),
    )
    assert failing(spark, alone, discarding) == {}
    assert list(failing(spark, all_of(alone, change("panes", 1, row_count=4)), discarding)) == [
        "late_panes_hold_their_own_row"
    ]


def test_rows_in_open_windows_are_missing_only_while_a_window_is_open(spark: SparkSession) -> None:
    keep_open = replace(PIPELINE, replay=ReplayOrder(end_of_input=EndOfInput.KEEP_OPEN))
    still_open = all_of(
        change("watermarks", 2, fires_at=None, watermark_at_fire=None, closes_at=None),
        remove("panes", 5),
        remove("window_results", 3),
    )
    assert failing(spark, still_open, keep_open, {**ALL_COUNTS, "windows": 3, "panes": 5}) == {}
    assert list(failing(spark, all_of(remove("panes", 5), remove("window_results", 3)), keep_open)) == [
        "every_row_is_accounted_for"
    ]


def test_one_group_for_all_is_a_key_too(spark: SparkSession) -> None:
    windows = replace(PIPELINE.windows, key=(), offset_ms=-3_000)
    one_group = replace(PIPELINE, windows=windows, quality=Quality())
    tables = frames(
        spark,
        {
            "watermarks": [firing(7, at(18), at(17), at(30), [])],
            "panes": [
                pane("AA", 7, 0, "on_time", at(18), at(17), 2),
                pane("AA", 7, 1, "late", at(19), at(17), 3),
            ],
            "window_results": [result("AA", 7, 2, 3, at(19), too_late=1)],
            "late_events": [{**late_event("AA", 8, 40, 25), "window_start": at(7), "window_end": at(17)}],
            "invalid_events": [],
        },
    )
    keyless = {table: rows.drop("carrier") for table, rows in tables.items()}
    assert [c for c in check(keyless, one_group, {"rows_read": 4, "filtered": 0}) if not c.success] == []


def test_a_table_without_the_contracts_columns_is_an_error_before_anything_is_computed(spark: SparkSession) -> None:
    tables = frames(spark, CORRECT)
    with pytest.raises(AuditError, match="the staged table panes has no column carrier, fired_at; stage the run again"):
        check({**tables, "panes": tables["panes"].drop("carrier", "fired_at")}, PIPELINE, COUNTS)
    with pytest.raises(AuditError, match="the staged table panes is missing, found late_events"):
        check({"late_events": tables["late_events"], "watermarks": tables["watermarks"]}, PIPELINE, COUNTS)
    with pytest.raises(AuditError, match="the replay reported no filtered; run the replay step again"):
        check(tables, PIPELINE, {"rows_read": 18})


@pytest.mark.soak
def test_nothing_stays_in_sparks_storage(spark: SparkSession) -> None:
    before = spark.sparkContext._jsc.sc().getPersistentRDDs().size()
    check(frames(spark, CORRECT), PIPELINE, COUNTS)
    assert spark.sparkContext._jsc.sc().getPersistentRDDs().size() == before
