"""A run with its steps, and the state that follows from them. The module `ledger` stores runs in a table.

The row of the step `publish` makes all results of a run visible. Versions only grow. Every run publishes into one of
the tables, so its versions order the runs, independent of clocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from spark_jobs.job_protocol import RunState, StepName, StepState
from spark_jobs.tables.interval import Interval, joined
from spark_jobs.tables.lake import GATE_TABLE

#: Kinds of runs: over all rows, over the rows that arrived before a time, over a part of time.
FULL, ARRIVALS, BACKFILL = "full", "arrivals", "backfill"
#: The kind of a run that continues another run, and computes only the windows that changes of the source affect.
CHANGED = "changed"
#: The kinds of runs whose tables are those of one version of the source.
BASES = (FULL, ARRIVALS, CHANGED)
#: The kind of a run over a part of time that includes the rows that were too late for its windows.
REPAIR = StepName.REPAIR.value
PARTS = (BACKFILL, REPAIR)
#: The kind of a run that restores the tables of an earlier run. Its source versions are versions of these tables.
ROLLBACK = StepName.ROLLBACK.value

#: The step in which a person accepts a run with failed checks.
ACCEPT = StepName.ACCEPT.value
#: Steps of maintenance: the tables of a run get other files with the same rows, or files of the run are removed.
MAINTAIN, DISCARD = StepName.MAINTAIN.value, "discard"

# The state of a run, by its last step and the state of this step.
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
    """One row of the ledger: a finished step. `state` is done, blocked or failed. A person may add a `note`.

    `figures` are Spark's, by the names of `spark_jobs.figures`.
    """

    step: str
    state: str
    started_at: datetime
    finished_at: datetime
    counts: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    note: str | None = None
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """A run in the ledger.

    - `steps`: its finished steps, oldest first;
    - `source_version`: the version of the source, or of the first of several sources;
    - `source_versions`: the versions of several sources by name, from the step `plan`. Empty for one source;
    - `source_ids`: Delta's id of each source table by name, from the step `plan`. Empty in ledgers of earlier versions;
    - `settings`: the settings that can change a result row, by dotted name. Empty in ledgers of earlier versions;
    - `arrived_to`: the run reads only rows that arrived before this time. None: all rows;
    - `arrived_from`: the run continues a run that read the rows before this time. None: it starts at the first row;
    - `stretches`: the parts of the interval whose windows the run replaces. Empty: all windows of the interval;
    - `changes_run`: the run that was published last when changes were planned. None if only arrivals were planned.
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
    source_ids: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    stretches: tuple[Interval, ...] = ()
    changes_run: str | None = None

    @property
    def interval(self) -> Interval:
        """The windows that the run replaces."""
        return Interval(self.interval_start, self.interval_end, stretches=self.stretches)

    @property
    def state(self) -> RunState:
        """The state by the last step except the report. A published run stays published."""
        if self.versions:
            return RunState.PUBLISHED
        ended = [s for s in self.steps if s.step != StepName.REPORT]
        return _STATES.get((ended[-1].step, ended[-1].state), RunState.FAILED) if ended else RunState.PLANNED

    @property
    def pinned(self) -> Mapping[str, int]:
        """The source versions that the run reads, for `source.events`."""
        return self.source_versions or {"": self.source_version}

    @property
    def counts(self) -> dict[str, int]:
        """All counts that the steps reported."""
        return {name: n for s in self.steps for name, n in s.counts.items()}

    @property
    def version_steps(self) -> tuple[Step, ...]:
        """The steps with a version of every table, the newest versions last. All versions have the same rows."""
        steps = (s for s in self.steps if s.step in (StepName.PUBLISH, MAINTAIN) and s.state == StepState.DONE)
        # Versions only grow, independent of the order in which processes recorded them.
        return tuple(sorted(steps, key=lambda step: sum(step.versions.values())))

    @property
    def versions(self) -> dict[str, int]:
        """The newest version of every table with the results of the run; empty if it was not published."""
        return dict(self.version_steps[-1].versions) if self.version_steps else {}

    @property
    def discarded(self) -> bool:
        """True if maintenance has removed the files of the run."""
        ended = [s.step for s in self.steps if s.step != StepName.REPORT]
        return bool(ended) and ended[-1] == DISCARD

    @property
    def error(self) -> str | None:
        """The error of the last step, if it failed or was blocked."""
        return self._own_steps[-1].error if self._own_steps else None

    @property
    def accepted(self) -> str | None:
        """The note of the person who accepted the run with failed checks; None if nobody did."""
        step = self.finished_step(ACCEPT)
        return None if step is None else step.note or ""

    @property
    def started_at(self) -> datetime | None:
        """The time at which the first step began."""
        return min((s.started_at for s in self.steps), default=None)

    @property
    def finished_at(self) -> datetime | None:
        """The time at which the last step ended, without steps of maintenance."""
        return max((s.finished_at for s in self._own_steps), default=None)

    @property
    def _own_steps(self) -> list[Step]:
        """The steps without those of maintenance."""
        return [s for s in self.steps if s.step not in (MAINTAIN, DISCARD)]

    def entry(self, step: Step) -> dict[str, Any]:
        """Return the row of the table `runs` for a finished step of the run."""
        has_settings = step.step == StepName.PLAN or self.kind == ROLLBACK
        return {
            "run_id": self.run_id,
            "pipeline": self.pipeline,
            "fingerprint": self.fingerprint,
            "kind": self.kind,
            "step": step.step,
            "interval_start": self.interval_start,
            "interval_end": self.interval_end,
            "source_version": self.source_version,
            "source_ids": self.source_ids,
            "settings": self.settings if has_settings else {},
            "stretches": _texts(self.stretches) if step.step == StepName.PLAN else {},
            "changes_run": self.changes_run,
            "state": step.state,
            "counts": step.counts,
            "versions": step.versions,
            "error": step.error,
            "note": step.note,
            "figures": step.figures or None,
            "arrived_from": self.arrived_from,
            "arrived_to": self.arrived_to,
            "started_at": step.started_at,
            "finished_at": step.finished_at,
        }

    def after(self, step: Step) -> Run:
        """Return the run with one more finished step."""
        return replace(self, steps=(*self.steps, step))

    def finished_step(self, name: str) -> Step | None:
        """Return the last step of this name that is done; None without one.

        For an unpublished run that was discarded, only steps after that count.
        """
        for step in reversed(self.steps):
            if step.step == name and step.state == StepState.DONE:
                return step
            if step.step == DISCARD and not self.versions:
                return None
        return None

    def ending(self, name: str) -> Step | None:
        """Return the entry after which a step is not taken again: that it is done, or for an audit its acceptance."""
        accepted = self.finished_step(ACCEPT) if name == StepName.AUDIT else None
        return self.finished_step(name) or accepted

    def done_before(self, name: str, ending: Step) -> str:
        """Return in words that a step is not taken again after the entry `ending`."""
        at = f"{ending.finished_at:%Y-%m-%d %H:%M:%S} UTC"
        if ending.step == ACCEPT:
            return f"run {self.run_id} was accepted at {at}: {ending.note}"
        return f"{name} was done before, at {at}"


