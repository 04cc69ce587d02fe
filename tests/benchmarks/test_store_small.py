"""The benchmark of an object store, with few events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks import store


@pytest.mark.soak
def test_both_places_have_the_same_counts(tmp_path: Path) -> None:
    target = tmp_path / "figures.json"
    arguments = ["--rows", "20000", "--repeat", "1", "--json", str(target), "--folder", str(tmp_path)]
    assert store.main(arguments) == 0
    measured = json.loads(target.read_text(encoding="utf-8"))["store"]
    (in_folder,), (in_store,) = measured["folder"], measured["store"]
    assert in_folder["counts"] == in_store["counts"]
    assert in_store["counts"]["rows_read"] == 20_000
