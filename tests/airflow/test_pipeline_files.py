"""Broken files in a folder of pipelines: each is the problem of its file alone, and reading ends in time."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from spark_jobs.pipeline.loading import LARGEST_BYTES
from tidemark_airflow.jobs.pipeline_files import BrokenPipelinesError, read_folder

GOOD = """
name: readings
source: {table: /events, event_time: happened_at, arrival_time: stored_at}
watermark: {out_of_orderness: 10 seconds}
windows: {kind: tumbling, size: 10 minutes, key: [device], aggregates: {n: count(*)}}
"""
#: Airflow's own limit is 30 seconds, for all files.
LIMIT_S = 10
UNKNOWN_KEYS = "".join(f"unknown_{number}: 1\n" for number in range(150_000))
BROKEN = {
    "no source": GOOD + "sources: []\n",
    "a join of no source": "name: pairs\nsources: []\njoin: {kind: interval}\n",
    "a character above the last one": 'name: "\\UFFFFFFFF"\n',
    "a character just above the last one": 'name: "\\U00110000"\n',
    "half a character": 'name: "\\ud800"\n',
    "a version of 5,000 digits": "%YAML 1." + "1" * 5_000 + "\n---\n" + GOOD,
    "unknown keys": GOOD + UNKNOWN_KEYS,
    "as many unknown keys as are read": GOOD + UNKNOWN_KEYS[: LARGEST_BYTES - len(GOOD) - 20],
    "a comment of 10 MB": GOOD + "# " + "x" * 10_000_000,
    "nesting": "a: " + "[" * 50_000,
    "nothing": "",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_takes_nothing_from_a_good_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "readings.yaml").write_text(GOOD, encoding="utf-8")
    broken_file = tmp_path / "broken.yaml"
    broken_file.write_text(text, encoding="utf-8")
    began = time.monotonic()
    files = read_folder(tmp_path)
    assert time.monotonic() - began < LIMIT_S
    assert list(files.good) == ["readings"]
    assert list(files.broken) == [broken_file]
    assert str(broken_file) in files.broken[broken_file]
    files.broken[broken_file].encode("utf-8")
    with pytest.raises(BrokenPipelinesError, match="1 pipeline file cannot be used"):
        files.require_all()


def test_a_file_of_cases_is_no_pipeline(tmp_path: Path) -> None:
    (tmp_path / "readings.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "readings.test.yaml").write_text("cases: {}\n", encoding="utf-8")
    files = read_folder(tmp_path)
    assert list(files.good) == ["readings"]
    assert files.broken == {}


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "readings.yaml").write_text(GOOD, encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.yaml")
    files = read_folder(tmp_path)
    assert list(files.good) == ["readings"]
    assert "found a pipe or device" in files.broken[tmp_path / "pipe.yaml"]


def test_a_file_that_is_gone_or_closed_is_the_problem_of_that_file(tmp_path: Path) -> None:
    (tmp_path / "readings.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere.yaml")
    (tmp_path / "folder.yaml").mkdir()
    files = read_folder(tmp_path)
    assert list(files.good) == ["readings"]
    assert sorted(path.name for path in files.broken) == ["folder.yaml", "gone.yaml"]
