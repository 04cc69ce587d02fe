"""Changed files: what commits added and took away, whatever they rewrote in between."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.tables import source
from spark_jobs.tables.changed_files import ChangedFiles, changed_files, changed_files_of, rows_of
from tests.support import history
from tests.support.edited_source import EditedSource
from tests.support.engine import rows_of as collected


def add(path: str, *, change: bool = True, dv: str | None = None) -> dict[str, Any]:
    return {"add": {"path": path, "dataChange": change, **({"deletionVector": {"id": dv}} if dv else {})}}


def remove(path: str, *, change: bool = True, dv: str | None = None) -> dict[str, Any]:
    return {"remove": {"path": path, "dataChange": change, **({"deletionVector": {"id": dv}} if dv else {})}}


def test_a_file_that_comes_and_goes_counts_in_neither() -> None:
    assert changed_files_of({4: [add("a")], 5: [remove("a")]}, 3, 5) == ChangedFiles({}, {})


def test_a_removed_file_is_read_at_the_version_before_the_changes() -> None:
    commits = {4: [remove("a"), add("b")], 5: [add("c")]}
    assert changed_files_of(commits, 3, 5) == ChangedFiles({5: ["b", "c"]}, {3: ["a"]})


def test_a_compaction_changes_no_row() -> None:
    assert changed_files_of({4: [remove("a", change=False), add("b", change=False)]}, 3, 4) == ChangedFiles({}, {})


def test_an_added_file_that_a_compaction_rewrites_is_read_before_it() -> None:
    commits = {4: [add("a")], 5: [add("x")], 6: [remove("a", change=False), add("b", change=False)]}
    assert changed_files_of(commits, 3, 6) == ChangedFiles({5: ["a"], 6: ["x"]}, {})


def test_rows_of_a_compacted_file_are_taken_away_from_it() -> None:
    commits = {4: [remove("a", change=False), add("b", change=False)], 5: [remove("b"), add("c")]}
    assert changed_files_of(commits, 3, 5) == ChangedFiles({5: ["c"]}, {4: ["b"]})


def test_a_deletion_vector_makes_another_file() -> None:
    commits = {4: [remove("a"), add("a", dv="1")], 5: [remove("a", dv="1"), add("a", dv="2")]}
    assert changed_files_of(commits, 3, 5) == ChangedFiles({5: ["a"]}, {3: ["a"]})


@pytest.mark.spark
@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("seed", [pytest.param(0), *(pytest.param(n, marks=pytest.mark.soak) for n in range(1, 8))])
def test_versions_differ_by_the_rows_of_changed_files(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    edited = EditedSource(spark, tmp_path / "rows", history.events(120))
    edited.land()
    if seed % 2:
        edited.mark_deleted_rows()
    table, since = str(edited.path), edited.version

    def bag(frame: Any) -> Counter[str]:
        return Counter(str(sorted(row.items())) for row in collected(frame))

    before = bag(source.read(spark, table, since))
    for _ in range(6):
        edited.draw_edit(draw)
    until = edited.version
    changed = changed_files(spark, table, since, until)
    assert changed is not None
    before.update(bag(rows_of(spark, table, changed.added, until)))
    before.subtract(bag(rows_of(spark, table, changed.removed, until)))
    assert +before == bag(source.read(spark, table, until))
    assert min(before.values()) >= 0
