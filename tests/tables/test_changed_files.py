"""Changed files: what commits added and took away, whatever they rewrote in between."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.tables import delta_log, source
from spark_jobs.tables.changed_files import (
    ChangedFiles,
    UnknownChangesError,
    changed_files,
    changed_files_of,
    rows_of,
)
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.source import RowChanges, row_changes_of
from tests.support import history
from tests.support.edited_source import EditedSource
from tests.support.engine import rows_of as collected


def add(path: str, *, change: bool = True, dv: str | None = None) -> dict[str, Any]:
    return {"add": {"path": path, "dataChange": change, **vector(dv)}}


def remove(path: str, *, change: bool = True, dv: str | None = None) -> dict[str, Any]:
    return {"remove": {"path": path, "dataChange": change, **vector(dv)}}


def vector(dv: str | None) -> dict[str, Any]:
    return {"deletionVector": {"storageType": "u", "pathOrInlineDv": dv}} if dv else {}


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


def schema(columns: str) -> dict[str, Any]:
    return {"metaData": {"schemaString": columns}}


def merge(merged: list[str], into: str) -> list[dict[str, Any]]:
    return [*(remove(path, change=False) for path in merged), add(into, change=False)]


def test_a_file_that_comes_back_from_a_compaction_counts_once() -> None:
    commits = {2: [add("a")], 3: merge(["a", "b"], "d"), 4: [remove("d"), add("a"), add("b")]}
    assert changed_files_of(commits, 1, 4) == ChangedFiles({4: ["a"]}, {})


def test_files_that_come_back_from_compactions_of_compactions_count_once() -> None:
    compacted = {2: [add("a")], 3: merge(["a", "b"], "d"), 4: merge(["c", "d"], "e")}
    restored = {5: [remove("e"), add("a"), add("b"), add("c")]}
    assert changed_files_of(compacted | restored, 1, 5) == ChangedFiles({5: ["a"]}, {})
    mended = {5: [remove("e"), add("f")], 6: [remove("f"), add("a"), add("b"), add("c")]}
    assert changed_files_of(compacted | mended, 1, 6) == ChangedFiles({6: ["a"]}, {})


def test_a_commit_that_notes_something_else_of_its_files_moves_no_rows() -> None:
    commits = {4: [add("a", change=False)], 5: [remove("a"), add("b")], 6: [add("b", change=False)]}
    assert changed_files_of(commits, 3, 6) == ChangedFiles({6: ["b"]}, {3: ["a"]})


def test_writers_that_escape_a_path_otherwise_mean_the_same_file() -> None:
    assert changed_files_of({4: [add("city=K%C3%B6ln/a")], 5: [remove("city=Köln/a")]}, 3, 5) == ChangedFiles({}, {})
    assert row_changes_of({4: [add("%61")], 5: merge(["a"], "b")}, 5) == RowChanges({4: ["%61"]}, 0)


def test_no_file_is_read_between_changes_of_the_columns() -> None:
    commits = {4: [schema("x, y"), add("a")], 5: merge(["a", "b", "c"], "d"), 6: [schema("x"), add("e")]}
    assert changed_files_of(commits, 3, 6) == ChangedFiles({6: ["e", "d"]}, {3: ["b", "c"]})
    same = {version: [action for action in of if action != schema("x, y")] for version, of in commits.items()}
    assert changed_files_of(same, 3, 6) == ChangedFiles({4: ["a"], 6: ["e"]}, {})


def bag(frame: DataFrame) -> Counter[str]:
    return Counter(str(sorted(row.items())) for row in collected(frame))


def assert_differ_by_changed_files(spark: SparkSession, table: str, since: int) -> ChangedFiles:
    """Assert that the newest version has the rows of `since` and of the changed files; returns these files."""
    until = delta_log.version(spark, table)
    assert until is not None
    changed = changed_files(spark, table, since, until)
    assert changed is not None
    # A file whose entry lacks something is looked up in the log.
    for files in (changed, replace(changed, entries={})):
        rows = bag(source.read(spark, table, since))
        rows.update(bag(rows_of(spark, table, files, until, are_added=True)))
        rows.subtract(bag(rows_of(spark, table, files, until, are_added=False)))
        assert +rows == bag(source.read(spark, table, until))
        assert min(rows.values()) >= 0
    return changed


@pytest.mark.soak
@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_files_of_partitions_are_read_by_their_whole_path(spark: SparkSession, tmp_path: Path) -> None:
    table, copy = str(tmp_path / "by day %41"), str(tmp_path / "copy")
    days = ["a b", "x:y", "100%", "Köln"]
    rows = spark.createDataFrame([(number, day) for number, day in enumerate(days)], "id int, day string")
    # One task writes a file of the same name into each folder.
    rows.coalesce(1).write.partitionBy("day").parquet(table)
    spark.sql(f"CONVERT TO DELTA parquet.`{table}` PARTITIONED BY (day string)").collect()
    spark.sql(f"CREATE TABLE delta.`{copy}` SHALLOW CLONE delta.`{table}`").collect()
    for edited in (table, copy):
        DeltaTable.forPath(spark, edited).delete("day IN ('a b', 'Köln')")
        changed = assert_differ_by_changed_files(spark, edited, 0)
        (removed,) = changed.removed.values()
        assert (changed.added, len(removed)) == ({}, 2)
        assert (
            bag(rows_of(spark, edited, ChangedFiles({}, {0: [*removed, removed[0]]}), 0, are_added=False)).total() == 3
        )
    with pytest.raises(SourceError, match=r"version 1 of .* can no longer be read"):
        source.rows_of_files(spark, table, 1, removed)


@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_files_with_an_entry_are_not_looked_up_in_the_log(spark: SparkSession, tmp_path: Path) -> None:
    table, tracker = str(tmp_path / "rows"), spark.sparkContext.statusTracker()
    spark.range(4).coalesce(1).write.format("delta").save(table)
    DeltaTable.forPath(spark, table).delete("id = 2")
    changed = changed_files(spark, table, 0, 1)
    assert changed is not None
    jobs = []
    for entries in (changed.entries, {}):
        group = f"{tmp_path}{len(entries)}"
        spark.sparkContext.setJobGroup(group, "files")
        removed = rows_of(spark, table, replace(changed, entries=entries), 1, are_added=False)
        jobs.append(len(tracker.getJobIdsForGroup(group)))
        assert bag(removed).total() == 4
    assert jobs[0] < jobs[1]


@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_a_column_that_was_dropped_and_added_anew_is_another(spark: SparkSession, tmp_path: Path) -> None:
    table = f"delta.`{tmp_path / 'rows'}`"
    mapped = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    spark.sql(f"CREATE TABLE {table} (id INT, reading STRUCT<value: INT, unit: INT>) USING DELTA {mapped}").collect()
    spark.sql("SELECT 1 AS id, named_struct('value', 5, 'unit', 2) AS reading").write.insertInto(table)
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN reading COMMENT 'by hand'").collect()
    assert changed_files(spark, str(tmp_path / "rows"), 1, 2) == ChangedFiles({}, {})
    spark.sql(f"ALTER TABLE {table} DROP COLUMN reading.unit").collect()
    spark.sql(f"ALTER TABLE {table} ADD COLUMN reading.unit INT").collect()
    with pytest.raises(UnknownChangesError, match=r"the columns of .* are others than at version 1"):
        changed_files(spark, str(tmp_path / "rows"), 1, 4)


@pytest.mark.spark
@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("seed", [pytest.param(0), *(pytest.param(n, marks=pytest.mark.soak) for n in range(1, 8))])
def test_versions_differ_by_the_rows_of_changed_files(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    edited = EditedSource(spark, tmp_path / "rows", history.events(120))
    edited.land()
    if seed % 2:
        edited.mark_deleted_rows()
    since = edited.version
    for number in range(6):
        edited.draw_edit(draw)
        if number == 3:
            back = draw.randrange(since, edited.version + 1)
            spark.sql(f"OPTIMIZE delta.`{edited.path}`").collect()
            spark.sql(f"RESTORE delta.`{edited.path}` TO VERSION AS OF {back}").collect()
            edited.rows = collected(source.read(spark, str(edited.path), back))
    assert_differ_by_changed_files(spark, str(edited.path), since)
