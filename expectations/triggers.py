"""Triggers in SQL: the invariants of panes of triggers other than the default (rules 62, 69, 70).

- early: fired before the watermark has reached the window's last millisecond, by the watermark or by a row;
- on time: at most one, after all early panes. A count trigger has none;
- late: fired after the watermark has reached the window's last millisecond, after all other panes.

If one advance of the watermark fires an early pane and the end of its window, the early pane shows the advanced
watermark.
"""

from __future__ import annotations

from expectations import lateness
from expectations.invariant import Invariant
from spark_jobs.pipeline.model import Pipeline


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of the timings, rows and firing times of panes, for a trigger other than the default."""
    return (*_of_timings(pipeline), *_of_cleanup(pipeline), _of_rows(pipeline), *_of_the_calendar(pipeline))


def _of_timings(pipeline: Pipeline) -> tuple[Invariant, ...]:
    by_count = pipeline.windows.trigger.counts_rows
    timings = ("early", "late") if by_count else ("early", "on_time", "late")
    is_complete = f"coalesce({lateness.is_complete()}, false)"
    return (
        Invariant(
            "only_early_panes_fire_before_their_watermark",
            "A pane that is not early fires once the watermark has reached the last millisecond of its window"
            + (", an early one before." if by_count else "."),
            f"(timing = 'early') <> {is_complete}" if by_count else f"timing = 'early' OR {is_complete}",
        ),
        Invariant(
            "panes_have_a_timing_of_their_trigger",
            f"The timing of a pane is {' or '.join(timings)}.",
            f"timing IN ({', '.join(repr(timing) for timing in timings)})",
        ),
        Invariant(
            "early_panes_come_first_and_late_ones_last",
            "All panes before an early or on-time pane of a key and window are early, so at most one pane is on time.",
            "timing = 'late' OR place = 1 OR previous_timing = 'early'",
        ),
    )


def _of_cleanup(pipeline: Pipeline) -> tuple[Invariant, ...]:
    # A session that changes after its intervals have passed fires for them at the next advance of the watermark.
    if pipeline.windows.is_session and not pipeline.windows.trigger.counts_rows:
        return ()
    lateness_ms = pipeline.windows.lateness_ms
    return (
        Invariant(
            "no_late_pane_fires_after_cleanup",
            f"A late pane fires while the watermark is under {lateness_ms:,} ms past the window's last millisecond.",
            f"timing <> 'late' OR NOT ({lateness.is_closed(lateness_ms)})",
        ),
    )


def _of_rows(pipeline: Pipeline) -> Invariant:
    discards = pipeline.windows.discards
    sessions = pipeline.windows.is_session
    if pipeline.windows.trigger.counts_rows:
        n = pipeline.windows.trigger.n
        # Sessions that merge may have more rows together than the count needs.
        first = f"row_count {'>=' if sessions else '='} {n}"
        more = first if discards else f"row_count = previous_row_count + {n}"
        return Invariant(
            "panes_hold_the_rows_that_are_counted",
            f"A pane adds {n:,} rows to the pane before it" + (", or more where sessions merge." if sessions else "."),
            f"CASE WHEN place = 1 THEN {first} ELSE {more} END",
        )
    if discards:
        return Invariant(
            "late_panes_hold_their_own_row",
            "With discarding accumulation a late pane holds the one row that fired it.",
            "timing <> 'late' OR row_count = 1",
        )
    added = "row_count - coalesce(previous_row_count, 0)"
    late = f"{added} = 1"
    if sessions:
        late = f"place = 1 OR {added} IN (0, 1)"
    return Invariant(
        "panes_hold_the_rows_of_the_pane_before",
        "With accumulating panes no pane holds fewer rows than the pane before it, and a late row adds one.",
        f"CASE WHEN timing = 'late' THEN {late} ELSE {added} >= 0 END",
    )


def _of_the_calendar(pipeline: Pipeline) -> tuple[Invariant, ...]:
    if pipeline.windows.is_session:
        return ()
    early = "fires_at IS NULL OR (fired_at <= fires_at AND coalesce(watermark <= watermark_at_fire, true))"
    return (
        Invariant(
            "panes_fire_as_the_calendar_says",
            "An on-time pane fires at the moment and watermark that `watermarks` gives for its window, an early one no "
            "later, and a late one between the window's firing and its closing.",
            "CASE timing WHEN 'on_time' THEN fired_at = fires_at AND watermark = watermark_at_fire "
            f"WHEN 'early' THEN {early} ELSE "
            "fired_at >= fires_at AND watermark >= watermark_at_fire AND coalesce(fired_at <= closes_at, true) END",
        ),
    )
