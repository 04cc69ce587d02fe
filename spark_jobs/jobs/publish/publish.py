"""The publish step: a commit a table; the ledger row that follows makes the run visible as a whole.

    gate       the first table: of several runs that publish at once one commits to it, the others find its commit
    the rest   side by side, once the gate is passed

Who finds that another run has passed the gate and not ended finishes that one first, whether it is alive or not: to
publish what is staged is to do the same commits, each of which happens once, and to name the same versions.

A rollback publishes nothing new: it gives every table what it held when an earlier run had been published.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from spark_jobs.job_protocol import StepName, StepState
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan import arrival_slices
from spark_jobs.pipeline.published_tables import BY_NAME, PUBLISHABLE
from spark_jobs.tables import files, ledger, publishing
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import GATE_TABLE, Lake, behind_folder
from spark_jobs.tables.ledger import REPAIR, ROLLBACK, Run, Step
from spark_jobs.tables.publishing import Base, OvertakenError

# Tables whose rows belong to no window: a run over a part of time adds to them at most.
_TIMELESS = tuple(name for name in PUBLISHABLE if BY_NAME[name].timeless)
# As many runs may have to be finished first, or may come in between.
_ATTEMPTS = 50


def publish(spark: SparkSession, lake: Lake, run: Run) -> dict[str, int]:
    """Publish what `run` has staged, or goes back to; returns the version of every table.

    A run over part of time leaves `invalid_events` alone: rows without a usable time belong to no window. A repair
    leaves `watermarks` alone: they are what the job's were.
    """
    for _ in range(_ATTEMPTS):
        done = ledger.published(spark, lake)
        known = next((earlier.versions for earlier in done if earlier.run_id == run.run_id), None)
        if known is not None:
            return known
        arrival_slices.require_end(lake, run, done[-1] if done else None)
        base = _base(done)
        try:
            return _committed(spark, lake, run, base)
        except OvertakenError as overtaken:
            last = overtaken
            _finish(spark, lake, overtaken.run_id, base)
    raise last


def settle(spark: SparkSession, lake: Lake) -> list[Run]:
    """Finish a publishing that has not ended, if there is one; returns the published runs, in their order."""
    for _ in range(_ATTEMPTS):
        done = ledger.published(spark, lake)
        run_id = unended(spark, lake, done)
        if run_id is None:
            return done
        last = OvertakenError(GATE_TABLE, run_id)
        _finish(spark, lake, run_id, _base(done))
    raise last


def unended(spark: SparkSession, lake: Lake, done: Sequence[Run]) -> str | None:
    """The run that has begun to publish behind `done`, the published runs, and has not ended; if there is one."""
    return publishing.unfinished_run(spark, lake, GATE_TABLE, _base(done))


def _base(done: Sequence[Run]) -> Base:
    return Base(done[-1].versions if done else {}, frozenset(run.run_id for run in done))


def rollback(spark: SparkSession, lake: Lake, run_id: str) -> Run:
    """Make the tables again what they were when `run_id` was published; returns the run that does so, published.

    Raises InputError for a run that never was, and for one whose files are gone.
    """
    began = datetime.now(UTC)
    done = ledger.published(spark, lake)
    target = next((run for run in done if run.run_id == run_id), None)
    if target is None:
        known = ", ".join(run.run_id for run in done) or "none"
        raise InputError(f"--run: asked to go back to {run_id}, found the published runs {known}")
    if target is done[-1]:
        return target
    _require_files(spark, lake, target, done)
    run = going_back(target, done[-1])
    if ledger.find(spark, lake, run.run_id) is None:
        ledger.record(
            spark, lake, run, Step(StepName.PLAN, StepState.DONE, began, datetime.now(UTC), versions=target.versions)
        )
    versions = publish(spark, lake, run)
    return ledger.record(
        spark, lake, run, Step(StepName.PUBLISH, StepState.DONE, began, datetime.now(UTC), versions=versions)
    )


def _require_files(spark: SparkSession, lake: Lake, target: Run, done: Sequence[Run]) -> None:
    """Raise InputError unless every table can be given back, before any is."""
    gone = {} if target.discarded else publishing.deleted_file_counts(spark, lake, target.versions)
    if not gone and not target.discarded:
        return
    found = "that maintenance has removed its files"
    if gone:
        found = ", ".join(f"{n} files of {table} deleted" for table, n in gone.items())
    others = ", ".join(run.run_id for run in done if run is not target and not run.discarded)
    raise InputError(f"--run: asked to go back to {target.run_id}, found {found}; the runs that are kept: {others}")


def going_back(target: Run, newest: Run) -> Run:
    """Give the run that goes back to `target` from `newest`, which was published last."""
    asked = f"{ROLLBACK}\n{target.run_id}\n{newest.run_id}"
    return Run(
        run_id="r" + hashlib.sha256(asked.encode()).hexdigest()[:15],
        pipeline=target.pipeline,
        fingerprint=target.fingerprint,
        kind=ROLLBACK,
        source_version=target.source_version,
        interval_start=None,
        interval_end=None,
        source_versions=target.versions,
        arrived_to=target.arrived_to,
    )


def _committed(spark: SparkSession, lake: Lake, run: Run, base: Base) -> dict[str, int]:
    """Commit to each table that the run has; give the versions of these, and of those that it leaves alone."""
    if run.kind == ROLLBACK:
        wanted = run.source_versions

        def back(table: str) -> int:
            return publishing.restore(spark, lake, run.run_id, table, wanted.get(table), base)

        there = _side_by_side(back, [table for table in PUBLISHABLE if table in wanted or table in base.versions])
        return {table: there[table] for table in wanted}
    interval = Interval(run.interval_start, run.interval_end)
    staged = {table: _folders(spark, lake, run, table) for table in PUBLISHABLE}

    left: tuple[str, ...] = () if interval.whole else _TIMELESS
    if run.kind == REPAIR:
        left = (*_TIMELESS, "watermarks")

    def forth(table: str) -> int:
        own, behind = staged[table]
        replaced = interval if own and table not in left else None
        return publishing.publish(spark, lake, run.run_id, table, replaced, base, behind=behind)

    changed = [t for t, (own, behind) in staged.items() if behind or (own and t not in left)]
    # Of a table that tells of others, a run that has none of it leaves nothing: it would tell of what is gone.
    kept = {} if interval.whole else {t: v for t, v in base.versions.items() if not BY_NAME[t].derived}
    return {**kept, **_side_by_side(forth, changed)}


def _folders(spark: SparkSession, lake: Lake, run: Run, table: str) -> tuple[bool, bool]:
    """Whether the run has staged rows of a table for its windows, and for those behind them."""
    there = (f"{lake.staged(table, folder)}/_delta_log" for folder in (run.run_id, behind_folder(run.run_id)))
    own, behind = (files.exists(spark, log) for log in there)
    return own, behind


def _side_by_side(one: Callable[[str], int], tables: Iterable[str]) -> dict[str, int]:
    rest = [table for table in tables if table != GATE_TABLE]
    passed = one(GATE_TABLE)
    with ThreadPoolExecutor(max_workers=len(rest)) as pool:
        return {GATE_TABLE: passed, **dict(zip(rest, pool.map(one, rest), strict=True))}


def _finish(spark: SparkSession, lake: Lake, run_id: str, base: Base) -> None:
    """Publish what another run has begun to, and enter it into the ledger."""
    began = datetime.now(UTC)
    other = ledger.find(spark, lake, run_id)
    if other is None:
        raise publishing.PublishError(f"{lake.home}: found commits of the run {run_id}, which the ledger does not know")
    if not other.versions:
        versions = _committed(spark, lake, other, base)
        ledger.record(
            spark, lake, other, Step(StepName.PUBLISH, StepState.DONE, began, datetime.now(UTC), versions=versions)
        )
