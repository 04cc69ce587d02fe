"""A run as its steps tell it, and what it has come to: the ledger's meaning, without the table that it is kept in.

The row of the step `publish` makes a run visible as a whole. Versions only grow, so that of the table which every run
publishes into tells which of two came later, whatever clocks say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from spark_jobs.job_protocol import RunState, StepName, StepState
from spark_jobs.tables.lake import GATE_TABLE

#: Kinds of runs: over everything, over what arrived before a moment, over a part of time.
FULL, ARRIVALS, BACKFILL = "full", "arrivals", "backfill"
#: The kind of a run over a part of time that takes the rows which had come too late for its windows.
REPAIR = StepName.REPAIR.value
PARTS = (BACKFILL, REPAIR)
#: The kind of a run that gives back what an earlier one had published; its versions of sources are those of tables.
ROLLBACK = StepName.ROLLBACK.value

#: The step of a person who takes a run although checks of it have failed.
ACCEPT = StepName.ACCEPT.value
#: Steps that are not a run's own: its tables hold the same rows in other files; the files that only it has are removed.
MAINTAIN, DISCARD = "maintain", "discard"

# What a run has come to when its last row is this step in this state.
_STATES: Mapping[tuple[str, str], RunState] = {
    (StepName.PLAN, StepState.DONE): RunState.PLANNED,
    (StepName.REPLAY, StepState.DONE): RunState.STAGED,
    (StepName.AUDIT, StepState.DONE): RunState.AUDITED,
    (StepName.AUDIT, StepState.BLOCKED): RunState.BLOCKED,
    (ACCEPT, StepState.DONE): RunState.ACCEPTED,
    (StepName.PUBLISH, StepState.DONE): RunState.PUBLISHED,
    (DISCARD, StepState.DONE): RunState.DISCARDED,
}


@dataclass(frozen=True)
class Step:
    """One row of the ledger: a step that has ended. `state` is done, blocked or failed; `note` is a person's word."""

    step: str
    state: str
    started_at: datetime
    finished_at: datetime
    counts: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    note: str | None = None


@dataclass(frozen=True)
class Run:
    """A run as the ledger tells it; `steps` oldest first.

    `source_versions` are those of several sources by name, which the step `plan` has entered as its versions, and
    `source_version` that of the first; empty where there is one source. `arrived_to` is set where only what arrived
    before then is read, `arrived_from` where the run goes on from one that had read what arrived before that.
    """

    run_id: str
    pipeline: str
    fingerprint: str
    kind: str
    source_version: int
    interval_start: datetime | None
    interval_end: datetime | None
    steps: tuple[Step, ...] = ()
    source_versions: Mapping[str, int] = field(default_factory=dict)
    arrived_from: datetime | None = None
    arrived_to: datetime | None = None

    @property
    def state(self) -> RunState:
        """How far it has come, by its last step but the report. A published run stays published."""
        if self.versions:
            return RunState.PUBLISHED
        ended = [s for s in self.steps if s.step != StepName.REPORT]
        return _STATES.get((ended[-1].step, ended[-1].state), RunState.FAILED) if ended else RunState.PLANNED

    @property
    def pinned(self) -> Mapping[str, int]:
        """The versions that the run reads, as `source.events` takes them."""
        return self.source_versions or {"": self.source_version}

    @property
    def counts(self) -> dict[str, int]:
        """All counts that its steps reported."""
        return {name: n for s in self.steps for name, n in s.counts.items()}

    @property
    def named(self) -> tuple[Step, ...]:
        """The steps that name a version of every table, all with the same rows; the newest versions last."""
        found = (s for s in self.steps if s.step in (StepName.PUBLISH, MAINTAIN) and s.state == StepState.DONE)
        # Versions only grow, whichever process entered which of them when.
        return tuple(sorted(found, key=lambda step: sum(step.versions.values())))

    @property
    def versions(self) -> dict[str, int]:
        """The newest version of every table with what the run has published; empty if it was not published."""
        return dict(self.named[-1].versions) if self.named else {}

    @property
    def discarded(self) -> bool:
        """Whether maintenance has removed what the run had staged or published."""
        ended = [s.step for s in self.steps if s.step != StepName.REPORT]
        return bool(ended) and ended[-1] == DISCARD

    @property
    def error(self) -> str | None:
        """Why the last step failed or was blocked."""
        return self._own[-1].error if self._own else None

    @property
    def accepted(self) -> str | None:
        """Who has taken the run although checks of it have failed, and why; None if nobody had to, or has."""
        step = self.done(ACCEPT)
        return None if step is None else step.note or ""

    @property
    def started_at(self) -> datetime | None:
        """When its first step began."""
        return min((s.started_at for s in self.steps), default=None)

    @property
    def finished_at(self) -> datetime | None:
        """When its last own step ended."""
        return max((s.finished_at for s in self._own), default=None)

    @property
    def _own(self) -> list[Step]:
        """Its steps, without what maintenance has done to it since."""
        return [s for s in self.steps if s.step not in (MAINTAIN, DISCARD)]

    def after(self, step: Step) -> Run:
        """The run when this step has ended too."""
        return replace(self, steps=(*self.steps, step))

    def done(self, step: str) -> Step | None:
        """The step, if it has been done; of a run that was discarded unpublished, if it has been done since."""
        for one in reversed(self.steps):
            if one.step == step and one.state == StepState.DONE:
                return one
            if one.step == DISCARD and not self.versions:
                return None
        return None


def runs_of(rows: Iterable[Mapping[str, Any]]) -> list[Run]:
    """The runs that rows of the table `runs` tell of, in the order in which they were last worked on.

    A row is a step, with datetimes that are aware; a column that it lacks is null.
    """
    steps: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda r: (r["finished_at"], r["step"])):
        steps.setdefault(row["run_id"], []).append(row)
    return sorted((_run(told) for told in steps.values()), key=_published_at)


def in_order(known: Iterable[Run]) -> list[Run]:
    """Those of the runs that have been published, in the order in which they were."""
    return sorted((run for run in known if run.versions), key=lambda run: run.versions[GATE_TABLE])


def _published_at(run: Run) -> datetime:
    published = run.done(StepName.PUBLISH)
    moment = published.finished_at if published else run.finished_at
    return moment or datetime.min.replace(tzinfo=UTC)


def _run(rows: Sequence[Mapping[str, Any]]) -> Run:
    last = rows[-1]
    planned: Mapping[str, int] = next(
        (r["versions"] for r in reversed(rows) if r["step"] == StepName.PLAN and r["versions"]), {}
    )
    return Run(
        run_id=last["run_id"],
        pipeline=last["pipeline"],
        fingerprint=last["fingerprint"],
        kind=last["kind"],
        source_version=last["source_version"],
        interval_start=last["interval_start"],
        interval_end=last["interval_end"],
        source_versions=planned,
        arrived_from=last.get("arrived_from"),
        arrived_to=last.get("arrived_to"),
        steps=tuple(
            Step(
                step=r["step"],
                state=r["state"],
                started_at=r["started_at"],
                finished_at=r["finished_at"],
                counts=r["counts"] or {},
                versions=r["versions"] or {},
                error=r["error"],
                note=r.get("note"),
            )
            for r in rows
        ),
    )
