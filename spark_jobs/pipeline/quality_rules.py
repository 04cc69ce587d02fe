"""Rules for repair and quality: each needs windows of a certain kind."""

from __future__ import annotations

from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.model import Drift, LateData, Order, WindowKind
from spark_jobs.pipeline.review import Contradictions, Facts
from spark_jobs.pipeline.rules import period_key


def repairs_are_of_windows_that_close(facts: Facts) -> Contradictions:
    """Allow a repair with a limit of missed rows, for windows that can miss rows and are replaced alone."""
    if not facts.is_written("repair"):
        return
    if not facts.is_written("repair.max_too_late_rows") and not facts.is_written("repair.max_too_late_ratio"):
        yield "repair", "has no limit of missed rows; set max_too_late_rows, max_too_late_ratio or both"
    if facts.value("windows.late_data") is LateData.UPDATE:
        yield "repair", "windows.late_data update takes every row, however late: no window misses one; take it away"
    if facts.is_written("join"):
        yield "repair", "a join has none: its pairs are replaced together; take it away"
    elif _is_without_grid(facts):
        meaning = "a row that came too late may bridge sessions that no part of time holds alone"
        yield "repair", f"windows.kind session has none: {meaning}; take it away"


def only_windows_are_compared_with_a_live_job(facts: Facts) -> Contradictions:
    """Compare results of windows, one by one."""
    if facts.is_written("quality.compare_with") and facts.is_written("join"):
        yield "quality.compare_with", "a join has pairs, and no results of windows; take it away"


def coverage_and_drift_are_of_a_grid(facts: Facts) -> Contradictions:
    """Miss windows, or hold them against earlier ones, only where there is a grid of them."""
    for key, purpose in (("quality.min_coverage", "could be missing"), ("quality.drift", "have earlier ones")):
        if not facts.is_written(key):
            continue
        if facts.is_written("join"):
            yield key, "a join has pairs, and no results of windows; take it away"
        elif _is_without_grid(facts):
            yield key, f"windows.kind session has no grid of which windows {purpose}; take it away"


def drift_is_measured_from_window_to_window(facts: Facts) -> Contradictions:
    """Measure something, and go back from each window to one that there is."""
    if facts.is_written("quality.drift.measures") and not facts.names("quality.drift.measures"):
        yield "quality.drift.measures", "found none, expected at least one, such as 'flights: sum(flights)'"
    every_ms = facts.value("quality.drift.every", Drift(0).every_ms)
    period_ms = facts.value(f"windows.{period_key(facts.value('windows.kind'))}")
    if not facts.is_written("quality.drift") or not isinstance(every_ms, int) or not isinstance(period_ms, int):
        return
    if every_ms % period_ms:
        apart = f"which start {format_duration(period_ms)} apart"
        yield "quality.drift.every", f"{format_duration(every_ms)} is no whole number of windows, {apart}"


def silence_is_measured_by_the_clock(facts: Facts) -> Contradictions:
    """Measure silence by the clock by which rows arrive, of the source partitions of windows."""
    if not facts.is_written("quality.max_silence"):
        return
    if facts.is_written("join"):
        yield "quality.max_silence", "is not measured for the inputs of a join; take it away"
    elif facts.value("replay.order", Order.ARRIVAL) not in {Order.ARRIVAL, Order.COMMIT}:
        yield "quality.max_silence", "is measured by the time of arrival, which only the orders arrival and commit have"


def _is_without_grid(facts: Facts) -> bool:
    kind = facts.value("windows.kind", WindowKind.TUMBLING)
    return isinstance(kind, WindowKind) and not kind.has_grid


RULES = (
    repairs_are_of_windows_that_close,
    only_windows_are_compared_with_a_live_job,
    coverage_and_drift_are_of_a_grid,
    drift_is_measured_from_window_to_window,
    silence_is_measured_by_the_clock,
)
