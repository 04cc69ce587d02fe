"""The benchmark of changes on few events: it runs, computes little, and its tables are those of a full replay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks import changed


@pytest.mark.spark
@pytest.mark.soak
def test_a_mended_day_is_computed_alone(tmp_path: Path) -> None:
    target = tmp_path / "figures.json"
    options = ["--rows", "20000", "--days", "10", "--folder", str(tmp_path), "--json", str(target)]
    assert changed.main(options) == 0
    (turn,) = json.loads(target.read_text(encoding="utf-8"))["changed"]
    assert set(turn["differing_rows"].values()) == {0}
    counts = turn["changed"]["counts"]
    # 20 of the 2,000 events of a day have another value: each was taken away and added.
    assert counts["changed_rows"] == 40
    assert 0 < counts["affected_windows"] <= 20
    assert counts["rows_read"] < turn["full"]["counts"]["rows_read"] / 20
