"""Windows that fired once are seen to agree all together, and each of them is looked at where one does not."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import pytest
from pyspark.sql import SparkSession

from expectations.staged import Staged
from expectations.suites import panes, window_results
from spark_jobs.pipeline.model import Trigger, TriggerKind
from tests.sampling import sampled
from tests.support.generated_run import (
    CORRECT,
    COUNTS,
    PIPELINE,
    Fault,
    all_of,
    change,
    failed_of,
    frames,
    interpreted,
    repeat,
)

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.fixture(scope="module", autouse=True)
def quick(spark: SparkSession) -> Iterator[None]:
    with interpreted(spark):
        yield


def staged(spark: SparkSession, fault: Fault = lambda rows: None) -> Staged:
    rows = copy.deepcopy(CORRECT)
    fault(rows)
    return Staged(frames(spark, rows), PIPELINE, COUNTS)


def test_only_windows_that_fired_again_or_missed_a_row_are_looked_at_one_by_one(spark: SparkSession) -> None:
    tables = staged(spark)
    result = window_results.bulk_check(tables)
    assert result is not None
    once, rest = result
    # AA fired late panes in the first window, the key null missed a row in it, and BB has nothing but a missed row.
    assert (once, sorted((row.key.carrier or "", row.panes) for row in rest.collect())) == (
        2,
        [("", 1), ("AA", 3), ("BB", 0)],
    )
    tables.release()


def test_only_panes_of_these_windows_are_looked_at_one_by_one(spark: SparkSession) -> None:
    tables = staged(spark)
    result = panes.bulk_check(tables)
    assert result is not None
    once, rest = result
    assert once == 2
    assert Counter(row.key.carrier or "" for row in rest.collect()) == {"": 1, "AA": 3}
    tables.release()


@pytest.mark.parametrize(
    "fault",
    [repeat("panes", 4), change("panes", 4, row_count=0), change("panes", 4, fired_at=None)],
    ids=["twice", "against an invariant", "null"],
)
def test_panes_are_all_looked_at_where_a_first_one_is_not_right(spark: SparkSession, fault: Fault) -> None:
    assert panes.bulk_check(staged(spark, fault)) is None


def test_of_several_threads_one_looks_and_the_others_wait_for_what_it_finds(spark: SparkSession) -> None:
    tables, looked, go_on = staged(spark), [], Event()

    def find(_: Staged) -> int:
        looked.append("here")
        go_on.wait(60)
        raise ValueError("nothing there")

    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(tables.once, find) for _ in range(3)]
        go_on.set()
        assert [str(future.exception()) for future in futures] == ["nothing there"] * 3
    assert looked == ["here"]


DISAGREEMENTS: dict[str, tuple[Fault, set[str]]] = {
    # The key null in place of AA, and AA in place of it.
    "swapped": (
        all_of(change("window_results", 2, carrier=None), change("window_results", 3, carrier="AA")),
        {"window_results.every_fired_window_has_one_result", "window_results.every_result_has_a_pane"},
    ),
    # Staged twice, both tables alike.
    "twice": (
        all_of(repeat("panes", 4), repeat("window_results", 2)),
        {
            "panes.every_window_has_one_pane_0",
            "window_results.every_fired_window_has_one_result",
            "run.every_row_is_accounted_for",
        },
    ),
    # A pane three times: their exclusive or is that of one.
    "three alike": (
        all_of(repeat("panes", 4), repeat("panes", 4)),
        {"panes.every_window_has_one_pane_0", "window_results.results_count_their_panes"},
    ),
    "another value": (
        change("window_results", 2, flights=7),
        {"window_results.results_show_what_the_latest_pane_shows"},
    ),
    "null on both sides": (
        all_of(change("window_results", 2, row_count=None), change("panes", 4, row_count=None)),
        {"window_results.results_hold_the_rows_of_the_latest_pane"},
    ),
    # Neither a first pane nor a later one.
    "no number": (
        change("panes", 4, pane_index=None),
        {"panes.pane_numbers_have_no_gap_and_no_duplicate"},
    ),
}


@pytest.mark.parametrize(
    ("fault", "broken"),
    [sampled(*case, quick=number % 2 == 1, id=name) for number, (name, case) in enumerate(DISAGREEMENTS.items())],
)
def test_a_disagreement_fails_the_invariants_that_it_breaks(
    spark: SparkSession, fault: Fault, broken: set[str]
) -> None:
    tables = staged(spark, fault)
    assert window_results.bulk_check(tables) is None
    assert broken <= failed_of(tables)


def test_windows_that_may_fire_at_any_time_are_all_looked_at(spark: SparkSession) -> None:
    counting = replace(PIPELINE, windows=replace(PIPELINE.windows, trigger=Trigger(TriggerKind.COUNT, n=3)))
    assert window_results.bulk_check(Staged(frames(spark, CORRECT), counting, COUNTS)) is None
