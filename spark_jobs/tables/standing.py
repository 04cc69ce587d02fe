"""What stands: of the runs that have been published those whose results the tables hold, also after rollbacks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spark_jobs.tables.ledger import ARRIVALS, FULL, ROLLBACK, Run

# Kinds of runs that leave no result of earlier ones but what would be theirs.
_WHOLE = (ARRIVALS, FULL)


@dataclass(frozen=True)
class Standing:
    """`shown`: the run published last, after a rollback the one that was gone back to.

    `whole`: the last one up to it that left no result of others; those behind it replaced a part of time.
    """

    shown: Run | None = None
    whole: Run | None = None


def standing_of(published: Iterable[Run]) -> Standing:
    """What stands after the published runs, which are given oldest first."""
    now, then = Standing(), dict[frozenset[tuple[str, int]], Standing]()
    for run in published:
        if run.kind == ROLLBACK:
            now = then[frozenset(run.source_versions.items())]
        else:
            now = Standing(run, run if run.kind in _WHOLE else now.whole)
        # Maintenance gives a run other versions with the same rows.
        then |= dict.fromkeys((frozenset(step.versions.items()) for step in run.named), now)
    return now
