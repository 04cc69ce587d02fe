"""Panes: every firing of every window, one row each.

A window's panes are numbered 0, 1, 2 ... in firing order. By default only number 0 can be the on-time pane, fired by
the watermark; all others are fired by one late row each, while the watermark is past the window and its state is still
there (rules 60-68). What holds under other triggers is in `firings`.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from expectations import bulk_agreement, lateness, triggers, windows
from expectations.bulk_agreement import Sums
from expectations.invariant import Invariant, Suite
from expectations.staged import Staged, count_all_rows
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import keys

_BEFORE = ("pane_index", "timing", "row_count", "fired_at", "watermark")


def rows(staged: Staged) -> DataFrame:
    """The panes, each with what came before it and with its window in the calendar.

    `place` counts from 1 along the (key, window); `previous_*` are values of the pane before. Nothing is before pane 0:
    only windows that fire again are put in order.
    """
    first = staged.panes.where("pane_index = 0")
    return _placed(staged, first, _fired_again(staged, first))


def bulk_verified(staged: Staged) -> Sums | None:
    """What `bulk_agreement.sums_of_panes` finds of all first panes."""
    first = _alone(staged.panes.where("pane_index = 0")).join(staged.calendar, "window_start", "left")
    return bulk_agreement.sums_of_panes(staged, first, invariants(staged.pipeline))


def bulk_check(staged: Staged) -> tuple[int, DataFrame] | None:
    """Look one by one only at panes of windows that fired again or missed a row, where all first panes are right."""
    if not bulk_agreement.supports_bulk_check(staged.pipeline):
        return None
    first = staged.once(bulk_verified)
    if first is None or not staged.few_again:
        return None
    again = staged.panes_again
    once = first.without(staged.once(bulk_agreement.sums_of_first_panes_again))
    return once.rows, _placed(staged, again.where("pane_index = 0"), again)


def _placed(staged: Staged, first: DataFrame, fired_again: DataFrame) -> DataFrame:
    """`first`, and all of `fired_again` that has another number than 0, as `rows`."""
    in_order = Window.partitionBy(*staged.place).orderBy("pane_index", "fired_at", "row_count")
    before = {f"previous_{name}": F.lag(name).over(in_order) for name in _BEFORE}
    placed = fired_again.withColumns({"place": F.row_number().over(in_order), **before})
    every = _alone(first).unionByName(placed.where("NOT coalesce(pane_index = 0, false)"))
    return every.join(staged.calendar, "window_start", "left")


def _alone(first: DataFrame) -> DataFrame:
    """First panes: nothing is before them."""
    kinds = {field.name: field.dataType for field in first.schema}
    nothing = {f"previous_{name}": F.lit(None).cast(kinds[name]) for name in _BEFORE}
    return first.withColumns({"place": F.lit(1), **nothing})


def _fired_again(staged: Staged, first: DataFrame) -> DataFrame:
    """All panes of the windows that have a pane with another number than 0, and maybe of some others."""
    if bulk_agreement.supports_bulk_check(staged.pipeline):
        return staged.panes_again
    later = staged.later_panes
    later.count()  # Spark joins what it keeps by how much it is.
    return keys.matching(first, later, staged.place).unionByName(later)


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """The invariants of panes."""
    own = _waiting(pipeline) if pipeline.windows.trigger.is_default else triggers.invariants(pipeline)
    return (
        *windows.invariants(pipeline),
        Invariant(
            "pane_numbers_have_no_gap_and_no_duplicate",
            "After pane 0 each pane of a key and window has the number of the pane before it plus 1.",
            "pane_index = 0 OR (pane_index > 0 AND coalesce(pane_index = previous_pane_index + 1, true))",
        ),
        Invariant(
            "no_pane_is_empty",
            "A pane holds at least one row.",
            "row_count > 0",
        ),
        Invariant(
            "panes_fire_in_the_order_of_their_numbers",
            "From one pane of a key and window to the next, neither the clock nor the watermark goes back.",
            f"place = 1 OR (fired_at >= previous_fired_at AND {_no_lower_watermark(pipeline)})",
        ),
        *_counting(pipeline),
        *own,
    )


def _counting(pipeline: Pipeline) -> tuple[Invariant, ...]:
    names = count_all_rows(pipeline)
    if not names:
        return ()
    counts = Invariant(
        "counts_of_all_rows_are_row_counts",
        f"What counts the rows of a pane, {' and '.join(names)}, is its row_count.",
        "counts_rows",
    )
    return (counts,)


def _no_lower_watermark(pipeline: Pipeline) -> str:
    # Rows fire windows before there is any watermark.
    there = "watermark >= previous_watermark"
    return f"coalesce({there}, previous_watermark IS NULL)" if pipeline.windows.trigger.counts_rows else there


def _waiting(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """The invariants of panes that wait for the end of their window."""
    lateness_ms = pipeline.windows.lateness_ms
    always = (
        Invariant(
            "no_pane_fires_before_its_watermark",
            "A pane fires once the watermark has reached the last millisecond of its window.",
            lateness.is_complete(),
        ),
        Invariant(
            "no_late_pane_fires_after_cleanup",
            f"A late pane fires while the watermark is under {lateness_ms:,} ms past the window's last millisecond.",
            f"timing <> 'late' OR NOT ({lateness.is_closed(lateness_ms)})",
        ),
        Invariant(
            "panes_are_on_time_or_late",
            "The timing of a pane is on_time or late.",
            "timing IN ('on_time', 'late')",
        ),
        Invariant(
            "only_pane_0_is_on_time",
            "The watermark fires a window once, before any late row does: an on-time pane has number 0.",
            "timing <> 'on_time' OR pane_index = 0",
        ),
        _row_count(pipeline),
    )
    if pipeline.windows.is_session:
        return always
    return (
        *always,
        Invariant(
            "panes_fire_as_the_calendar_says",
            "An on-time pane fires at the moment and watermark that `watermarks` gives for its window; a late pane "
            "fires between the window's firing and its closing.",
            "CASE WHEN timing = 'on_time' THEN fired_at = fires_at AND watermark = watermark_at_fire ELSE "
            "fired_at >= fires_at AND watermark >= watermark_at_fire AND coalesce(fired_at <= closes_at, true) END",
        ),
    )


def _row_count(pipeline: Pipeline) -> Invariant:
    if pipeline.windows.per_epoch:
        grows = not pipeline.windows.discards and not pipeline.windows.is_session
        return Invariant(
            "late_panes_add_rows",
            "A late pane holds at least one row, and with accumulating panes more than the pane before it.",
            f"timing <> 'late' OR row_count > {'coalesce(previous_row_count, 0)' if grows else '0'}",
        )
    if pipeline.windows.discards:
        return Invariant(
            "late_panes_hold_their_own_row",
            "With discarding accumulation a late pane holds the one row that fired it.",
            "timing <> 'late' OR row_count = 1",
        )
    if pipeline.windows.is_session:
        return Invariant(
            "late_panes_add_one_row",
            "With accumulating panes a late pane that follows another of its session holds one row more.",
            "timing <> 'late' OR pane_index = 0 OR row_count = previous_row_count + 1",
        )
    return Invariant(
        "late_panes_add_one_row",
        "With accumulating panes a late pane holds the rows of the pane before it and the one row that fired it.",
        "timing <> 'late' OR row_count = coalesce(previous_row_count, 0) + 1",
    )


SUITE = Suite(
    "panes",
    rows,
    invariants,
    shows=("key", "window_start", "window_end", "pane_index", "timing", "fired_at", "watermark", "row_count"),
    bulk_check=bulk_check,
)
