"""What a failed attempt leaves in the staging area of its run."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.session import interpreting
from spark_jobs.tables import commit_files, delta_log, delta_transaction, staged_parts, staging
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.leases import Lease, LeaseLostError, Tenure
from spark_jobs.tables.objects import Objects
from spark_jobs.tables.owners import Owner

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session", "writer")]


@pytest.fixture(params=["Spark", "Delta"])
def writer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who writes the parts of staged tables: Spark, or Delta if their columns need a feature of it."""
    if request.param == "Delta":
        monkeypatch.setattr(staged_parts, "can_commit", lambda _: False)


def test_only_files_that_no_commit_names_are_removed(spark: SparkSession, lake: Lake) -> None:
    rows = spark.range(3).select(F.timestamp_seconds("id").alias("window_start"), F.lit("late").alias("timing"))
    for folder in ("r1", "r1-behind", "r2"):
        staging.stage(rows, lake, "r1", "panes", "a part", folder=folder)
    home = Path(lake.staged("panes", "r1"))
    before = {file for file in Path(lake.home).rglob("*") if file.is_file()}
    of_others = Path(lake.staged("panes", "r2"), "part-1.parquet")
    log = home / "_delta_log" / ".00000000000000000001.json.a.tmp"
    never = Path(lake.staged("late_events", "r1"), "part-1.parquet")
    never.parent.mkdir(parents=True)
    # Another attempt is writing them, which deletes them itself if it fails.
    in_work = home / "0123" / "part-1.parquet", home / "0123" / "_temporary" / "part-2.parquet"
    strays = home / "part-1.parquet", home.with_name("r1-behind") / "part-1.parquet", log, never
    for file in (*strays, *in_work, of_others):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    with pytest.raises(LeaseLostError):
        staging.delete_unstaged_files(lake, "r1", lost_tenure())
    assert all(stray.exists() for stray in strays)
    staging.delete_unstaged_files(lake, "r1")
    assert {file for file in Path(lake.home).rglob("*") if file.is_file()} == {*before, *in_work, of_others}
    assert staging.read_part(spark, lake, "r1", "panes", "a part").count() == 3


def lost_tenure() -> Tenure:
    """Return a lease that another process has taken over."""
    registry: Any = SimpleNamespace(read=lambda: SimpleNamespace(leases=()))
    lease = Lease("r1", Interval(), Owner("host", "", 1, 0), datetime.now(UTC))
    return Tenure(lease, waited=False, taken_over=(), _registry=registry)


def test_a_part_whose_files_another_process_has_deleted_is_not_staged(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that was paused for long behind its last file finds out before it commits."""
    write, table = delta_transaction.Transaction.write, tmp_path / "panes"

    def deleted(transaction: delta_transaction.Transaction, rows: DataFrame) -> list[dict[str, Any]]:
        added = write(transaction, rows)
        for file in table.glob("*.parquet"):
            file.unlink()
        return added

    monkeypatch.setattr(delta_transaction.Transaction, "write", deleted)
    with pytest.raises(LakeError, match=r"panes: 1 of 1 new files are deleted, part-"):
        delta_transaction.write(spark.range(1).coalesce(1), str(table), "a part", {})
    assert not delta_log.exists(spark, str(table))


def test_rows_that_another_process_staged_later_are_read(spark: SparkSession, lake: Lake) -> None:
    rows = (
        spark.range(3)
        .coalesce(1)
        .select(F.timestamp_seconds("id").alias("window_start"), F.lit("late").alias("timing"))
    )
    staging.stage(rows, lake, "r1", "panes", "a part")
    assert staging.read_staged(spark, lake, "r1", "panes").count() == 3
    # A commit that Spark has not made: the first one's file under another name.
    home = Path(lake.staged("panes", "r1"))
    (added,) = delta_log.live_files(commit_files.actions(Objects(str(home))))
    shutil.copy(home / added["path"], home / "another.parquet")
    commit = json.dumps({"add": {**added, "path": "another.parquet"}})
    (home / "_delta_log" / f"{1:020}.json").write_text(commit, encoding="utf-8")
    assert staging.read_staged(spark, lake, "r1", "panes").count() == 6


def test_tables_with_rows_of_a_key_share_the_session_that_all_of_them_need(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = F.timestamp_seconds("id").alias("window_start"), F.lit("late").alias("timing")
    for table, rows in (("panes", 3), ("late_events", 2), ("watermarks", 4)):
        staging.stage(spark.range(rows).select(*row), lake, "r1", table, "a part")
    sessions = {4: [spark, spark, interpreting(spark)], 5: [interpreting(spark)] * 3}
    for most, expected in sessions.items():
        monkeypatch.setattr("spark_jobs.session._INTERPRETED_ROWS", most)
        tables = staging.read_by_size(spark, lake, "r1", ["panes", "late_events", "watermarks"])
        assert [table.sparkSession for table in tables.values()] == expected
        assert [table.count() for table in tables.values()] == [3, 2, 4]
