"""Complete results: what all rows of a window say, beside what the job said (only with replay.mode complete).

The batch puts side by side what three tables say about a (key, window) of the grid: the complete results, the results,
and the late rows that it did not take. Sessions of a job may lie several in a complete one, which tells them itself:
there the batch is the complete results alone.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations import windows
from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.panes.per_epoch import gathers

_TOLD = ("window_end", "row_count", "missed_rows", "is_shown", "faithful_rows")


def rows(staged: Staged) -> DataFrame:
    """One row a (key, window) of the tables; `completes`, `results` and `late_events` are how many rows each has.

    `complete.*` is its complete result, `faithful_rows` the row count that this tells of the result, `row_count` that
    of the result itself.
    """
    faithful = staged.complete_results
    if staged.pipeline.windows.is_session:
        return faithful.select(
            "key",
            "window_start",
            "window_end",
            F.struct(*_TOLD).alias("complete"),
            F.lit(1).alias("completes"),
            F.when(F.col("is_shown"), 1).otherwise(0).alias("results"),
            F.col("faithful_rows").alias("row_count"),
            F.lit(0).alias("late_events"),
        )
    where = ("key", "window_start")
    told = faithful.select(*where, F.struct(*_TOLD).alias("complete"))
    results = staged.window_results.select(*where, "row_count")
    missed = staged.late_events.where("window_start IS NOT NULL").select(*where, F.lit(1).alias("missed"))
    everything = told.unionByName(results, allowMissingColumns=True).unionByName(missed, allowMissingColumns=True)
    grouped = everything.groupBy(*where).agg(
        F.count("complete").alias("completes"),
        F.count("row_count").alias("results"),
        F.count("missed").alias("late_events"),
        F.max("complete").alias("complete"),
        F.max("row_count").alias("row_count"),
    )
    return grouped.withColumn("window_end", F.col("complete.window_end"))


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """The invariants of complete results; none where there are none."""
    if not pipeline.is_complete:
        return ()
    always = (
        *windows.invariants(pipeline, where="completes > 0"),
        Invariant(
            "complete_results_miss_no_more_rows_than_they_have",
            "A complete result has at least one row, and of its rows misses none or some or all.",
            "completes = 0 OR (complete.row_count >= 1 AND complete.missed_rows BETWEEN 0 AND complete.row_count)",
        ),
    )
    held = Invariant(
        "complete_results_have_the_rows_of_the_results",
        "The row_count of a complete result is that of the result and the rows that this lacks.",
        "completes = 0 OR complete.row_count = coalesce(row_count, 0) + complete.missed_rows",
    )
    discards = pipeline.windows.discards
    return (*always, *(() if discards else (held,)), *_of_grid(pipeline))


def _of_grid(pipeline: Pipeline) -> tuple[Invariant, ...]:
    if pipeline.windows.is_session:
        return ()
    same = "complete.is_shown = (results > 0) AND complete.faithful_rows IS NOT DISTINCT FROM row_count"
    found: tuple[Invariant, ...] = (
        Invariant(
            "complete_results_tell_what_the_results_say",
            "A complete result is shown if, and only if, the window has a result, and tells the row_count of that.",
            f"completes = 0 OR ({same})",
        ),
    )
    # A window that fires early has a result while it waits for the watermark.
    if pipeline.windows.trigger.is_default or pipeline.replay.closes:
        found = (
            *found,
            Invariant(
                "every_result_has_a_complete_one",
                "A key and window with a result has exactly one complete result, and none has two.",
                "completes = 1 OR (completes = 0 AND results = 0 AND late_events = 0)",
            ),
        )
    # A row that one of its windows drops may be in another; one that waits, for a count or its epoch, is no late event.
    may_wait = pipeline.windows.trigger.counts_rows or gathers(pipeline)
    if pipeline.windows.is_sliding or may_wait or pipeline.windows.drops_late:
        return found
    missed = Invariant(
        "complete_results_miss_the_rows_that_came_too_late",
        "The missed_rows of a complete result are the late events of its key and window.",
        "completes = 0 OR complete.missed_rows = late_events",
    )
    return (*found, missed)


SUITE = Suite(
    "complete_results",
    rows,
    invariants,
    shows=("key", "window_start", "window_end", "completes", "results", "late_events", "row_count", "complete"),
)
