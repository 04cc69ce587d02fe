"""Nexmark on few events: the pipelines for q5, q7, q8 and q11 give the answers of Flink's SQL."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks import nexmark
from tests.benchmarks.nexmark_tasks import QUERIES

pytestmark = [pytest.mark.spark, pytest.mark.soak]

# Half a minute: several windows of each query.
EVENTS = 300_000


def test_answers_are_those_of_flink_row_for_row(tmp_path: Path) -> None:
    target = tmp_path / "figures.json"
    options = ["--events", str(EVENTS), "--repeat", "1", "--folder", str(tmp_path), "--json", str(target)]
    assert nexmark.main(options) == 0
    answers = {
        query: runs["answers"] for query, runs in json.loads(target.read_text(encoding="utf-8"))["queries"].items()
    }
    assert set(answers) == set(QUERIES)
    assert all(counts["differing"] == 0 < counts["rows"] for counts in answers.values()), answers
