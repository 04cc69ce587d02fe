"""The record loses no line: not by a kill in the middle of a line, nor by two processes at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proofs.record import Entry, Record, durations, latest

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from pathlib import Path
from tests.proofs.record import Entry, Record
for number in range(200):
    Record(Path(sys.argv[1])).add(Entry("proof", f"{sys.argv[2]}-{number}", "passed", 1.0, "content" * 100))
"""


def entry(case: str, outcome: str = "passed", seconds: float = 1.0) -> Entry:
    return Entry("proof", case, outcome, seconds, "content")


def test_it_returns_what_was_added(tmp_path: Path) -> None:
    record, cases = Record(tmp_path / "new" / "record.jsonl"), [entry("a"), entry("b ü\n", "failed", 2.5)]
    assert record.entries() == []
    for case in cases:
        record.add(case)
    assert record.entries() == cases


def test_the_start_of_a_line_costs_that_line_alone(tmp_path: Path) -> None:
    file = tmp_path / "record.jsonl"
    Record(file).add(entry("a"))
    whole = file.read_bytes()
    for length in range(1, len(whole)):
        file.write_bytes(whole + whole[:length])
        Record(file).add(entry("b"))
        cases = [read.case for read in Record(file).entries()]
        # A line that lacks its end of line alone is whole.
        assert cases == (["a", "a", "b"] if length == len(whole) - 1 else ["a", "b"])


def test_processes_add_lines_at_once(tmp_path: Path) -> None:
    file = tmp_path / "record.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(file), name], cwd=ROOT) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert {read.case for read in Record(file).entries()} == {f"{name}-{n}" for name in "ab" for n in range(200)}
    assert file.read_bytes().count(b"\n") == 400


def test_a_mark_keeps_its_first_moment(tmp_path: Path) -> None:
    record = Record(tmp_path / "record.jsonl")
    first = record.moment("key")
    record.add(entry("a"))
    assert record.moment("key") == first
    assert record.moment("other") > first


def test_records_of_two_machines_are_joined_by_their_times(tmp_path: Path) -> None:
    old, new = Record(tmp_path / "old"), Record(tmp_path / "new")
    old.add(entry("a", seconds=1))
    new.add(entry("a", seconds=2))
    joined = tmp_path / "joined"
    joined.write_bytes((tmp_path / "new").read_bytes() + (tmp_path / "old").read_bytes())
    assert durations(Record(joined).entries()) == {"a": 2}


def test_a_case_that_was_skipped_has_no_duration(tmp_path: Path) -> None:
    record = Record(tmp_path / "record.jsonl")
    record.add(entry("a", seconds=3))
    record.add(entry("a", "skipped", 0.1))
    assert durations(record.entries()) == {"a": 3}


def test_the_part_that_is_committed_is_read_and_only_keep_changes_it(tmp_path: Path) -> None:
    committed_file = tmp_path / "committed.jsonl"
    Record(committed_file).add(entry("b", seconds=2))
    record = Record(tmp_path / "new" / "record.jsonl", committed_file)
    record.add(entry("a"))
    record.add(entry("b", seconds=3))
    assert [read.case for read in record.entries()] == ["b", "a", "b"]
    assert [read.seconds for read in Record(committed_file).entries()] == [2]
    record.keep(latest(record.entries()).values())
    assert [(read.case, read.seconds) for read in Record(committed_file).entries()] == [("a", 1), ("b", 3)]
    assert [json.loads(line)["case"] for line in committed_file.read_text(encoding="utf-8").splitlines()] == ["a", "b"]


def test_a_record_without_a_committed_part_keeps_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no file that is committed"):
        Record(tmp_path / "record.jsonl").keep([entry("a")])
