"""Retention: which published states are kept, and which runs that were not published are dead.

A state is what readers saw from one row of the ledger to the next: a version of every table.

    kept    a state that readers saw within the retention, those of the last published runs, and always the newest
    lost    a published run whose newest state is not kept: its own files go, and nobody can go back to it
    dead    a run that was not published, and was not worked on within the retention; or for a day, if what it would
            publish has been published by a later run. What a check has blocked is there to be looked at: it waits for
            the retention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from spark_jobs.job_protocol import RunState
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.ledger import ARRIVALS, FULL, PARTS, Run

_GRACE = timedelta(days=1)


@dataclass(frozen=True)
class Retention:
    """What is kept: as of `now` what was seen within `retain`, and the last `runs` published runs."""

    now: datetime
    retain: timedelta
    runs: int = 1

    @property
    def since(self) -> datetime:
        """What was last seen, or written, before this is old."""
        return self.now - self.retain


@dataclass(frozen=True)
class State:
    """What readers saw since `since`: the tables of a run at these versions."""

    run: Run
    versions: dict[str, int]
    since: datetime


def kept(published: Sequence[Run], retention: Retention) -> list[State]:
    """The states that are kept, oldest first; `published` are the runs in the order in which they were."""
    states = [State(run, dict(step.versions), step.finished_at) for run in published for step in run.named]
    last = {run.run_id: dict(run.versions) for run in published[-max(retention.runs, 1) :]}
    found = []
    for state, later in pairwise([*states, None]):
        if state is None or state.run.discarded:
            continue
        seen = later is None or later.since > retention.since
        if seen or last.get(state.run.run_id) == state.versions:
            found.append(state)
    return found


def lost(published: Sequence[Run], states: Sequence[State]) -> list[Run]:
    """The published runs that are there now and have no newest state among those kept."""
    safe = {state.run.run_id for state in states if state.versions == state.run.versions}
    return [run for run in published if run.run_id not in safe and not run.discarded]


def death(run: Run | None, worked_on: datetime, published: Sequence[Run], retention: Retention) -> str | None:
    """Why a run that was not published is dead, in words; None if it may still be finished.

    None for `run`: the ledger does not know it. `worked_on` is when something of it was last written.
    """
    if worked_on < retention.since:
        known = "not in the ledger" if run is None else run.state
        return f"{known}, and not worked on since {worked_on:%Y-%m-%d %H:%M} UTC"
    if run is None or run.state == RunState.BLOCKED or worked_on > retention.now - min(retention.retain, _GRACE):
        return None
    if run.discarded:
        return "discarded"
    later = next((other for other in published if _replaces(other, run, worked_on)), None)
    return None if later is None else f"{run.state}, and run {later.run_id} has published its windows since"


def _replaces(other: Run, run: Run, worked_on: datetime) -> bool:
    if other.started_at is None or other.started_at < worked_on:
        return False
    if other.kind in (FULL, ARRIVALS):
        return True
    theirs, own = (Interval(one.interval_start, one.interval_end) for one in (other, run))
    return other.kind in PARTS and run.kind in PARTS and theirs.contains(own)
