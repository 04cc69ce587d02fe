"""What a plan begins with, and what it ends with: the published runs and the versions of the sources; the run.

The id is a hash of pipeline fingerprint, source with its table id and version, and interval. So the same command finds
the run that an earlier attempt began, and a table that was made anew has other runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from spark_jobs.jobs.plan.plan_tables import PlanTables
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.settings import of_results
from spark_jobs.tables.effective_runs import EffectiveRuns
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.run import ARRIVALS, CHANGED, REPAIR, Run
from spark_jobs.tables.source_tables import tables_of

#: The beginning of the reason why a run does not begin from the published results.
ANEW = "everything is read again"
#: The reason why a plan is the published run.
UNCHANGED = "no row that the published results are made of has changed"


@dataclass(frozen=True)
class Plan:
    """The plan: the run, and the tables that it reads, by the names in `runner.pinned`.

    `note` is the reason why a run over later arrivals cannot resume and reads everything. For a part of time it is the
    change of the source since the results around it. For all of time it names settings that differ from the results.
    For a run over changes it counts the changed rows and the affected windows, as `counts` does for the ledger.
    """

    run: Run
    tables: Mapping[str, str]
    note: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def table(self) -> str:
        """The table that is read, or several with commas between them."""
        return ", ".join(self.tables.values())

    @property
    def reads(self) -> str:
        """The version of each table that is read, in words."""
        return ", ".join(f"version {self.run.pinned[name]} of {table}" for name, table in self.tables.items())

    @property
    def interval(self) -> Interval:
        """The windows that the run replaces."""
        return self.run.interval


@dataclass(frozen=True)
class PlanRequest:
    """What a plan begins with: the ledger, and the newest version and Delta's id of each source."""

    tables: PlanTables
    runs: Sequence[Run]
    published: Sequence[Run]
    standing: EffectiveRuns
    versions: Mapping[str, int]
    ids: Mapping[str, str]
    arrived_to: datetime | None

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline."""
        return self.tables.pipeline

    def run(self, kind: str, interval: Interval, after: Run | None = None, **settings: Any) -> Run:
        """Return the run of these inputs: that of the ledger, or a new one with further `settings`.

        `after` is the published run that a run over arrivals or changes begins from.
        """
        run_id = _run_id(self, kind, interval, after)
        run_id, recorded = _not_replaced(run_id, self.runs, self.published, self.standing)
        return recorded or Run(
            run_id=run_id,
            pipeline=self.pipeline.name,
            fingerprint=self.pipeline.fingerprint,
            kind=kind,
            source_version=next(iter(self.versions.values())),
            interval_start=interval.start,
            interval_end=interval.end,
            source_versions=self.versions if self.pipeline.sources else {},
            arrived_to=self.arrived_to,
            source_ids=self.ids,
            settings=of_results(self.pipeline),
            **settings,
        )

    def plan(self, run: Run, note: str = "", counts: Mapping[str, int] | None = None) -> Plan:
        """Return the plan of a run."""
        return Plan(run, tables_of(self.pipeline), note, counts or {})


def _run_id(request: PlanRequest, kind: str, interval: Interval, after: Run | None) -> str:
    pipeline, arrived_to = request.pipeline, request.arrived_to
    sources = (pipeline.source.table, *request.versions.values(), *request.ids.values())
    inputs = [pipeline.fingerprint, *sources, str(interval.start), str(interval.end)]
    if arrived_to is not None:
        begun_on = after if kind == ARRIVALS else None
        inputs.append(f"arrived before {arrived_to}, on {begun_on.run_id if begun_on else 'nothing'}")
    if kind == REPAIR:
        inputs.append("with rows that came too late")
    if kind == CHANGED and after is not None:
        inputs.append(f"changes after {after.run_id}")
    return _hashed("\n".join(map(str, inputs)))


def _not_replaced(
    run_id: str, runs: Sequence[Run], published: Sequence[Run], standing: EffectiveRuns
) -> tuple[str, Run | None]:
    """Return `run_id`, or an id after it whose results no other run has replaced, and its run in the ledger."""
    by_id = {run.run_id: run for run in runs}
    recorded = by_id.get(run_id)
    while recorded is not None and (since := _gone_since(recorded, published, standing)) is not None:
        # No run id is published twice.
        run_id = _hashed(f"{run_id}\nagain after {since}")
        recorded = by_id.get(run_id)
    return run_id, recorded


def _gone_since(run: Run, published: Sequence[Run], standing: EffectiveRuns) -> str | None:
    """Return the run or moment since which a published run's results are replaced; None if they are in force."""
    names = [earlier.run_id for earlier in published]
    if run.run_id not in names or (not run.discarded and standing.contains(run)):
        return None
    return f"{run.steps[-1].finished_at}" if run.discarded else names[names.index(run.run_id) + 1]


def _hashed(inputs: str) -> str:
    return "r" + hashlib.sha256(inputs.encode()).hexdigest()[:15]
