"""The plan in sentences: what is read, what is replaced, and where no row is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from spark_jobs.cli import print_plan
from spark_jobs.tables.run import Run

AT = datetime(2024, 3, 30, 22, 10, tzinfo=UTC)
PLANNED: dict[str, Any] = {
    "run_id": "r000000000000001",
    "pipeline": "readings",
    "fingerprint": "f",
    "kind": "full",
    "state": "new",
    "source": "data/readings",
    "source_version": 3,
    "interval_start": None,
    "interval_end": None,
    "stretches": [],
    "arrived_from": None,
    "arrived_to": None,
    "source_rows": 120_000,
    "source_files": 1,
    "source_bytes": 1 << 20,
    "first_window": AT,
    "last_window": AT,
}


def lines(published: Run | None = None, changed: Sequence[str] = (), **values: Any) -> list[str]:
    return list(print_plan._lines({**PLANNED, **values}, published, changed, has_windows=True))


def test_a_first_run_replaces_nothing() -> None:
    assert lines() == [
        "readings  run r000000000000001, new",
        "reads 120,000 rows (1 file, 1.0 MiB) of version 3 of data/readings",
        "replaces nothing: first run",
        "windows begin from 2024-03-30 22:10 UTC to 2024-03-30 22:10 UTC",
    ]


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({}, "replaces all results, last published by run r2"),
        (
            {"kind": "backfill", "interval_start": AT},
            "replaces the windows from 2024-03-30 22:10 UTC to the last, last published by run r2",
        ),
        (
            {"kind": "changed", "interval_start": AT, "stretches": [(AT, AT), (AT, None)]},
            "replaces the windows of 2 stretches from 2024-03-30 22:10 UTC to the last, last published by run r2",
        ),
        (
            {"kind": "changed", "interval_start": AT, "interval_end": AT},
            "replaces no window, last published by run r2",
        ),
        ({"kind": "changed", "affected_windows": 0}, "replaces all results, last published by run r2"),
        ({"kind": "arrivals", "arrived_to": AT}, "reads rows that arrived before 2024-03-30 22:10 UTC"),
        ({"state": "published"}, "this run is published: a replay has nothing to do"),
        (
            {"kind": "backfill", "first_window": None, "last_window": None},
            "no row is in these windows: check --from and --to",
        ),
        ({"first_window": None, "last_window": None}, "no row has a usable time"),
        ({"note": "the source has changed"}, "the source has changed"),
    ],
)
def test_a_later_run_names_what_it_replaces(values: dict[str, Any], line: str) -> None:
    assert line in lines(Run("r2", "readings", "f", "full", 3, None, None), **values)


def test_results_of_other_settings_are_named() -> None:
    other = Run("r2", "readings", "g", "full", 3, None, None)
    change = "windows.allowed_lateness: 4 hours -> 1 hour"
    named = lines(other, [change])
    assert named[named.index("replaces all results, last published by run r2 with other settings") + 1] == f"  {change}"
