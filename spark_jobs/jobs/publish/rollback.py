"""A rollback before it is published: its run, and a preview of its effect that needs no Spark."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError
from spark_jobs.tables import delta_rs
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.objects import Objects
from spark_jobs.tables.run import ROLLBACK, Run


@dataclass(frozen=True)
class Restored:
    """The version of a table now, and the version whose rows it would have; None without a table."""

    now: int | None
    then: int | None


@dataclass(frozen=True)
class RollbackPreview:
    """The effect that a rollback to a run would have.

    - `tables`: the restored tables;
    - `undone_runs`: the runs published since, oldest first.
    """

    run_id: str
    tables: Mapping[str, Restored]
    undone_runs: Sequence[str]

    def as_json(self) -> dict[str, Any]:
        """Return one object."""
        return asdict(self)

    @property
    def message(self) -> str:
        """The preview in a line."""
        if not self.undone_runs:
            return f"run {self.run_id} is what is published; nothing would change"
        changed = [_in_words(name, table) for name, table in self.tables.items() if table.then != table.now]
        undone = ", ".join(self.undone_runs)
        return f"would undo {undone}: {', '.join(changed) or 'no table changes'}; nothing is written"


def preview(lake: Lake, published: Sequence[Run], run_id: str) -> RollbackPreview:
    """Return the effect of a rollback to `run_id`; `published` runs are in their order.

    Raises InputError for a run that was never published, and for a run whose files are deleted.
    """
    target = target_of(published, run_id)
    newest = published[-1]
    if target is newest:
        return RollbackPreview(run_id, {}, ())
    versions = {} if target.discarded else target.versions
    deleted = {table: _deleted(lake.path(table), version) for table, version in versions.items()}
    require_files(target, published, {table: count for table, count in deleted.items() if count})
    names = sorted({*target.versions, *newest.versions})
    tables = {name: Restored(newest.versions.get(name), target.versions.get(name)) for name in names}
    return RollbackPreview(run_id, tables, [run.run_id for run in published[published.index(target) + 1 :]])


def target_of(published: Sequence[Run], run_id: str) -> Run:
    """Return the published run of this id. Raises InputError without one."""
    target = next((run for run in published if run.run_id == run_id), None)
    if target is None:
        run_ids = ", ".join(run.run_id for run in published) or "none"
        raise InputError(
            f"--run: {run_id} is not published. Published runs: {run_ids}", code=ErrorCode.RUN_NOT_PUBLISHED
        )
    return target


def require_files(target: Run, published: Sequence[Run], deleted: Mapping[str, int]) -> None:
    """Raise InputError unless every table can be restored; `deleted` counts the deleted files by table."""
    if not deleted and not target.discarded:
        return
    reason = "maintenance has removed its files"
    if deleted:
        reason = ", ".join(f"{n} files of {table} are deleted" for table, n in deleted.items())
    kept_runs = ", ".join(run.run_id for run in published if run is not target and not run.discarded)
    raise InputError(
        f"--run: cannot go back to {target.run_id}: {reason}. Runs that are kept: {kept_runs}",
        code=ErrorCode.FILES_REMOVED,
    )


def going_back(target: Run, newest: Run) -> Run:
    """Return the rollback run to `target` from `newest`, which was published last."""
    inputs = f"{ROLLBACK}\n{target.run_id}\n{newest.run_id}"
    return Run(
        run_id="r" + hashlib.sha256(inputs.encode()).hexdigest()[:15],
        pipeline=target.pipeline,
        fingerprint=target.fingerprint,
        kind=ROLLBACK,
        source_version=target.source_version,
        interval_start=None,
        interval_end=None,
        source_versions=target.versions,
        arrived_to=target.arrived_to,
        settings=target.settings,
    )


def _deleted(path: str, version: int) -> int:
    """Return how many files of a version of a table are deleted."""
    existing = {entry.name for entry in Objects(path).below()}
    return sum(name not in existing for name in delta_rs.data_files(path, version))


def _in_words(name: str, table: Restored) -> str:
    return f"empty {name}" if table.then is None else f"restore {name} to version {table.then}"
