"""Missing intervals: those of a range whose windows are not published with the present settings, by the ledger.

    published  = every window of the interval is in the tables from runs of the same settings that are up to date
    up to date = a run over a part of time, and no file of its source was removed or rewritten since
               | a run over all of time, and its source has no newer version
    failed     = a run of these settings over windows of the interval was begun later, and is not published

A backfill replaces what runs over all of time have published. So such a run counts only if a backfill would read the
same version of the source. An interval that another attempt of the backfill has published counts, although rows were
added to the source since: attempts over a live table end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from spark_jobs.jobs.plan import source_changes
from spark_jobs.jobs.plan.delta_rs_source import NeedsSparkError
from spark_jobs.jobs.plan.delta_rs_tables import DeltaRsTables
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.tables import run_history
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.layers import layers, windows_of, writers
from spark_jobs.tables.run import PARTS, Run, in_order
from spark_jobs.tables.source_tables import tables_of


@dataclass(frozen=True)
class Standing:
    """Whether an interval is published, and the reason in words."""

    is_published: bool
    reason: str


@dataclass(frozen=True)
class PublishedWindows:
    """What the ledger has of a pipeline's windows."""

    pipeline: Pipeline
    lake: Lake

    def standing(self, interval: Interval) -> Standing:
        """Return whether the interval is published. Raises LakeError."""
        runs, is_covered = writers(self._layers, interval)
        if not is_covered:
            return Standing(is_published=False, reason="no run has published all of its windows")
        for run in runs:
            if obstacle := self._obstacle(run):
                return Standing(is_published=False, reason=f"run {run.run_id} has published windows of it {obstacle}")
        if (failed := self._failed_since(runs, interval)) is not None:
            return Standing(is_published=False, reason=f"run {failed.run_id} over its windows is {failed.state}")
        names = ", ".join(f"run {run.run_id}" for run in runs)
        return Standing(is_published=True, reason=f"published with these settings by {names}")

    @cached_property
    def _runs(self) -> Sequence[Run]:
        return run_history.every(self.lake) if run_history.has_begun(self.lake) else []

    @cached_property
    def _layers(self) -> Sequence[Run]:
        return layers(in_order(self._runs))

    @cached_property
    def _tables(self) -> DeltaRsTables | None:
        """The sources; None if only Spark can read them."""
        with suppress(NeedsSparkError):
            tables = DeltaRsTables(self.pipeline, self.lake)
            if tables.newest_versions:
                return tables
        return None

    def _obstacle(self, run: Run) -> str:
        """Return why a published run does not count, in words; empty if it does."""
        if run.fingerprint != self.pipeline.fingerprint:
            return "with other settings"
        if self._tables is None:
            return "" if run.kind in PARTS else "for all of time, and only Spark knows the version of its source"
        newest = self._tables.newest_versions
        if source_changes.made_anew(self.pipeline, run, self._tables.table_ids(newest)):
            return "from a source that was made anew since"
        if run.kind not in PARTS:
            return "" if dict(run.pinned) == newest else "for all of time, from an earlier version of the source"
        return "before rows of its source were changed" if self._is_rewritten(run.pinned, newest) else ""

    def _is_rewritten(self, since: Mapping[str, int], newest: Mapping[str, int]) -> bool:
        """Return whether files of a source were removed or rewritten, or may have been."""
        tables, names = self._tables, tables_of(self.pipeline)
        for name, version in newest.items():
            if tables is None or since.get(name) == version:
                continue
            changes = None
            with suppress(NeedsSparkError):
                changes = tables.row_changes(names[name], since[name], version) if name in since else None
            if changes is None or changes.removed:
                return True
        return False

    def _failed_since(self, runs: Sequence[Run], interval: Interval) -> Run | None:
        """Return a run over windows of the interval that began after `runs` had ended, and is not published."""
        ended = max((run.finished_at for run in runs if run.finished_at is not None), default=None)
        for run in self._runs:
            if run.versions or run.discarded or run.kind not in PARTS or run.fingerprint != self.pipeline.fingerprint:
                continue
            is_later = ended is None or (run.started_at is not None and run.started_at > ended)
            if is_later and windows_of(run).overlaps(interval):
                return run
        return None
