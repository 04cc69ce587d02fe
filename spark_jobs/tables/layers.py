"""Layers: the published runs whose results are in the tables, each with the windows that it has written.

A run over all of time, or over all arrivals so far, begins anew. So does a run over the changes of a source: the
windows that it leaves alone are equal at its version. Any other run lies on the layers before it. A rollback restores
the layers that were in the tables when its target was published.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spark_jobs.tables.interval import Interval
from spark_jobs.tables.run import ARRIVALS, CHANGED, FULL, ROLLBACK, Run


def layers(published: Iterable[Run]) -> tuple[Run, ...]:
    """Return the runs whose results are in the tables, the oldest first, after all `published` runs in their order."""
    standing: tuple[Run, ...] = ()
    by_versions: dict[frozenset[tuple[str, int]], tuple[Run, ...]] = {}
    for run in published:
        if run.kind == ROLLBACK:
            standing = by_versions.get(frozenset(run.source_versions.items()), ())
        elif run.kind in (FULL, CHANGED) or (run.kind == ARRIVALS and run.arrived_from is None):
            standing = (run,)
        else:
            standing = (*standing, run)
        # Maintenance adds further versions of a run's tables, with the same rows.
        by_versions.update((frozenset(step.versions.items()), standing) for step in run.version_steps)
    return standing


def windows_of(run: Run) -> Interval:
    """Return the windows that have a run's results: those that it has written, and for a run over changes all."""
    return Interval() if run.kind == CHANGED else run.interval


def writers(standing: Sequence[Run], interval: Interval) -> tuple[list[Run], bool]:
    """Return the runs that have written windows of an interval, the newest first, and whether they cover all of it."""
    pieces, runs = [interval], []
    for run in reversed(standing):
        if any(piece.overlaps(windows_of(run)) for piece in pieces):
            runs.append(run)
            pieces = [rest for piece in pieces for rest in _without(piece, windows_of(run))]
    return runs, not pieces


def _without(piece: Interval, covered: Interval) -> list[Interval]:
    """Return the parts of an interval that another one does not contain."""
    if not piece.overlaps(covered):
        return [piece]
    rest = []
    if covered.start is not None and (piece.start is None or piece.start < covered.start):
        rest.append(Interval(piece.start, covered.start))
    if covered.end is not None and (piece.end is None or covered.end < piece.end):
        rest.append(Interval(covered.end, piece.end))
    return rest
