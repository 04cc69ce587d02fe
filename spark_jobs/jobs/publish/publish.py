"""The publish step: one commit for each table; then a ledger row makes the whole run visible.

    gate       the first table: of several runs that publish at once, one commits to it, and the others see its commit
    the rest   in parallel, after the gate; prepared before it (`commit_order`)

A process that finds another run past the gate and not ended finishes that run first, also if its process is alive. Both
processes make the same commits, each of which happens once, and record the same versions.

A rollback publishes no new rows: it restores every table to its state after an earlier run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import StepName, StepState
from spark_jobs.jobs.plan import arrival_slices
from spark_jobs.jobs.publish.commit_order import commits_in_order
from spark_jobs.jobs.publish.rollback import going_back, require_files, target_of
from spark_jobs.pipeline.model import Results
from spark_jobs.pipeline.published_tables import BY_NAME, INVALID_EVENTS, PUBLISHABLE
from spark_jobs.tables import commit_files, ledger, publishing
from spark_jobs.tables.errors import PublishError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import GATE_TABLE, Lake, behind_folder
from spark_jobs.tables.leases import Tenure
from spark_jobs.tables.ledger import CHANGED, REPAIR, ROLLBACK, Run, Step
from spark_jobs.tables.objects import Objects
from spark_jobs.tables.publishing import Base, OvertakenError

# Tables whose rows belong to no window: a run over a part of time at most adds rows.
_TIMELESS = tuple(name for name in PUBLISHABLE if BY_NAME[name].timeless)
_AGGREGATE = "windows.aggregates."
# The number of other runs that may have to be finished first, or may publish in between.
_ATTEMPTS = 50
_AS_THEY_ARE = Results()


def publish(
    spark: SparkSession, lake: Lake, run: Run, tenure: Tenure | None = None, results: Results = _AS_THEY_ARE
) -> dict[str, int]:
    """Publish the staged tables of `run`, or those of a rollback; returns the version of every table.

    `results` are what the tables offer from then on.

    A run over part of time does not change `invalid_events`: rows without a usable time belong to no window. A run over
    changes does, if such a row has changed. A repair does not change `watermarks`. Raises LeaseLostError if another
    process has taken over the windows of `tenure`.
    """
    for _ in range(_ATTEMPTS):
        published = ledger.published(spark, lake)
        versions = next((earlier.versions for earlier in published if earlier.run_id == run.run_id), None)
        if versions is not None:
            return versions
        arrival_slices.require_end(lake, run, published[-1] if published else None)
        base = _base(published, tenure, results)
        try:
            return _committed(spark, lake, run, base)
        except OvertakenError as overtaken:
            last = overtaken
            _finish(spark, lake, overtaken.run_id, base)
    raise last


def settle(spark: SparkSession, lake: Lake, tenure: Tenure | None = None) -> list[Run]:
    """Finish a publishing that has not ended, if there is one; returns the published runs, in their order.

    Raises LeaseLostError if another process has taken over the windows of `tenure`.
    """
    for _ in range(_ATTEMPTS):
        published = ledger.published(spark, lake)
        run_id = unended(spark, lake, published)
        if run_id is None:
            return published
        last = OvertakenError(GATE_TABLE, run_id)
        _finish(spark, lake, run_id, _base(published, tenure))
    raise last


def unended(spark: SparkSession, lake: Lake, published: Sequence[Run]) -> str | None:
    """Return the run that has begun to publish after the published runs and has not ended, if there is one."""
    return publishing.unfinished_run(spark, lake, GATE_TABLE, _base(published))


def _base(published: Sequence[Run], tenure: Tenure | None = None, results: Results = _AS_THEY_ARE) -> Base:
    versions = published[-1].versions if published else {}
    return Base(versions, frozenset(run.run_id for run in published), tenure, results)


def rollback(
    spark: SparkSession, lake: Lake, run_id: str, tenure: Tenure | None = None, results: Results = _AS_THEY_ARE
) -> Run:
    """Restore the tables to their state after `run_id`; returns the published rollback run.

    Raises InputError for a run that was never published, and for a run whose files are deleted.
    """
    began = datetime.now(UTC)
    published = ledger.published(spark, lake)
    target = target_of(published, run_id)
    if target is published[-1]:
        return target
    deleted = {} if target.discarded else publishing.deleted_file_counts(spark, lake, target.versions)
    require_files(target, published, deleted)
    run = going_back(target, published[-1])
    if ledger.find(spark, lake, run.run_id) is None:
        ledger.record(spark, lake, run, _ended_step(StepName.PLAN, began, target.versions))
    versions = publish(spark, lake, run, tenure, results)
    return ledger.record(spark, lake, run, _ended_step(StepName.PUBLISH, began, versions))


def _committed(spark: SparkSession, lake: Lake, run: Run, base: Base) -> dict[str, int]:
    """Commit each table of the run; returns the versions of these tables, and of the unchanged tables."""
    if run.kind == ROLLBACK:
        targets = run.source_versions

        def back(table: str, awaits: Callable[[], None]) -> int:
            return publishing.restore(spark, lake, run.run_id, table, targets.get(table), replace(base, awaits=awaits))

        restored = commits_in_order(
            back, [table for table in PUBLISHABLE if table in targets or table in base.versions]
        )
        return {table: restored[table] for table in targets}
    of_run = replace(base, aggregates=_aggregates(run))
    interval = run.interval
    staged = {table: _folders(lake, run, table) for table in PUBLISHABLE}

    left = _left_alone(run)

    def forth(table: str, awaits: Callable[[], None]) -> int:
        own, behind = staged[table]
        replaced = None
        if own and table not in left:
            replaced = Interval() if table in _TIMELESS else interval
        return publishing.publish(
            spark, lake, run.run_id, table, replaced, replace(of_run, awaits=awaits), behind=behind
        )

    changed = [t for t, (own, behind) in staged.items() if behind or (own and t not in left)]
    # A derived table is not kept if the run has no new version of it: it would describe replaced rows.
    unchanged = {} if interval.whole else {t: v for t, v in base.versions.items() if not BY_NAME[t].derived}
    return {**unchanged, **commits_in_order(forth, changed)}


def _left_alone(run: Run) -> tuple[str, ...]:
    """Return the tables that a run does not change, whatever it has staged."""
    if run.interval.whole:
        return ()
    if run.kind == REPAIR:
        return (*_TIMELESS, "watermarks")
    if run.kind == CHANGED:
        return () if run.counts.get("changed_invalid") else (INVALID_EVENTS.name,)
    return _TIMELESS


def _aggregates(run: Run) -> dict[str, str]:
    """Return the SQL of the run's aggregates, by name."""
    return {n.removeprefix(_AGGREGATE): sql for n, sql in run.settings.items() if n.startswith(_AGGREGATE)}


def _folders(lake: Lake, run: Run, table: str) -> tuple[bool, bool]:
    """Return whether the run has staged rows of a table for its windows, and for closed windows before them."""
    folders = (run.run_id, behind_folder(run.run_id))
    own, behind = (commit_files.exist(Objects(lake.staged(table, folder))) for folder in folders)
    return own, behind


def _finish(spark: SparkSession, lake: Lake, run_id: str, base: Base) -> None:
    """Finish the publication of another run, and record it in the ledger."""
    began = datetime.now(UTC)
    other = ledger.find(spark, lake, run_id)
    if other is None:
        raise PublishError(
            f"{lake.home}: tables have commits of run {run_id}, which is not in the ledger",
            code=ErrorCode.LEDGER_LACKS_RUN,
        )
    if not other.versions:
        versions = _committed(spark, lake, other, base)
        ledger.record(spark, lake, other, _ended_step(StepName.PUBLISH, began, versions))


def _ended_step(step: StepName, began: datetime, versions: Mapping[str, int]) -> Step:
    """Return the ledger's entry for a step that ends now."""
    return Step(step, StepState.DONE, began, datetime.now(UTC), versions=versions)
