"""Complete results: the results over all rows of a window, beside the job's results (with `replay.mode: complete`).

The batch has one row for each (key, window) of three tables: the complete results, the results, and the late events.
For sessions the batch is the complete results alone: one complete session may contain several sessions of the job, and
its `faithful` column lists them.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations import windows
from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from expectations.staged_complete import complete_results
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import COMPLETE_RESULTS
from spark_jobs.replay.panes.per_epoch import gathers

_COMPLETE = ("window_end", "row_count", "missed_rows", "is_shown", "faithful_rows")


def rows(staged: Staged) -> DataFrame:
    """Return one row for each (key, window) of the three tables.

    `completes`, `results` and `late_events` are the numbers of rows in each table. `complete.*` is the complete result
    and `complete.faithful_rows` its copy of the result's row count. `row_count` is the row count of the result.
    """
    completes = staged.once(complete_results)
    if staged.pipeline.windows.is_session:
        return completes.select(
            "key",
            "window_start",
            "window_end",
            F.struct(*_COMPLETE).alias("complete"),
            F.lit(1).alias("completes"),
            F.when(F.col("is_shown"), 1).otherwise(0).alias("results"),
            F.col("faithful_rows").alias("row_count"),
            F.lit(0).alias("late_events"),
        )
    place = ("key", "window_start")
    complete = completes.select(*place, F.struct(*_COMPLETE).alias("complete"))
    results = staged.window_results.select(*place, "row_count")
    late = staged.late_events.where("window_start IS NOT NULL").select(*place, F.lit(1).alias("is_late"))
    everything = complete.unionByName(results, allowMissingColumns=True).unionByName(late, allowMissingColumns=True)
    grouped = everything.groupBy(*place).agg(
        F.count("complete").alias("completes"),
        F.count("row_count").alias("results"),
        F.count("is_late").alias("late_events"),
        F.max("complete").alias("complete"),
        F.max("row_count").alias("row_count"),
    )
    return grouped.withColumn("window_end", F.col("complete.window_end"))


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of complete results; none for a pipeline without them."""
    if not pipeline.is_complete:
        return ()
    always = (
        *windows.invariants(pipeline, selected="completes > 0"),
        Invariant(
            "complete_results_miss_no_more_rows_than_they_have",
            "A complete result has at least one row, and its missed_rows are from 0 to its row_count.",
            "completes = 0 OR (complete.row_count >= 1 AND complete.missed_rows BETWEEN 0 AND complete.row_count)",
        ),
    )
    same_rows = Invariant(
        "complete_results_have_the_rows_of_the_results",
        "The row_count of a complete result is the row_count of the result plus missed_rows.",
        "completes = 0 OR complete.row_count = coalesce(row_count, 0) + complete.missed_rows",
    )
    discards = pipeline.windows.discards
    return (*always, *(() if discards else (same_rows,)), *_of_grid(pipeline))


def _of_grid(pipeline: Pipeline) -> tuple[Invariant, ...]:
    if pipeline.windows.is_session:
        return ()
    same = "complete.is_shown = (results > 0) AND complete.faithful_rows IS NOT DISTINCT FROM row_count"
    grid_invariants: tuple[Invariant, ...] = (
        Invariant(
            "complete_results_tell_what_the_results_say",
            "A complete result is shown if, and only if, the window has a result. Its faithful row_count is the "
            "row_count of that result.",
            f"completes = 0 OR ({same})",
        ),
    )
    # A window that fires early has a result before the watermark has passed it, and no complete result yet.
    if pipeline.windows.trigger.is_default or pipeline.replay.closes:
        grid_invariants = (
            *grid_invariants,
            Invariant(
                "every_result_has_a_complete_one",
                "A key and window with a result has exactly one complete result, and none has two.",
                "completes = 1 OR (completes = 0 AND results = 0 AND late_events = 0)",
            ),
        )
    # A row that one window drops may be in another. A row that waits for a count or its epoch is not a late event.
    may_wait = pipeline.windows.trigger.counts_rows or gathers(pipeline)
    if pipeline.windows.is_sliding or may_wait or pipeline.windows.drops_late:
        return grid_invariants
    missed_rows = Invariant(
        "complete_results_miss_the_rows_that_came_too_late",
        "The missed_rows of a complete result are the late events of its key and window.",
        "completes = 0 OR complete.missed_rows = late_events",
    )
    return (*grid_invariants, missed_rows)


SUITE = Suite(
    "complete_results",
    COMPLETE_RESULTS,
    rows,
    invariants,
    shows=("key", "window_start", "window_end", "completes", "results", "late_events", "row_count", "complete"),
)
