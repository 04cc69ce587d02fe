"""The benchmark of the demo, in one new clone of the last commit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks import demo


@pytest.mark.soak
def test_the_second_demo_of_a_clone_needs_no_set_up(tmp_path: Path) -> None:
    target = tmp_path / "figures.json"
    demo.main(["--json", str(target), "--folder", str(tmp_path)])
    (turn,) = json.loads(target.read_text(encoding="utf-8"))["demo"]
    assert 0 < turn["again"] < turn["first"]
