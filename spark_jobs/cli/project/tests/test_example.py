"""The example is replayed over a temporary lake, and gives the expected windows. Copy this for your pipelines."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from deltalake import DeltaTable

PROJECT = Path(__file__).parents[1]
# The start of a window, its clicks, and how many clicks were too late for it.
EXPECTED = [("10:00", 3, 1), ("10:10", 2, 0), ("10:20", 1, 0)]


def test_the_example_has_the_expected_windows(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    python(lake, "make_example_table.py")
    python(lake, "-m", "spark_jobs.cli", "replay", "pipelines/clicks.yaml")
    table = DeltaTable(str(lake / "clicks" / "window_results")).to_pyarrow_table()
    rows = sorted(table.to_pylist(), key=lambda row: row["window_start"])
    assert [(at(row["window_start"]), row["clicks"], row["too_late_count"]) for row in rows] == EXPECTED


def python(lake: Path, *arguments: str) -> None:
    """Run a program of the project with another lake."""
    environ = {**os.environ, "TIDEMARK_LAKE": str(lake)}
    subprocess.run([sys.executable, *arguments], cwd=PROJECT, env=environ, check=True)


def at(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%H:%M")
