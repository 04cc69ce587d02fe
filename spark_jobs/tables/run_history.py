"""The history of runs: the ledger of a pipeline without Spark. All of it, its newest runs, or one of them; an entry.

A ledger grows by a file a step until maintenance compacts it. So what pages read is bounded by steps. The table's log
shows from which moment on there are that many steps, and only files with later steps are opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from spark_jobs.job_protocol import RUN_ID, StepName
from spark_jobs.pipeline.published_tables import RUNS
from spark_jobs.tables import commit_files, delta_rs_writes
from spark_jobs.tables.delta_rs import Table, read_table
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.objects import Objects
from spark_jobs.tables.run import DISCARD, MAINTAIN, Run, Step, runs_of

_TABLE = "runs"
_COLUMNS = (
    *("run_id", "pipeline", "fingerprint", "kind", "step", "interval_start", "interval_end", "source_version", "state"),
    *("source_ids", "settings", "stretches", "changes_run", "counts", "versions", "error", "note", "figures"),
    *("arrived_from", "arrived_to", "started_at", "finished_at"),
)
_MAPS = ("source_ids", "settings", "stretches", "counts", "versions", "figures")
# Entries of the log for a file.
_STATISTICS = ("min.step", "max.step", "num_records", "min.finished_at", "max.finished_at")
_NOT_ITS_OWN = f"('{MAINTAIN}', '{DISCARD}')"


@dataclass(frozen=True)
class History:
    """The newest runs of a pipeline, the newest first; `is_cut` where older ones were not read."""

    runs: tuple[Run, ...] = ()
    is_cut: bool = False


def has_begun(lake: Lake) -> bool:
    """Return whether the pipeline has a ledger. Raises LakeError."""
    return commit_files.exist(Objects(lake.path(_TABLE)))


def every(lake: Lake, *, opens_anew: bool = False) -> list[Run]:
    """Return all runs, ordered by when they were published or else last worked on (`read_table`). Raises LakeError."""
    runs = read_table(lake, _TABLE, "every", lambda table: _runs(_select(table, "TRUE")), opens_anew=opens_anew)
    return list(runs or ())


def newest(lake: Lake, steps: int) -> History:
    """Return the runs of the newest `steps` steps; none if no step was taken yet. Raises LakeError."""
    return read_table(lake, _TABLE, ("newest", steps), lambda table: _newest(table, steps)) or History()


def find(lake: Lake, run_id: str) -> Run | None:
    """Return the run of this id, None if the ledger does not have it. Raises LakeError."""
    if not RUN_ID.fullmatch(run_id):
        return None
    runs = read_table(lake, _TABLE, ("run", run_id), lambda table: _runs(_select(table, f"run_id = '{run_id}'")))
    return next(iter(runs or ()), None)


def record(lake: Lake, run: Run, step: Step) -> Run:
    """Add a finished step to the ledger, and return the run with it. Raises LakeError."""
    delta_rs_writes.append(lake.path(_TABLE), RUNS, [run.entry(step)])
    return run.after(step)


def _newest(table: Table, steps: int) -> History:
    files = table.files(*_STATISTICS)
    since = _since(files, steps)
    own = f"step NOT IN {_NOT_ITS_OWN}{f' AND finished_at >= {_sql(since)}' if since else ''}"
    rows = _select(table, own, f"ORDER BY finished_at DESC LIMIT {steps}")
    if not rows:
        return History()
    is_cut = len(rows) >= steps
    first = min(row["finished_at"] for row in rows)
    if any(_may_have(file, DISCARD) for file in files):
        rows += _select(table, f"step = '{DISCARD}' AND finished_at >= {_sql(first)}")
    begun = {row["run_id"] for row in rows if row["step"] == StepName.PLAN}
    run_ids = {
        row["run_id"] for row in rows if row["step"] not in (MAINTAIN, DISCARD) and RUN_ID.fullmatch(row["run_id"])
    }
    if open_ended := sorted(run_ids - begun):
        # The first steps of the oldest run, and of a run that was worked on again much later, are older.
        ids = " OR ".join(f"run_id = '{run_id}'" for run_id in open_ended)
        rows += _select(table, f"({ids}) AND finished_at < {_sql(first)}")
    runs = _runs(row for row in rows if row["run_id"] in run_ids)
    return History(tuple(reversed(runs)), is_cut=is_cut)


def _since(files: Iterable[Mapping[str, Any]], steps: int) -> datetime | None:
    """Return the moment from which on the table has at least `steps` steps, None if the log does not show it."""
    own = [file for file in files if not _of_maintenance(file)]
    if any(file[name] is None for file in own for name in _STATISTICS[2:]):
        return None
    since: datetime | None = None
    rows = 0
    for file in sorted(own, key=lambda entry: entry["max.finished_at"], reverse=True):
        since = min(file["min.finished_at"], since or file["min.finished_at"])
        rows += file["num_records"]
        if rows >= steps:
            return since
    return None


def _of_maintenance(file: Mapping[str, Any]) -> bool:
    return file["min.step"] == file["max.step"] and file["min.step"] in (MAINTAIN, DISCARD)


def _may_have(file: Mapping[str, Any], step: str) -> bool:
    least, most = file["min.step"], file["max.step"]
    return least is None or most is None or least <= step <= most


def _select(table: Table, condition: str, then: str = "") -> list[dict[str, Any]]:
    existing = table.columns
    # A ledger that an earlier version has written lacks some.
    columns = ", ".join(name for name in _COLUMNS if name in existing)
    return table.select(f"SELECT {columns} FROM t WHERE {condition} {then}")  # noqa: S608  made here, of checked ids


def _runs(rows: Iterable[Mapping[str, Any]]) -> Sequence[Run]:
    filled = ({**dict.fromkeys(_COLUMNS), **row} for row in rows)
    return runs_of({**row, **{name: dict(row[name] or ()) for name in _MAPS}} for row in filled)


def _sql(moment: datetime) -> str:
    return f"TIMESTAMP '{moment.astimezone(UTC).isoformat()}'"
