"""Effective runs: the published runs whose results are currently in the tables, with rollbacks applied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spark_jobs.tables.interval import Interval
from spark_jobs.tables.run import BASES, CHANGED, REPAIR, ROLLBACK, Run


@dataclass(frozen=True)
class EffectiveRuns:
    """The runs with results in the tables.

    - `latest`: the run published last; after a rollback, the run that was restored;
    - `base`: the last run, up to `latest`, after which all results are those of one version of the source;
    - `partial`: the runs after `base` that replaced a part of time, oldest first.
    """

    latest: Run | None = None
    base: Run | None = None
    partial: tuple[Run, ...] = ()

    def contains(self, run: Run) -> bool:
        """Return whether the tables contain the results of a published `run` for all of its windows.

        Results that another run computed from the same rows with the same settings are equal, so they count.
        """
        runs = [*([] if self.base is None else [self.base]), *self.partial]
        next_index = next((i + 1 for i, effective in enumerate(runs) if effective.run_id == run.run_id), 0)
        return not any(_replaces(later, run) for later in runs[next_index:])


def effective_runs(published: Iterable[Run]) -> EffectiveRuns:
    """Return the effective runs after all `published` runs, which are ordered from the oldest to the newest."""
    effective, by_versions = EffectiveRuns(), dict[frozenset[tuple[str, int]], EffectiveRuns]()
    for run in published:
        if run.kind == ROLLBACK:
            effective = by_versions[frozenset(run.source_versions.items())]
        elif run.kind in BASES:
            effective = EffectiveRuns(run, run)
        else:
            effective = EffectiveRuns(run, effective.base, (*effective.partial, run))
        # Maintenance adds further versions of a run's tables, with the same rows.
        for step in run.version_steps:
            by_versions[frozenset(step.versions.items())] = effective
    return effective


def _replaces(later: Run, run: Run) -> bool:
    """Return whether a later run replaced some results of the run by others."""
    # A run over changes gives all other windows the results of its version, too.
    later_interval, interval = (Interval() if r.kind == CHANGED else r.interval for r in (later, run))
    later_inputs, inputs = ((r.fingerprint, r.kind == REPAIR, r.pinned, r.arrived_to) for r in (later, run))
    return later_inputs != inputs and later_interval.overlaps(interval)
