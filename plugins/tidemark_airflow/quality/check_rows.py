"""The checks of a run as the table `quality` has them: what was asked, whether it holds, what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spark_jobs.tables.lake import Lake
from tidemark_airflow.jobs.links import RUN_ID
from tidemark_airflow.quality.lake_tables import Table, ask

_TABLE = "quality"
#: The most checks of one run that a page lists.
MOST = 500


@dataclass(frozen=True)
class Check:
    """One answer; `examples` are some of what breaks it, a line each, none for a success."""

    run_id: str
    suite: str
    expectation: str
    success: bool
    observed: str
    unexpected_count: int | None
    examples: tuple[str, ...] = ()


def of_runs(lake: Lake, run_ids: Sequence[str], *, failed_only: bool = False) -> dict[str, tuple[Check, ...]]:
    """The checks of these runs by run, failed ones first; a run that was not checked is left out. Raises LakeError."""
    ids = tuple(sorted(one for one in set(run_ids) if RUN_ID.fullmatch(one)))
    if not ids:
        return {}
    asked = ("checks", ids, failed_only)
    return ask(lake, _TABLE, asked, lambda table: _read(table, ids, failed_only=failed_only)) or {}


def _read(table: Table, ids: Sequence[str], *, failed_only: bool) -> dict[str, tuple[Check, ...]]:
    # One comparison a run: of a list, statistics would leave every file in.
    of_these = " OR ".join(f"run_id = '{one}'" for one in ids)
    condition = f"({of_these}){' AND NOT success' if failed_only else ''}"
    columns = "run_id, suite, expectation, success, observed, unexpected_count, details"
    rows = table.select(
        f"SELECT {columns} FROM t WHERE {condition} ORDER BY run_id, success, suite, expectation "  # noqa: S608
        f"LIMIT {MOST * len(ids)}"
    )
    found: dict[str, tuple[Check, ...]] = {}
    for row in rows:
        examples = tuple((row.pop("details") or "").splitlines())
        found[row["run_id"]] = (*found.get(row["run_id"], ()), Check(**row, examples=examples))
    return found
