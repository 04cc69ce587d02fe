"""Maintenance: small files put together, and what nothing needs removed; readers see the same rows throughout.

    settle      a publishing that has not ended is finished
    staging     what dead runs have left is removed
    compaction  a commit a table; the ledger row behind them gives the run published last its new versions
    retention   published runs that are not kept are marked in the ledger; files that only they named go

It holds all windows, so that no run works beside it. Every step leaves what it finds done: killed anywhere, the same
command goes on. A compaction that the ledger does not name is seen by no reader, and the next one names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from pyspark.sql import SparkSession

from spark_jobs.job_protocol import StepState
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.progress import Progress, silent
from spark_jobs.jobs.publish.publish import settle, unended
from spark_jobs.session import interpreting
from spark_jobs.tables import compaction, delta_log, ledger, locks, orphans, retention
from spark_jobs.tables.compaction import Compaction
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import DISCARD, MAINTAIN, Run, Step
from spark_jobs.tables.orphans import Orphans, Removal
from spark_jobs.tables.retention import Retention

T = TypeVar("T")
HOLDER = "maintenance"
_AT_ONCE = 4
#: Without holds nobody knows who is at work: what is younger than this may be somebody's.
_LEAST_UNHELD = timedelta(days=1)
# Delta's own least retention, without which its vacuum refuses.
_LEAST_VACUUM = timedelta(days=7)
# The ledger and the answers of audits: read at their newest version, and compacted by Delta itself once they have many.
_OWN_TABLES, _MANY = ("runs", "quality"), 20


@dataclass(frozen=True)
class Maintenance:
    """What was done, or would be if `dry_run`.

    `dead` are the leftovers of runs that were not published, `lost` the published runs that can no longer be gone back
    to, `unneeded` other files that no kept version names; `kept` the published runs that can be read.
    """

    pipeline: str
    dry_run: bool
    dead: Sequence[Removal]
    compacted: Sequence[Compaction]
    lost: Sequence[str]
    unneeded: Sequence[Removal]
    kept: Sequence[str]
    notes: Sequence[str]

    @property
    def removed(self) -> tuple[int, int]:
        """Files and bytes that are removed."""
        every = (*self.dead, *self.unneeded)
        return sum(one.files for one in every), sum(one.size for one in every)


def maintain(
    spark: SparkSession,
    lake: Lake,
    kept: Retention,
    *,
    dry_run: bool = False,
    wait_s: float = 0,
    progress: Progress = silent,
) -> Maintenance:
    """Maintain a pipeline's folder, keeping what `kept` says.

    Raises LockedError while another process works on any windows, InputError where a published table was changed by
    somebody else, or where the retention is too short to know what others are at work on.
    """
    if lake.folder is None and kept.retain < _LEAST_UNHELD:
        raise InputError(
            f"--retain: asked for {kept.retain}, found a lake that is no folder of this machine, where nobody knows "
            f"who is at work: give {_LEAST_UNHELD.days} day at least"
        )
    held = nullcontext() if dry_run else locks.acquire(lake, HOLDER, Interval(), wait_s=wait_s)
    with held:
        work = _Maintaining(spark, lake, kept, progress)
        return work.foreseen() if dry_run else work.done()


class _Maintaining:
    def __init__(self, spark: SparkSession, lake: Lake, kept: Retention, progress: Progress) -> None:
        # Logs and ledgers: few rows, and many plans.
        self._spark, self._lake, self._kept = interpreting(spark), lake, kept
        self._writer, self._progress = spark, progress

    def foreseen(self) -> Maintenance:
        """What would be done to what lies there now."""
        runs = ledger.runs(self._spark, self._lake)
        done = ledger.in_order(runs)
        compacted = self._side_by_side(compaction.planned_compaction, done[-1].versions if done else {})
        busy = unended(self._spark, self._lake, done)
        told = self._told(self._leftovers(runs, busy), [*compacted, *map(self._many, _OWN_TABLES)], runs, dry_run=True)
        return told if busy is None else replace(told, notes=[*told.notes, f"the publishing of run {busy} is finished"])

    def done(self) -> Maintenance:
        """Do everything, one after the other."""
        settle(self._writer, self._lake)
        runs = ledger.runs(self._spark, self._lake)
        first = self._leftovers(runs)
        known = {run.run_id: run for run in runs}
        for removal in (*first.hidden, *first.dead):
            run = known.get(removal.run_id)
            if run is not None and not run.discarded:
                self._enter(run, DISCARD)
            self._say(f"removing what run {removal.run_id} has left: {removal.why}" if removal.run_id else removal.why)
            orphans.remove(self._spark, self._lake, removal)
        compacted = [*self._compacted(ledger.in_order(runs)), *map(self._of_delta, _OWN_TABLES)]
        runs = ledger.runs(self._spark, self._lake)
        rest = self._leftovers(runs)
        told = replace(self._told(rest, compacted, runs), dead=first.dead)
        for run in self._lost(runs):
            self._enter(run, DISCARD)
        for removal in rest.unneeded:
            self._say(f"removing {removal.files:,} files of {removal.table}")
            orphans.remove(self._spark, self._lake, removal)
        return told

    def _told(
        self, found: Orphans, compacted: Sequence[Compaction | None], runs: Sequence[Run], *, dry_run: bool = False
    ) -> Maintenance:
        lost = [run.run_id for run in self._lost(runs)]
        dead, unneeded = found.dead, found.unneeded
        return Maintenance(
            pipeline=self._lake.pipeline,
            dry_run=dry_run,
            dead=dead,
            compacted=[one for one in compacted if one is not None],
            lost=lost,
            unneeded=unneeded,
            kept=[run.run_id for run in ledger.in_order(runs) if run.run_id not in lost and not run.discarded],
            notes=[f"{table}: nothing is removed, for its log no longer tells what is kept" for table in found.unknown],
        )

    def _leftovers(self, runs: Sequence[Run], busy: str | None = None) -> Orphans:
        states = retention.kept_states(ledger.in_order(runs), self._kept)
        return Orphans(self._spark, self._lake, runs, states, self._kept, busy=busy)

    def _lost(self, runs: Sequence[Run]) -> list[Run]:
        done = ledger.in_order(runs)
        return retention.lost_runs(done, retention.kept_states(done, self._kept))

    def _compacted(self, done: Sequence[Run]) -> list[Compaction | None]:
        """Compact the published tables, and enter their new versions as those of the run published last."""
        if not done:
            return []
        newest = done[-1]
        self._say(f"compacting {', '.join(newest.versions)}")
        found = self._side_by_side(compaction.compact, newest.versions)
        versions = {table: version for table, (version, _) in zip(newest.versions, found, strict=True)}
        for table, version in newest.versions.items():
            self._require_same_rows(table, version, versions[table])
        if versions != newest.versions:
            self._enter(newest, MAINTAIN, versions)
        return [one for _, one in found]

    def _side_by_side(self, work: Callable[[SparkSession, Lake, str], T], tables: Iterable[str]) -> list[T]:
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            return list(pool.map(lambda table: work(self._writer, self._lake, table), tables))

    def _require_same_rows(self, table: str, version: int, newest: int) -> None:
        found = delta_log.changes(self._spark, self._lake.path(table), version, newest) or {}
        for changed, actions in found.items():
            if not delta_log.keeps_rows(actions):
                raise InputError(
                    f"{self._lake.path(table)}: version {changed} has changed rows, and is of no run that the ledger "
                    "knows: readers go on reading what the ledger names; publish again to put that in its place"
                )

    def _of_delta(self, table: str) -> Compaction | None:
        """Compact what is read at its newest version alone."""
        many = self._many(table)
        if many is not None:
            delta_log.optimize(self._writer, self._lake.path(table), max(self._kept.retain, _LEAST_VACUUM))
        return many

    def _many(self, table: str) -> Compaction | None:
        path = self._lake.path(table)
        newest = delta_log.version(self._spark, path)
        sizes = {} if newest is None else delta_log.sizes(self._spark, path, newest)
        return Compaction(table, len(sizes), 1, sum(sizes.values())) if len(sizes) > _MANY else None

    def _enter(self, run: Run, step: str, versions: dict[str, int] | None = None) -> None:
        moment = datetime.now(UTC)
        ledger.record(self._spark, self._lake, run, Step(step, StepState.DONE, moment, moment, versions=versions or {}))

    def _say(self, text: str) -> None:
        self._progress("maintain", text)
