"""Window results: one row a (key, window), which says what its latest pane says.

The batch puts side by side what three tables say about a (key, window): the results, the panes, and the late rows that
it did not take. A result without panes, panes without a result, or two results for one window show up as rows too.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations import bulk_agreement, windows
from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from expectations.suites import panes
from spark_jobs.pipeline.model import Pipeline

_RESULT = ("window_end", "row_count", "pane_count", "too_late_count", "last_fired_at", "shown")
_LATEST = ("row_count", "fired_at", "shown")
# What holds of all panes of a (key, window) together, under any pipeline.
_OF_ALL_PANES = (
    Invariant(
        "every_window_has_one_pane_0",
        "Every key and window that has panes has exactly one with number 0.",
        "panes = 0 OR first_panes = 1",
    ),
)

# Two results of one window are told as such, and not compared with anything.
_BOTH = "results = 1 AND panes > 0"


def rows(staged: Staged) -> DataFrame:
    """One row a (key, window) of any of the three tables.

    `results`, `panes` and `late_events` are how many rows each has, `first_panes` how many panes have number 0;
    `result.*` is its result, `latest.*` its pane with the highest number.
    """
    return _side_by_side(staged, staged.window_results, staged.panes)


def bulk_check(staged: Staged) -> tuple[int, DataFrame] | None:
    """Look one by one only at windows that fired again or missed a row, where all others are seen to agree."""
    if not bulk_agreement.supports_bulk_check(staged.pipeline):
        return None
    if not staged.few_again:
        return None
    # Results are summed up while another thread does so for panes.
    staged.once(bulk_agreement.sums_of_results)
    first = staged.once(panes.bulk_verified)
    if first is None or not bulk_agreement.results_agree(staged, first):
        return None
    once = first.without(staged.once(bulk_agreement.sums_of_first_panes_again))
    return once.rows, _side_by_side(staged, staged.results_again, staged.panes_again)


def _side_by_side(staged: Staged, results: DataFrame, fired: DataFrame) -> DataFrame:
    """Group, and not join: in a group a null in the key is a value.

    Every aggregate is one of numbers or times, which Spark keeps in place.
    """
    where, one = staged.place, F.lit(1)
    told = results.select(*where, one.alias("is_result"), *(F.col(name).alias(f"result_{name}") for name in _RESULT))
    shown = fired.select(
        *where, one.alias("is_pane"), "pane_index", *(F.col(name).alias(f"pane_{name}") for name in _LATEST)
    )
    missed = staged.missed.select(*where, one.alias("is_missed"))
    everything = told.unionByName(shown, allowMissingColumns=True).unionByName(missed, allowMissingColumns=True)
    grouped = everything.groupBy(*where).agg(
        F.count("is_result").alias("results"),
        F.count("is_pane").alias("panes"),
        F.count_if(F.col("pane_index") == 0).alias("first_panes"),
        F.count("is_missed").alias("late_events"),
        *(F.max(f"result_{name}").alias(f"result_{name}") for name in _RESULT),
        *(F.max_by(f"pane_{name}", "pane_index").alias(f"pane_{name}") for name in _LATEST),
    )
    known = grouped if "window_end" in where else grouped.withColumn("window_end", F.col("result_window_end"))
    gathered = known.select(
        *where,
        *(() if "window_end" in where else ("window_end",)),
        "results",
        "panes",
        "first_panes",
        "late_events",
        F.struct(*(F.col(f"result_{name}").alias(name) for name in _RESULT)).alias("result"),
        F.struct(*(F.col(f"pane_{name}").alias(name) for name in _LATEST)).alias("latest"),
    )
    if not staged.pipeline.windows.is_sliding:
        return gathered
    return gathered.crossJoin(F.broadcast(staged.calendar.agg(F.max("window_start").alias("last_start"))))


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """The invariants of results."""
    always = (
        *windows.invariants(pipeline, where="results > 0"),
        _one_result(pipeline),
        Invariant(
            "every_result_has_a_pane",
            "A result tells of a window that has fired.",
            "results = 0 OR panes > 0",
        ),
        Invariant(
            "results_hold_the_rows_of_the_latest_pane",
            "The row_count of a result is that of its pane with the highest number.",
            f"NOT ({_BOTH}) OR result.row_count = latest.row_count",
        ),
        Invariant(
            "results_count_their_panes",
            "The pane_count of a result is the number of its panes.",
            f"NOT ({_BOTH}) OR result.pane_count = panes",
        ),
        Invariant(
            "results_are_as_of_the_latest_pane",
            "The last_fired_at of a result is the firing time of its pane with the highest number.",
            f"NOT ({_BOTH}) OR result.last_fired_at = latest.fired_at",
        ),
        Invariant(
            "results_show_what_the_latest_pane_shows",
            "Every aggregate of a result is that of its pane with the highest number.",
            f"NOT ({_BOTH}) OR result.shown = latest.shown",
        ),
    )
    if pipeline.windows.drops_late:
        return always
    missed = Invariant(
        "results_count_the_rows_they_missed",
        "The too_late_count of a result is the number of late events of its key and window.",
        f"results <> 1 OR {_counted(pipeline)}",
    )
    return (*always, missed)


def _counted(pipeline: Pipeline) -> str:
    if not pipeline.windows.is_sliding:
        return "result.too_late_count = late_events"
    # A run over part of time tells no late events of newer windows, which the last of its own may share.
    whole = f"unix_millis(window_end) <= unix_millis(last_start) + {pipeline.windows.period_ms}"
    return f"CASE WHEN {whole} THEN result.too_late_count = late_events ELSE result.too_late_count >= late_events END"


def _one_result(pipeline: Pipeline) -> Invariant:
    if pipeline.windows.is_session:
        return Invariant(
            "no_session_has_two_results",
            "A session has one result, or none if a later session has swallowed it.",
            "results <= 1",
        )
    return Invariant(
        "every_fired_window_has_one_result",
        "A key and window with panes has exactly one result, and none has two.",
        "results = 1 OR (results = 0 AND panes = 0)",
    )


_SHOWS = ("key", "window_start", "window_end", "results", "panes", "first_panes", "late_events", "result", "latest")

SUITE = Suite("window_results", rows, invariants, _SHOWS, bulk_check)
#: About the same rows as `SUITE`, which are made once for both.
OF_PANES = Suite("panes", rows, lambda _: _OF_ALL_PANES, _SHOWS, bulk_check)