def runs_of(rows: Iterable[Mapping[str, Any]]) -> list[Run]:
    """Return the runs from rows of the table `runs`, ordered by when they were published or else last worked on.

    A row is a step. Its datetimes are aware. A missing column counts as null.
    """
    steps: dict[str, list[Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda r: (r["finished_at"], r["step"])):
        steps.setdefault(row["run_id"], []).append(row)
    return sorted((_run(run_rows) for run_rows in steps.values()), key=_published_at)


def in_order(runs: Iterable[Run]) -> list[Run]:
    """Return the published runs, in the order of their publishing."""
    return sorted((run for run in runs if run.versions), key=lambda run: run.versions[GATE_TABLE])


def _published_at(run: Run) -> datetime:
    published = run.finished_step(StepName.PUBLISH)
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
        source_ids=next((dict(row["source_ids"]) for row in rows if row.get("source_ids")), {}),
        settings=next((dict(row["settings"]) for row in rows if row.get("settings")), {}),
        stretches=next((_stretches(row["stretches"]) for row in rows if row.get("stretches")), ()),
        changes_run=last.get("changes_run"),
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
                figures=r.get("figures") or {},
            )
            for r in rows
        ),
    )


def _texts(stretches: Iterable[Interval]) -> dict[str, str]:
    """Return the stretches as the ledger has them: the end of each by its start; an open bound is empty."""
    return {_text(stretch.start): _text(stretch.end) for stretch in stretches}


def _text(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone(UTC).isoformat()


def _stretches(texts: Mapping[str, str]) -> tuple[Interval, ...]:
    stretches = joined(Interval(_moment(start), _moment(end)) for start, end in dict(texts).items())
    return () if stretches is None else stretches.stretches


def _moment(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
