"""The checks of a run as the table `quality` has them: the expectation, whether it holds, the value observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spark_jobs.job_protocol import RUN_ID
from spark_jobs.tables.delta_rs import Table, read_table
from spark_jobs.tables.lake import Lake

_TABLE = "quality"
#: The most checks of one run that a page lists.
MOST = 500


@dataclass(frozen=True)
class Check:
    """The result of an expectation; `examples` are rows that violate it, a line each, none for a success."""

    run_id: str
    suite: str
    expectation: str
    success: bool
    observed: str
    unexpected_count: int | None
    examples: tuple[str, ...] = ()


def of_runs(lake: Lake, run_ids: Sequence[str], *, failed_only: bool = False) -> dict[str, tuple[Check, ...]]:
    """Return the checks of the runs that were checked, by run, failed ones first. Raises LakeError."""
    ids = tuple(sorted(run_id for run_id in set(run_ids) if RUN_ID.fullmatch(run_id)))
    if not ids:
        return {}
    key = ("checks", ids, failed_only)
    return read_table(lake, _TABLE, key, lambda table: _read(table, ids, failed_only=failed_only)) or {}


def _read(table: Table, ids: Sequence[str], *, failed_only: bool) -> dict[str, tuple[Check, ...]]:
    # One comparison a run: with a list, the statistics of files would exclude none.
    of_these = " OR ".join(f"run_id = '{run_id}'" for run_id in ids)
    condition = f"({of_these}){' AND NOT success' if failed_only else ''}"
    columns = "run_id, suite, expectation, success, observed, unexpected_count, details"
    rows = table.select(
        f"SELECT {columns} FROM t WHERE {condition} ORDER BY run_id, success, suite, expectation "  # noqa: S608
        f"LIMIT {MOST * len(ids)}"
    )
    checks: dict[str, tuple[Check, ...]] = {}
    for row in rows:
        examples = tuple((row.pop("details") or "").splitlines())
        checks[row["run_id"]] = (*checks.get(row["run_id"], ()), Check(**row, examples=examples))
    return checks
