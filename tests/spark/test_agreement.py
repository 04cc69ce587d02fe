"""Windows that fired once are seen to agree all together, and each of them is looked at where one does not."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from expectations.staged import Staged
from expectations.suites import window_results
from spark_jobs.pipeline.model import Trigger, TriggerKind
from tests.spark.drawn_run import CORRECT, COUNTS, PIPELINE, Fault, both, change, failed_of, frames, interpreted, repeat

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
    told = staged(spark)
    found = window_results.glance(told)
    assert found is not None
    once, others = found
    # AA fired late panes in the first window, the key null missed a row there, and BB has nothing but that.
    assert (once, sorted((row.key.carrier or "", row.panes) for row in others.collect())) == (
        2,
        [("", 1), ("AA", 3), ("BB", 0)],
    )
    told.release()


@pytest.mark.parametrize(
    ("fault", "broken"),
    [
        # The key null in place of AA, and AA in place of it.
        (
            both(change("window_results", 2, carrier=None), change("window_results", 3, carrier="AA")),
            {"window_results.every_fired_window_has_one_result", "window_results.every_result_has_a_pane"},
        ),
        # Staged twice, both tables alike.
        (
            both(repeat("panes", 4), repeat("window_results", 2)),
            {
                "panes.every_window_has_one_pane_0",
                "window_results.every_fired_window_has_one_result",
                "run.every_row_is_accounted_for",
            },
        ),
        # A pane three times: their exclusive or is that of one.
        (
            both(repeat("panes", 4), repeat("panes", 4)),
            {"panes.every_window_has_one_pane_0", "window_results.results_count_their_panes"},
        ),
        (
            change("window_results", 2, flights=7),
            {"window_results.results_show_what_the_latest_pane_shows"},
        ),
        (
            both(change("window_results", 2, row_count=None), change("panes", 4, row_count=None)),
            {"window_results.results_hold_the_rows_of_the_latest_pane"},
        ),
    ],
    ids=["swapped", "twice", "three alike", "another value", "null on both sides"],
)
def test_what_does_not_agree_is_told_by_its_own_law(spark: SparkSession, fault: Fault, broken: set[str]) -> None:
    told = staged(spark, fault)
    assert window_results.glance(told) is None
    assert broken <= failed_of(told)


def test_windows_that_may_fire_at_any_time_are_all_looked_at(spark: SparkSession) -> None:
    counting = replace(PIPELINE, windows=replace(PIPELINE.windows, trigger=Trigger(TriggerKind.COUNT, n=3)))
    assert window_results.glance(Staged(frames(spark, CORRECT), counting, COUNTS)) is None
