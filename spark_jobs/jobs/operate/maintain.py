"""Maintenance: compact small files and remove unneeded files; readers see the same rows throughout.

    settle      a publication that has not ended is finished
    staging     files of dead runs are removed
    compaction  a commit for each table; then a ledger row has the new versions for the run published last
    retention   published runs that are not kept are marked in the ledger, and files that only they named are removed

It holds all windows, so that no run works at the same time. Without its lease it deletes and commits nothing more.
Every step skips work that is done, so after a crash the same command continues. A compaction that is not in the ledger
is invisible to readers, and the next one records it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from pyspark.sql import SparkSession

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import StepState
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.progress import Progress, silent
from spark_jobs.jobs.publish.holding import holding
from spark_jobs.jobs.publish.publish import settle, unended
from spark_jobs.session import interpreting
from spark_jobs.tables import (
    commit_files,
    compaction,
    delta_log,
    delta_rs_writes,
    exchange,
    ledger,
    orphans,
    retention,
)
from spark_jobs.tables.compaction import Compaction
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.leases import Tenure
from spark_jobs.tables.ledger import DISCARD, MAINTAIN, Run, Step
from spark_jobs.tables.objects import Objects
from spark_jobs.tables.orphans import Orphans, Removal
from spark_jobs.tables.retention import Retention

T = TypeVar("T")
HOLDER = "maintenance"
_AT_ONCE = 4
# Delta's least retention; its vacuum refuses a shorter one.
_LEAST_VACUUM = timedelta(days=7)
# The ledger and the checks: read at their newest version, and compacted by delta-rs if they have many files.
_OWN_TABLES, _MANY = ("runs", "quality"), 20


@dataclass(frozen=True)
class Maintenance:
    """The work of maintenance, done, or planned if `dry_run`.

    - `dead`: files of runs that were not published
    - `lost`: published runs that are no longer a target of a rollback
    - `unneeded`: other files that no kept version names
    - `kept`: published runs that can be read
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
        """The numbers of removed files and bytes."""
        every = (*self.dead, *self.unneeded)
        return sum(removal.files for removal in every), sum(removal.size for removal in every)


def maintain(
    spark: SparkSession,
    lake: Lake,
    policy: Retention,
    *,
    dry_run: bool = False,
    wait_s: float = 0,
    progress: Progress = silent,
) -> Maintenance:
    """Maintain a pipeline's folder; `policy` defines what is kept.

    Raises LockedError while another process works on any windows. Raises InputError if another program has changed a
    published table.
    """
    if dry_run:
        return _Maintaining(spark, lake, policy, progress).foreseen()
    with holding(spark, lake, HOLDER, Interval(), wait_s=wait_s) as tenure:
        return _Maintaining(spark, lake, policy, progress).perform(tenure)


