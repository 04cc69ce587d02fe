"""Window results: one row a (key, window), with the values of its latest pane.

The batch has one row for each (key, window) of three tables: the results, the panes, and the late events. It also shows
a result without panes, panes without a result, and a window with two results.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations import bulk_agreement, local_time, windows
from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from expectations.suites import panes
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import PANES, WINDOW_RESULTS

_RESULT = ("window_end", "row_count", "pane_count", "too_late_count", "last_fired_at", "shown")
_LATEST = ("row_count", "fired_at", "shown")
# The invariants of all panes of a (key, window) together, for every pipeline.
_OF_ALL_PANES = (
    Invariant(
        "every_window_has_one_pane_0",
        "Every key and window that has panes has exactly one with number 0.",
        "panes = 0 OR first_panes = 1",
    ),
)

# Another invariant reports two results of one window. They are compared with nothing else.
_ONE_RESULT_WITH_PANES = "results = 1 AND panes > 0"


def rows(staged: Staged) -> DataFrame:
    """Return one row for each (key, window) of any of the three tables.

    `results`, `panes` and `late_events` are the numbers of rows in each table. `first_panes` is the number of panes
    with number 0. `result.*` is the result, `latest.*` the pane with the highest number.
    """
    return _side_by_side(staged, staged.window_results, staged.panes)


def bulk_check(staged: Staged) -> tuple[int, DataFrame] | None:
    """Verify together the windows that fired once, and leave only the revisited windows to be checked one by one."""
    if not bulk_agreement.supports_bulk_check(staged.pipeline):
        return None
    if not staged.can_broadcast_revisited:
        return None
    # Another thread computes the sums of the panes at the same time.
    staged.once(bulk_agreement.sums_of_results)
    first = staged.once(panes.bulk_verified)
    if first is None or not bulk_agreement.results_agree(staged, first):
        return None
    verified = first.without(staged.once(bulk_agreement.sums_of_revisited_first_panes))
    return verified.rows, _side_by_side(staged, staged.revisited_results, staged.revisited_panes)


def _side_by_side(staged: Staged, results: DataFrame, fired: DataFrame) -> DataFrame:
    """Return one row for each place of the results, the fired panes and the missed windows.

    It groups instead of joining, because null is a key value in a group. All aggregates are over numbers or times,
    which Spark updates in place.
    """
    place, marker = staged.place, F.lit(1)
    result_rows = results.select(
        *place, marker.alias("is_result"), *(F.col(name).alias(f"result_{name}") for name in _RESULT)
    )
    pane_rows = fired.select(
        *place, marker.alias("is_pane"), "pane_index", *(F.col(name).alias(f"pane_{name}") for name in _LATEST)
    )
    missed_rows = staged.missed_windows.select(*place, marker.alias("is_missed"))
    everything = result_rows.unionByName(pane_rows, allowMissingColumns=True).unionByName(
        missed_rows, allowMissingColumns=True
    )
    grouped = everything.groupBy(*place).agg(
        F.count("is_result").alias("results"),
        F.count("is_pane").alias("panes"),
        F.count_if(F.col("pane_index") == 0).alias("first_panes"),
        F.count("is_missed").alias("late_events"),
        *(F.max(f"result_{name}").alias(f"result_{name}") for name in _RESULT),
        *(F.max_by(f"pane_{name}", "pane_index").alias(f"pane_{name}") for name in _LATEST),
    )
    with_end = grouped if "window_end" in place else grouped.withColumn("window_end", F.col("result_window_end"))
    compared = with_end.select(
        *place,
        *(() if "window_end" in place else ("window_end",)),
        "results",
        "panes",
        "first_panes",
        "late_events",
        F.struct(*(F.col(f"result_{name}").alias(name) for name in _RESULT)).alias("result"),
        F.struct(*(F.col(f"pane_{name}").alias(name) for name in _LATEST)).alias("latest"),
    )
    if not staged.pipeline.windows.is_sliding:
        return compared
    return _with_last_start(staged, compared)


def _with_last_start(staged: Staged, compared: DataFrame) -> DataFrame:
    """Add `last_start`, the start of the newest calendar window: for a run over stretches, of the same stretch."""
    last_start = F.max("window_start").alias("last_start")
    if not staged.context.stretches:
        return compared.crossJoin(F.broadcast(staged.calendar.agg(last_start)))
    stretch_end = staged.context.stretch_end(F.col("window_start"))
    newest = staged.calendar.groupBy(stretch_end.alias("newest_in")).agg(last_start)
    of_same_stretch = F.col("stretch_end").eqNullSafe(F.col("newest_in"))
    in_stretches = compared.withColumn("stretch_end", stretch_end)
    return in_stretches.join(F.broadcast(newest), of_same_stretch, "left").drop("stretch_end", "newest_in")


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of results."""
    always = (
        *windows.invariants(pipeline, selected="results > 0"),
        _one_result(pipeline),
        Invariant(
            "every_result_has_a_pane",
            "A result belongs to a window that has fired.",
            "results = 0 OR panes > 0",
        ),
        Invariant(
            "results_hold_the_rows_of_the_latest_pane",
            "The row_count of a result is the row_count of its pane with the highest number.",
            f"NOT ({_ONE_RESULT_WITH_PANES}) OR result.row_count = latest.row_count",
        ),
        Invariant(
            "results_count_their_panes",
            "The pane_count of a result is the number of its panes.",
            f"NOT ({_ONE_RESULT_WITH_PANES}) OR result.pane_count = panes",
        ),
        Invariant(
            "results_are_as_of_the_latest_pane",
            "The last_fired_at of a result is the firing time of its pane with the highest number.",
            f"NOT ({_ONE_RESULT_WITH_PANES}) OR result.last_fired_at = latest.fired_at",
        ),
        Invariant(
            "results_show_what_the_latest_pane_shows",
            "Every aggregate of a result equals the aggregate of its pane with the highest number.",
            f"NOT ({_ONE_RESULT_WITH_PANES}) OR result.shown = latest.shown",
        ),
    )
    if pipeline.windows.drops_late:
        return always
    too_late_count = Invariant(
        "results_count_the_rows_they_missed",
        "The too_late_count of a result is the number of late events of its key and window.",
        f"results <> 1 OR {_counted(pipeline)}",
    )
    return (*always, too_late_count)


