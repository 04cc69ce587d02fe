"""A lake written by hand: the tables `runs` and `quality` of pipelines, with the columns that Spark gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

AT = datetime(2026, 1, 5, 7, tzinfo=UTC)
STEPS = ("plan", "replay", "audit", "publish", "report")
COUNTS = {"rows_read": 1000, "on_time": 940, "late": 40, "too_late": 10, "invalid": 10, "filtered": 0, "windows": 24}

_INSTANT = pa.timestamp("us", tz="UTC")
_COUNTS = pa.map_(pa.string(), pa.int64())
_RUNS = pa.schema(
    [
        *((name, pa.string()) for name in ("run_id", "pipeline", "fingerprint", "kind", "step")),
        ("interval_start", _INSTANT),
        ("interval_end", _INSTANT),
        ("source_version", pa.int64()),
        ("state", pa.string()),
        ("counts", _COUNTS),
        ("versions", _COUNTS),
        ("error", pa.string()),
        ("note", pa.string()),
        *((name, _INSTANT) for name in ("arrived_from", "arrived_to", "started_at", "finished_at")),
    ]
)
_FIGURES = pa.field("figures", pa.map_(pa.string(), pa.float64()))
_QUALITY = pa.schema(
    [
        *((name, pa.string()) for name in ("run_id", "suite", "expectation")),
        ("success", pa.bool_()),
        ("observed", pa.string()),
        ("unexpected_count", pa.int64()),
        ("details", pa.string()),
    ]
)


def run_id(number: int) -> str:
    """Return the id of a run by its number."""
    return f"r{number:015x}"


def steps(
    number: int,
    *,
    pipeline: str = "sales",
    until: str = "report",
    state: str = "done",
    failed: int = 0,
    counts: Mapping[str, int] = COUNTS,
    **more: Any,
) -> list[dict[str, Any]]:
    """Return the rows of a run up to a step that ended in a state; run `number` began that many hours after `AT`."""
    rows = []
    for i, step in enumerate(STEPS[: STEPS.index(until) + 1]):
        began = AT + timedelta(hours=number, minutes=i)
        step_counts = {"replay": dict(counts), "audit": {"checks_passed": 49 - failed, "checks_failed": failed}}.get(
            step, {}
        )
        rows.append(
            {
                "run_id": run_id(number),
                "pipeline": pipeline,
                "fingerprint": "0123456789abcdef",
                "kind": "full",
                "step": step,
                "source_version": number,
                "state": state if step == until else "done",
                "counts": list(step_counts.items()),
                "versions": [("late_events", number), ("panes", number)] if step == "publish" else [],
                "started_at": began,
                "finished_at": began + timedelta(seconds=30),
                **more,
            }
        )
    return rows


def check(number: int, expectation: str, *, success: bool = True, **more: Any) -> dict[str, Any]:
    """Return a row of the table `quality`."""
    defaults = {"suite": "panes", "observed": "24 panes", "unexpected_count": 0 if success else 3, "details": ""}
    return {"run_id": run_id(number), "expectation": expectation, "success": success, **defaults, **more}


def add_rows(
    lake: Path, pipeline: str, runs: Sequence[Mapping[str, Any]], checks: Sequence[Mapping[str, Any]] = ()
) -> None:
    """Add rows to the tables of a pipeline: a commit a row of the ledger, as runs do, and one for the checks.

    A ledger whose rows have no `figures` has no such column, as those of earlier versions.
    """
    for row in runs:
        _write(lake / pipeline / "runs", _RUNS.append(_FIGURES) if "figures" in row else _RUNS, [row])
    if checks:
        _write(lake / pipeline / "quality", _QUALITY, checks)


def add_rows_in_one_file(lake: Path, pipeline: str, runs: Sequence[Mapping[str, Any]]) -> None:
    """Add rows to a ledger in one file, as maintenance leaves them."""
    _write(lake / pipeline / "runs", _RUNS, runs)


def _write(table: Path, schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> None:
    write_deltalake(table, pa.Table.from_pylist(list(rows), schema), mode="append", schema_mode="merge")
