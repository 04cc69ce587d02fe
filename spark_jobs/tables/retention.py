"""Retention: which published states are kept, and which unpublished runs are dead.

A state is a version of every table. Readers read it from one row of the ledger to the next.

- kept: a state that readers could read within the retention, the states of the last published runs, and the newest;
- lost: a published run whose newest state is not kept. Its files are removed, and it cannot be restored;
- dead: a run that was not published, and that no step worked on within the retention. If a later run has published its
  windows, it is dead after one day. A run that the audit blocked stays for inspection until the end of the retention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from spark_jobs.job_protocol import RunState
from spark_jobs.tables.ledger import BASES, PARTS, Run

_GRACE = timedelta(days=1)


@dataclass(frozen=True)
class Retention:
    """The rule: at `now`, keep the states of the last `retain`, and of the last `runs` published runs."""

    now: datetime
    retain: timedelta
    runs: int = 1

    @property
    def since(self) -> datetime:
        """A file or state that was last used before this time is old."""
        return self.now - self.retain


@dataclass(frozen=True)
class State:
    """The tables of a run at these versions, which readers could read from `since` on."""

    run: Run
    versions: dict[str, int]
    since: datetime


def kept_states(published: Sequence[Run], retention: Retention) -> list[State]:
    """Return the states that are kept, oldest first; `published` are the runs in the order of their publishing."""
    states = [State(run, dict(step.versions), step.finished_at) for run in published for step in run.version_steps]
    last = {run.run_id: dict(run.versions) for run in published[-max(retention.runs, 1) :]}
    result = []
    for state, later in pairwise([*states, None]):
        if state is None or state.run.discarded:
            continue
        is_recent = later is None or later.since > retention.since
        if is_recent or last.get(state.run.run_id) == state.versions:
            result.append(state)
    return result


def lost_runs(published: Sequence[Run], states: Sequence[State]) -> list[Run]:
    """Return the published runs whose newest state is not among the kept `states`, and that are not discarded yet."""
    safe = {state.run.run_id for state in states if state.versions == state.run.versions}
    return [run for run in published if run.run_id not in safe and not run.discarded]


def reason_dead(run: Run | None, worked_on: datetime, published: Sequence[Run], retention: Retention) -> str | None:
    """Return why an unpublished run is dead; None if it may still be finished.

    `run` is None if the ledger does not have it. `worked_on` is when a file of the run was last written.
    """
    if worked_on < retention.since:
        state = "not in the ledger" if run is None else run.state
        return f"{state}, and not worked on since {worked_on:%Y-%m-%d %H:%M} UTC"
    if run is None or run.state == RunState.BLOCKED or worked_on > retention.now - min(retention.retain, _GRACE):
        return None
    if run.discarded:
        return "discarded"
    later = next((other for other in published if _replaces(other, run, worked_on)), None)
    return None if later is None else f"{run.state}, and run {later.run_id} has published its windows since"


def _replaces(other: Run, run: Run, worked_on: datetime) -> bool:
    if other.started_at is None or other.started_at < worked_on:
        return False
    if other.kind in BASES:
        return True
    return other.kind in PARTS and run.kind in PARTS and other.interval.contains(run.interval)
