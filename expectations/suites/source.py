"""Source: the rows that had to be set aside before any window saw them, one row each.

A row is invalid for one of four reasons, by offsets one of five, and only if the pipeline declares what the reason is
about.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from expectations.staged_join import StagedJoin
from spark_jobs.pipeline.model import Pipeline

_ALWAYS = ("event_time_missing", "event_time_out_of_range")
_WITH_ARRIVAL = "arrival_time_missing"
_WITH_GUARD = "event_time_in_future"
_BY_OFFSET = "offset_missing"


def rows(staged: Staged | StagedJoin) -> DataFrame:
    """The invalid rows' reasons."""
    return staged.invalid_events


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """The invariants of invalid rows."""
    source = pipeline.source
    by_offset = (_BY_OFFSET,) if pipeline.replay.in_rounds else ()
    every = (*_ALWAYS, _WITH_ARRIVAL, _WITH_GUARD, *by_offset)
    impossible = []
    # In commit order the commit is an arrival that no row lacks.
    is_known = source.arrival_time is not None or pipeline.replay.by_commit
    if source.arrival_time is None:
        impossible.append(_WITH_ARRIVAL)
    if not is_known or source.future_guard_ms is None:
        impossible.append(_WITH_GUARD)
    known = Invariant(
        "invalid_rows_say_why",
        f"The reason of an invalid row is one of {', '.join(every)}.",
        f"reason IN ({_listed(every)})",
    )
    # Rows of a join have the columns of both inputs.
    always = (known,) if pipeline.join is not None else (known, _as_read())
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
        "The columns of an invalid row, read again, give the same reason.",
        "matches_source",
    )


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


SUITE: Suite[Staged] = Suite("source", rows, invariants, shows=("reason",))
JOIN_SUITE: Suite[StagedJoin] = Suite("source", rows, invariants, shows=("reason",))
