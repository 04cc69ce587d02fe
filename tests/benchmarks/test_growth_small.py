"""The benchmark of growth on few events: each case runs, and its events are those that its name promises."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import growth, process
from tests.benchmarks.growth_cases import DIMENSIONS, EDGES, FACTORS, Case

ROWS, FEW_ROWS = 4_000, 400


def test_a_case_survives_json() -> None:
    for case in (EDGES["decade"](ROWS), DIMENSIONS["history"].grown(Case(ROWS), 2)):
        assert Case.from_json(case.to_json()) == case


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.parametrize("name", ["late", "history"])
def test_a_quantity_grows(tmp_path: Path, name: str) -> None:
    cases = ran(tmp_path, name, ROWS)["growth"][name]
    assert [case["value"] for case in cases] == [cases[0]["value"] * factor for factor in FACTORS]
    if name == "history":
        # The last day, and the rows of the windows that were open when it began.
        assert all(ROWS <= case["counts"]["rows_read"] < ROWS * 1.05 for case in cases)
    else:
        # The first row moves the watermark; the rows of its minute are on time.
        assert all(case["counts"]["late"] > case["value"] * 0.99 for case in cases)


@pytest.mark.spark
@pytest.mark.soak
def test_a_decade_has_a_window_for_nearly_each_event(tmp_path: Path) -> None:
    counts = ran(tmp_path, "decade", FEW_ROWS)["edges"]["decade"]["counts"]
    assert counts["rows_read"] == FEW_ROWS
    assert counts["windows"] > FEW_ROWS * 0.9


def ran(folder: Path, name: str, rows: int) -> dict[str, Any]:
    """Run one case and return the figures."""
    target = folder / "figures.json"
    options = ["--rows", str(rows), "--only", name, "--folder", str(folder), "--json", str(target)]
    assert growth.main(options) == 0
    figures: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    return figures


def test_a_process_that_has_ended_has_no_family_and_no_memory() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert process._family(ended.pid) == [ended.pid]
    assert process._peak_bytes(ended.pid) == 0
