"""Plausibility: results that follow from the settings, and that nobody can have meant.

    the run has windows             windows >= quality.min_windows, for a run over all of time
    invalid rows                    invalid rows <= quality.max_invalid_ratio of the rows read (suite `run`)
    events beside arrivals          rows more than quality.max_arrival_lag behind arrival <= half of the timed rows
    published results               rows in results >= (1 - quality.max_removed_ratio) of the rows in replaced results

A wrong unit or format breaks one of these rules, and no other invariant: the results are right for the settings.
"""

from __future__ import annotations

from collections.abc import Iterator

from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from expectations.staged_join import StagedJoin
from expectations.suites import join_run, run
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.model import Pipeline

#: More than this share of the rows has to be far behind their arrival: single rows of 1970 come from clocks not set.
MOST_FAR_BEHIND = 0.5

_OTHERWISE = "accept the run if it is right"


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of a run of windows."""
    return (*_windows(pipeline), *_arrivals(pipeline), *_published(pipeline, "in_results", "rows in windows"))


def join_invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of a run of a join."""
    return (*_inputs(pipeline), *_arrivals(pipeline), *_published(pipeline, "pairs", "pairs"))


def _windows(pipeline: Pipeline) -> Iterator[Invariant]:
    least = pipeline.quality.min_windows
    if not least:
        return
    # Rows may wait in windows that the end of the input leaves open.
    waiting = "" if pipeline.replay.closes else " OR coalesce(reported_on_time, on_time) > 0"
    yield Invariant(
        "the_run_has_windows",
        f"A run over all of time has results of at least {least:,} windows and keys (quality.min_windows). Look at the "
        f"invalid and filtered rows; {_OTHERWISE}.",
        f"NOT is_whole OR windows >= {least}{waiting}",
        observed="concat(windows, ' windows of ', rows_read, ' rows read, ', invalid, ' invalid, ', filtered, "
        "' filtered')",
    )


def _inputs(pipeline: Pipeline) -> Iterator[Invariant]:
    if pipeline.join is None or not pipeline.quality.min_windows:
        return
    for name in pipeline.join.names:
        usable = f"(rows_read_of_{name} - invalid_of_{name} - filtered_of_{name})"
        yield Invariant(
            f"{name}_has_rows_that_can_join",
            f"A run over all of time has rows of {name} that are neither invalid nor filtered (quality.min_windows). "
            f"Look at the reasons of invalid rows and at the condition; {_OTHERWISE}.",
            f"NOT is_whole OR {usable} > 0",
            observed=f"concat({usable}, ' of ', rows_read_of_{name}, ' rows can join')",
        )


def _arrivals(pipeline: Pipeline) -> Iterator[Invariant]:
    lag_ms = pipeline.quality.max_arrival_lag_ms
    if lag_ms is None or not pipeline.replay.by_clock:
        return
    yield Invariant(
        "events_are_of_the_time_of_their_arrival",
        f"At most half of the rows happened more than {format_duration(lag_ms)} before they arrived "
        f"(quality.max_arrival_lag). Give source.event_time its unit as {{column, unit: s|ms|us|ns}}; {_OTHERWISE}.",
        f"far_behind_rows <= {MOST_FAR_BEHIND} * timed_rows",
        observed="concat(far_behind_rows, ' of ', timed_rows, ' rows', coalesce(concat('; the newest event is of ', "
        f"{_moment('newest_event_ms')}, ', the newest arrival of ', {_moment('newest_arrival_ms')}), ''))",
    )


def _published(pipeline: Pipeline, rows: str, described: str) -> Iterator[Invariant]:
    ratio = pipeline.quality.max_removed_ratio
    if ratio is None:
        return
    yield Invariant(
        "published_results_are_not_taken_away",
        f"The results have at least {100 * (1 - ratio):g} % of the {described} of the published results that they "
        f"replace (quality.max_removed_ratio). Compare the settings with those of the published run; {_OTHERWISE}.",
        f"replaced_rows IS NULL OR {rows} + untouched_rows >= CAST({1 - ratio!r} AS DOUBLE) * "
        "(replaced_rows + untouched_rows)",
        observed=f"concat({rows}, ' {described}', coalesce(concat(', where ', replaced_rows, ' are published'), "
        "', where nothing is published'))",
    )


def _moment(ms: str) -> str:
    return f"date_format(timestamp_millis({ms}), 'yyyy-MM-dd HH:mm')"


SUITE: Suite[Staged] = Suite("plausibility", None, run.rows, invariants, shows=())
JOIN_SUITE: Suite[StagedJoin] = Suite("plausibility", None, join_run.rows, join_invariants, shows=())
