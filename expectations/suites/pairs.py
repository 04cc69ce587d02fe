"""Pairs: two rows of one key, within the bounds of an interval join, one valid as of the other, or in one window.

Rules 90, 95, 100. A left outer as-of join also has pairs without a second row.

The columns of a pair are compared with the columns of its two rows.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from expectations import windows
from expectations.invariant import Invariant, Suite
from expectations.staged_join import StagedJoin
from spark_jobs.pipeline.joining import bounds
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import PAIRS


def rows(staged: StagedJoin) -> DataFrame:
    """Return the pairs."""
    return staged.pairs


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of pairs; none for a pipeline without a join."""
    join = pipeline.join
    if join is None:
        return ()
    # Only a left outer as-of join has pairs without a second row.
    alone = "NOT second_exists OR " if join.keeps_unmatched else ""
    one_key = Invariant(
        "rows_of_a_pair_have_one_key",
        "The key columns are equal in both rows of a pair; null equals null.",
        f"{alone}first_key <=> second_key",
    )
    sides: tuple[Invariant, ...] = ()
    if join.second_when is not None:
        condition = Invariant(
            "rows_of_a_pair_are_of_their_sides",
            "The condition join.second_when is true for the second row of a pair and not for the first.",
            f"({alone}second_is_second) AND NOT first_is_second",
        )
        sides = (condition,)
    if join.is_as_of:
        return (one_key, *sides, *_of_as_of(alone))
    return (one_key, *sides, *(_of_windows(pipeline) if join.by_window else _of_interval(pipeline)))


def _of_interval(pipeline: Pipeline) -> tuple[Invariant, ...]:
    between = bounds(pipeline)
    return (
        Invariant(
            "rows_of_a_pair_lie_within_the_bounds",
            f"The event time of the second row is from {between.first_ms:,} to {between.last_ms:,} ms after the first.",
            f"second_ms - first_ms BETWEEN {between.first_ms} AND {between.last_ms}",
        ),
        Invariant(
            "the_event_time_of_a_pair_is_the_greater",
            "The event time of a pair is the later event time of its rows, in whole milliseconds.",
            "unix_micros(event_time) = greatest(first_ms, second_ms) * 1000",
        ),
        Invariant(
            "a_pair_fires_when_its_later_row_comes",
            "A pair fires at the later clock time of its rows.",
            "unix_micros(fired_at) = greatest(first_us, second_us)",
        ),
    )


def _of_as_of(alone: str) -> tuple[Invariant, ...]:
    return (
        Invariant(
            "the_second_row_of_a_pair_is_not_after_the_first",
            "The event time of the second row, if there is one, is that of the first row or earlier.",
            f"{alone}second_ms <= first_ms",
        ),
        Invariant(
            "the_event_time_of_a_pair_is_that_of_its_first_row",
            "The event time of a pair is that of its first row, in whole milliseconds.",
            "unix_micros(event_time) = first_ms * 1000",
        ),
        Invariant(
            "a_pair_fires_when_its_rows_have_come",
            "A pair does not fire before the clock time of either of its rows.",
            f"unix_micros(fired_at) >= first_us AND ({alone}unix_micros(fired_at) >= second_us)",
        ),
    )


def _of_windows(pipeline: Pipeline) -> tuple[Invariant, ...]:
    inside = "first_ms >= unix_millis(window_start) AND first_ms < unix_millis(window_end)"
    return (
        *windows.invariants(pipeline),
        Invariant(
            "rows_of_a_pair_lie_in_its_window",
            "The event times of both rows of a pair lie in the pair's window.",
            f"{inside} AND {inside.replace('first', 'second')}",
        ),
        Invariant(
            "a_pair_has_the_key_of_its_rows",
            "The key columns of a pair equal the key columns of its rows.",
            "key <=> first_key",
        ),
        Invariant(
            "pairs_fire_when_both_rows_have_come",
            "A pair does not fire before the clock time of either of its rows.",
            "unix_micros(fired_at) >= greatest(first_us, second_us)",
        ),
    )


SUITE = Suite(
    "pairs",
    PAIRS,
    rows,
    invariants,
    shows=("first_ms", "second_ms", "fired_at"),
)
