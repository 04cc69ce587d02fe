"""Checking ten million panes takes no longer than half of the replay that has made them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks import alone

pytestmark = [pytest.mark.spark, pytest.mark.soak]

# Five or six events fire one pane; in the benchmark it is seven.
ROWS, SIZE, PANES, MOST = 60_000_000, "80 seconds", 10_000_000, 0.5


def test_ten_million_panes_are_checked_in_half_the_time_of_their_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_BENCH_SIZE", SIZE)
    alone.run("events", tmp_path, rows=ROWS, seed=1)
    replay = alone.run("ours", tmp_path, rows=ROWS, seed=1)
    audit = alone.run("audit", tmp_path, rows=ROWS, seed=1)
    seconds = {name: round(ran["work_seconds"], 1) for name, ran in (("replay", replay), ("audit", audit))}
    print(f"{replay['said']['panes']:,} panes: {seconds} s of work")
    assert replay["said"]["panes"] >= PANES
    assert audit["said"]["checks_failed"] == 0
    assert audit["work_seconds"] <= MOST * replay["work_seconds"], seconds
