"""What stands: of the runs that have been published those whose results the tables hold, also after rollbacks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spark_jobs.tables.interval import Interval
from spark_jobs.tables.ledger import ARRIVALS, FULL, REPAIR, ROLLBACK, Run

# Kinds of runs that leave no result of earlier ones but what would be theirs.
_WHOLE = (ARRIVALS, FULL)


@dataclass(frozen=True)
class Standing:
    """`shown`: the run published last, after a rollback the one that was gone back to.

    `whole`: the last one up to it that left no result of others; those of `parts` replaced a part of time behind it.
    """

    shown: Run | None = None
    whole: Run | None = None
    parts: tuple[Run, ...] = ()

    def holds(self, run: Run) -> bool:
        """Whether the tables hold what `run`, which was published some time, gives for its windows.

        What other runs have published of the same rows by the same settings is the same.
        """
        stood = [*([] if self.whole is None else [self.whole]), *self.parts]
        behind = next((i + 1 for i, there in enumerate(stood) if there.run_id == run.run_id), 0)
        return not any(_replaces(later, run) for later in stood[behind:])


def standing_of(published: Iterable[Run]) -> Standing:
    """What stands after the published runs, which are given oldest first."""
    now, then = Standing(), dict[frozenset[tuple[str, int]], Standing]()
    for run in published:
        if run.kind == ROLLBACK:
            now = then[frozenset(run.source_versions.items())]
        elif run.kind in _WHOLE:
            now = Standing(run, run)
        else:
            now = Standing(run, now.whole, (*now.parts, run))
        # Maintenance gives a run other versions with the same rows.
        then |= dict.fromkeys((frozenset(step.versions.items()) for step in run.named), now)
    return now


def _replaces(later: Run, run: Run) -> bool:
    """Whether a later run has put other results in place of some of the run's."""
    intervals = (Interval(one.interval_start, one.interval_end) for one in (later, run))
    told, own = ((one.fingerprint, one.kind == REPAIR, one.pinned, one.arrived_to) for one in (later, run))
    return told != own and next(intervals).overlaps(next(intervals))