class _Maintaining:
    def __init__(self, spark: SparkSession, lake: Lake, policy: Retention, progress: Progress) -> None:
        # Logs and ledgers have few rows and many plans.
        self._spark, self._lake, self._retention = interpreting(spark), lake, policy
        self._writer, self._progress = spark, progress
        self._tenure: Tenure | None = None

    def foreseen(self) -> Maintenance:
        """Return the planned work for the present files."""
        runs = ledger.runs(self._spark, self._lake)
        published = ledger.in_order(runs)
        compacted = self._side_by_side(compaction.planned_compaction, published[-1].versions if published else {})
        busy = unended(self._spark, self._lake, published)
        planned = self._maintenance(
            self._leftovers(runs, busy), [*compacted, *map(self._many, _OWN_TABLES)], runs, dry_run=True
        )
        note = f"the publishing of run {busy} is finished"
        return planned if busy is None else replace(planned, notes=[*planned.notes, note])

    def perform(self, tenure: Tenure) -> Maintenance:
        """Do all work, step by step, while the lease of all windows is `tenure`.

        Raises LeaseLostError as soon as another process has taken over, at the next entry, commit or deletion.
        """
        self._tenure = tenure
        settle(self._writer, self._lake, tenure)
        runs = ledger.runs(self._spark, self._lake)
        first = self._leftovers(runs)
        by_id = {run.run_id: run for run in runs}
        for removal in (*first.hidden, *first.dead):
            run = by_id.get(removal.run_id)
            if run is not None and not run.discarded:
                self._enter(run, DISCARD)
            self._report(
                f"removing the files of run {removal.run_id}:  {removal.why}" if removal.run_id else removal.why
            )
            orphans.remove(self._lake, removal, tenure)
        compacted = [*self._compacted(ledger.in_order(runs)), *map(self._of_delta, _OWN_TABLES)]
        runs = ledger.runs(self._spark, self._lake)
        rest = self._leftovers(runs)
        result = replace(self._maintenance(rest, compacted, runs), dead=first.dead)
        for run in self._lost(runs):
            self._enter(run, DISCARD)
        for removal in rest.unneeded:
            self._report(f"removing {removal.files:,} files of {removal.table}")
            orphans.remove(self._lake, removal, tenure)
        return replace(result, notes=[*result.notes, *self._without_forgotten_jobs()])

    def _maintenance(
        self,
        leftovers: Orphans,
        compacted: Sequence[Compaction | None],
        runs: Sequence[Run],
        *,
        dry_run: bool = False,
    ) -> Maintenance:
        lost = [run.run_id for run in self._lost(runs)]
        dead, unneeded = leftovers.dead, leftovers.unneeded
        return Maintenance(
            pipeline=self._lake.pipeline,
            dry_run=dry_run,
            dead=dead,
            compacted=[compaction_done for compaction_done in compacted if compaction_done is not None],
            lost=lost,
            unneeded=unneeded,
            kept=[run.run_id for run in ledger.in_order(runs) if run.run_id not in lost and not run.discarded],
            notes=[
                f"{table}: no file is removed, since its log no longer lists the kept files"
                for table in leftovers.unknown
            ],
        )

    def _leftovers(self, runs: Sequence[Run], busy: str | None = None) -> Orphans:
        states = retention.kept_states(ledger.in_order(runs), self._retention)
        return Orphans(self._spark, self._lake, runs, states, self._retention, busy=busy)

    def _lost(self, runs: Sequence[Run]) -> list[Run]:
        published = ledger.in_order(runs)
        return retention.lost_runs(published, retention.kept_states(published, self._retention))

    def _compacted(self, published: Sequence[Run]) -> list[Compaction | None]:
        """Compact the published tables, and record their new versions for the run published last."""
        if not published:
            return []
        newest = published[-1]
        self._report(f"compacting {', '.join(newest.versions)}")
        results = self._side_by_side(self._compact, newest.versions)
        # A process that has taken over may have published.
        self._require()
        versions = {table: version for table, (version, _) in zip(newest.versions, results, strict=True)}
        for table, version in newest.versions.items():
            self._require_same_rows(table, version, versions[table])
        if versions != newest.versions:
            self._enter(newest, MAINTAIN, versions)
        return [compacted for _, compacted in results]

    def _compact(self, spark: SparkSession, lake: Lake, table: str) -> tuple[int, Compaction | None]:
        self._require()
        return compaction.compact(spark, lake, table)

    def _without_forgotten_jobs(self) -> list[str]:
        """Remove what jobs on a cluster and their callers exchanged, if none of both came back for it."""
        objects = Objects(self._lake.root)
        folders = exchange.forgotten(self._lake.root, self._retention.now - self._safe_retention)
        for folder in folders:
            objects.remove(folder)
        return [f"{len(folders):,} jobs whose answers nobody has read: their objects are removed"] if folders else []

    @property
    def _safe_retention(self) -> timedelta:
        return max(self._retention.retain, _LEAST_VACUUM)

    def _require(self) -> None:
        """Raise LeaseLostError if another process has taken over the windows."""
        if self._tenure is not None:
            self._tenure.require()

    def _side_by_side(self, work: Callable[[SparkSession, Lake, str], T], tables: Iterable[str]) -> list[T]:
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            return list(pool.map(lambda table: work(self._writer, self._lake, table), tables))

    def _require_same_rows(self, table: str, version: int, newest: int) -> None:
        changes = commit_files.changes(Objects(self._lake.path(table)), version, newest) or {}
        for changed, actions in changes.items():
            if not delta_log.keeps_rows(actions):
                raise InputError(
                    f"{self._lake.path(table)}: version {changed} has changed rows, and is of no run in the ledger. "
                    "Readers still read the ledger's version. Publish again to replace it",
                    code=ErrorCode.FOREIGN_COMMIT,
                )

    def _of_delta(self, table: str) -> Compaction | None:
        """Compact a table that is read only at its newest version."""
        many = self._many(table)
        if many is not None:
            self._require()
            delta_rs_writes.compact(self._lake.path(table), self._safe_retention)
        return many

    def _many(self, table: str) -> Compaction | None:
        path = self._lake.path(table)
        newest = delta_log.version(self._spark, path)
        sizes = {} if newest is None else delta_log.sizes(self._spark, path, newest)
        return Compaction(table, len(sizes), 1, sum(sizes.values())) if len(sizes) > _MANY else None

    def _enter(self, run: Run, step: str, versions: dict[str, int] | None = None) -> None:
        self._require()
        moment = datetime.now(UTC)
        ledger.record(self._spark, self._lake, run, Step(step, StepState.DONE, moment, moment, versions=versions or {}))

    def _report(self, text: str) -> None:
        self._progress(MAINTAIN, text)
