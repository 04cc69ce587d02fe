"""The benchmark of growth on few events: each case runs, and its events are those that its name promises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks import growth
from tests.benchmarks.growth_cases import DIMENSIONS, EDGES, FACTORS, Case

ROWS = 4_000


def test_a_case_survives_json() -> None:
    for case in (EDGES["decade"](ROWS), DIMENSIONS["history"].grown(Case(ROWS), 2)):
        assert Case.from_json(case.to_json()) == case


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.parametrize("name", ["late", "history", "decade"])
def test_a_case_runs(tmp_path: Path, name: str) -> None:
    target = tmp_path / "figures.json"
    options = ["--rows", str(ROWS), "--only", name, "--folder", str(tmp_path), "--json", str(target)]
    assert growth.main(options) == 0
    results = json.loads(target.read_text(encoding="utf-8"))
    if name == "decade":
        counts = results["edges"][name]["counts"]
        assert counts["rows_read"] == ROWS
        assert counts["windows"] > ROWS * 0.9
        return
    cases = results["growth"][name]
    assert [case["value"] for case in cases] == [cases[0]["value"] * factor for factor in FACTORS]
    if name == "history":
        assert {case["counts"]["rows_read"] for case in cases} == {ROWS}
    else:
        # A first row of the day moves the watermark; the rows of its first minute are on time.
        assert all(case["counts"]["late"] > case["value"] * 0.99 for case in cases)
