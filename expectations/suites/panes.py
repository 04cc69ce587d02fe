"""Panes: every firing of every window, one row each.

The panes of a window are numbered 0, 1, 2 ... in firing order. By default, only pane 0 can be on time: the watermark
fires it. Each further pane is fired by one late row, after the watermark has passed the window and before its state is
deleted (rules 60-68). The module `triggers` has the invariants of other triggers.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from expectations import bulk_agreement, lateness, triggers, windows
from expectations.bulk_agreement import Sums
from expectations.invariant import Invariant, Suite
from expectations.staged import Staged, count_all_rows
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import PANES
from spark_jobs.replay.rows import keys

_BEFORE = ("pane_index", "timing", "row_count", "fired_at", "watermark")


def rows(staged: Staged) -> DataFrame:
    """Return the panes, each with values of the pane before it and of its window in the calendar.

    `place` is the position within the (key, window), from 1. `previous_*` are the values of the pane before, null for
    the first. Only windows that fire again are sorted: no pane precedes pane 0.
    """
    first = staged.panes.where("pane_index = 0")
    return _placed(staged, first, _fired_again(staged, first))


def bulk_verified(staged: Staged) -> Sums | None:
    """Return the sums over all first panes; None if one violates an invariant or two have the same place."""
    first = _without_previous(staged.panes.where("pane_index = 0")).join(staged.calendar, "window_start", "left")
    return bulk_agreement.sums_of_panes(staged, first, invariants(staged.pipeline))


def bulk_check(staged: Staged) -> tuple[int, DataFrame] | None:
    """Verify all first panes together, and leave only the panes of revisited windows to be checked one by one."""
    if not bulk_agreement.supports_bulk_check(staged.pipeline):
        return None
    first = staged.once(bulk_verified)
    if first is None or not staged.can_broadcast_revisited:
        return None
    revisited = staged.revisited_panes
    verified = first.without(staged.once(bulk_agreement.sums_of_revisited_first_panes))
    return verified.rows, _placed(staged, revisited.where("pane_index = 0"), revisited)


def _placed(staged: Staged, first: DataFrame, fired_again: DataFrame) -> DataFrame:
    """Return the panes of `first`, and those of `fired_again` whose number is not 0, with the columns of `rows`."""
    in_order = Window.partitionBy(*staged.place).orderBy("pane_index", "fired_at", "row_count")
    before = {f"previous_{name}": F.lag(name).over(in_order) for name in _BEFORE}
    placed = fired_again.withColumns({"place": F.row_number().over(in_order), **before})
    panes = _without_previous(first).unionByName(placed.where("NOT coalesce(pane_index = 0, false)"))
    return panes.join(staged.calendar, "window_start", "left")


def _without_previous(first: DataFrame) -> DataFrame:
    """Return first panes with null in the columns of the pane before."""
    kinds = {field.name: field.dataType for field in first.schema}
    nulls = {f"previous_{name}": F.lit(None).cast(kinds[name]) for name in _BEFORE}
    return first.withColumns({"place": F.lit(1), **nulls})


def _fired_again(staged: Staged, first: DataFrame) -> DataFrame:
    """Return all panes of the windows that have a pane whose number is not 0, and possibly of other windows."""
    if bulk_agreement.supports_bulk_check(staged.pipeline):
        return staged.revisited_panes
    later = staged.later_panes
    later.count()  # Spark chooses the join by the size of a persisted table, which it knows after a count.
    return keys.matching(first, later, staged.place).unionByName(later)


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of panes."""
    own = _of_default_trigger(pipeline) if pipeline.windows.trigger.is_default else triggers.invariants(pipeline)
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
        f"The aggregates of a pane that count its rows ({' and '.join(names)}) equal its row_count.",
        "counts_rows",
    )
    return (counts,)


def _no_lower_watermark(pipeline: Pipeline) -> str:
    # A count trigger fires windows before the first watermark.
    not_lower = "watermark >= previous_watermark"
    return f"coalesce({not_lower}, previous_watermark IS NULL)" if pipeline.windows.trigger.counts_rows else not_lower


def _of_default_trigger(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of panes of the default trigger, which fires at the end of a window."""
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
    PANES,
    rows,
    invariants,
    shows=("key", "window_start", "window_end", "pane_index", "timing", "fired_at", "watermark", "row_count"),
    bulk_check=bulk_check,
)
