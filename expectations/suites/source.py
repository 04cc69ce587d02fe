"""Source: the invalid rows, which were set aside before any window, one row each.

A row is invalid for one of the reasons of `semantics.rows.event_time`, or breaks a rule of the source. A reason is
possible only if the pipeline declares the setting that it is about.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from expectations.staged_join import StagedJoin
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import INVALID_EVENTS
from spark_jobs.semantics.rows import event_time as rule
from spark_jobs.semantics.rows import time_faults

_WITH_EVENT_TIME, _WITH_ARRIVAL = (
    tuple(time_faults.reason(time, fault) for fault in time_faults.ALL)
    for time in (time_faults.EVENT_TIME, time_faults.ARRIVAL_TIME)
)
_OF_ARRIVAL = (*_WITH_ARRIVAL, rule.ARRIVAL_TIME_BEFORE_RANGE, rule.ARRIVAL_TIME_AFTER_RANGE)
_ALWAYS = (*_WITH_EVENT_TIME, rule.EVENT_TIME_BEFORE_RANGE, rule.EVENT_TIME_AFTER_RANGE)
_WITH_GUARD = rule.EVENT_TIME_IN_FUTURE
_BY_OFFSET = rule.OFFSET_MISSING


def rows(staged: Staged | StagedJoin) -> DataFrame:
    """Return the reasons of the invalid rows."""
    return staged.invalid_events


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of invalid rows."""
    source = pipeline.source
    by_offset = (_BY_OFFSET,) if pipeline.replay.in_rounds else ()
    every = (*_ALWAYS, *_OF_ARRIVAL, _WITH_GUARD, *by_offset, *(rule.name for rule in source.quarantine))
    impossible: list[str] = []
    # In commit order every row has an arrival time, the commit's.
    has_arrival = source.arrival_time is not None or pipeline.replay.by_commit
    if source.arrival_time is None:
        impossible += _OF_ARRIVAL
    if not has_arrival or source.future_guard_ms is None:
        impossible.append(_WITH_GUARD)
    known_reasons = Invariant(
        "invalid_rows_say_why",
        f"The reason of an invalid row is one of {', '.join(every)}.",
        f"reason IN ({_listed(every)})",
    )
    # The invalid rows of a join have the columns of both inputs and cannot be read again.
    always = (known_reasons,) if pipeline.join is not None else (known_reasons, _as_read())
    if not impossible:
        return always
    declared = Invariant(
        "reasons_are_about_what_is_declared",
        f"Without an arrival time or a future guard to compare with, no row is invalid as {' or '.join(impossible)}.",
        f"coalesce(reason NOT IN ({_listed(impossible)}), true)",
    )
    return (*always, declared)


def _as_read() -> Invariant:
    return Invariant(
        "invalid_rows_are_as_their_columns_say",
        "The source columns of an invalid row give the same reason again.",
        "matches_source",
    )


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


SUITE: Suite[Staged] = Suite("source", INVALID_EVENTS, rows, invariants, shows=("reason",))
JOIN_SUITE: Suite[StagedJoin] = Suite("source", INVALID_EVENTS, rows, invariants, shows=("reason",))