def _counted(pipeline: Pipeline) -> str:
    if not pipeline.windows.is_sliding:
        return "result.too_late_count = late_events"
    # A run over part of time has no late events of newer windows. The last windows of a part may share these events.
    whole = f"unix_millis(window_end) <= unix_millis(last_start) + {pipeline.windows.period_ms}"
    if pipeline.windows.are_local:
        whole = f"window_end <= {local_time.moved('last_start', str(pipeline.windows.period_ms), pipeline.windows)}"
    return f"CASE WHEN {whole} THEN result.too_late_count = late_events ELSE result.too_late_count >= late_events END"


def _one_result(pipeline: Pipeline) -> Invariant:
    if pipeline.windows.is_session:
        return Invariant(
            "no_session_has_two_results",
            "A session has one result, or none if it was merged into a later session.",
            "results <= 1",
        )
    return Invariant(
        "every_fired_window_has_one_result",
        "A key and window with panes has exactly one result, and none has two.",
        "results = 1 OR (results = 0 AND panes = 0)",
    )


_SHOWS = ("key", "window_start", "window_end", "results", "panes", "first_panes", "late_events", "result", "latest")

SUITE = Suite("window_results", WINDOW_RESULTS, rows, invariants, _SHOWS, bulk_check)
#: A suite with the same rows as `SUITE`: they are computed once for both.
OF_PANES = Suite("panes", PANES, rows, lambda _: _OF_ALL_PANES, _SHOWS, bulk_check)
