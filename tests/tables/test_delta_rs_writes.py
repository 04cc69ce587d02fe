"""Small tables that delta-rs writes: readers open few files of the log."""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable

from spark_jobs.pipeline.published_tables import Column, Table, Use
from spark_jobs.tables import delta_rs_writes

NUMBERS = Table("numbers", "a number", Use.RECORD, (Column("number", "bigint", "a number"),))


def numbers(path: Path) -> list[int]:
    return sorted(row["number"] for row in DeltaTable(path).to_pyarrow_table().to_pylist())


def test_the_log_has_a_checkpoint_every_ten_commits(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    for number in range(23):
        delta_rs_writes.append(str(path), NUMBERS, [{"number": number}])
    checkpoints = (file.name.partition(".")[0] for file in (path / "_delta_log").glob("*.checkpoint.parquet"))
    # The first commit has number 0.
    assert sorted(map(int, checkpoints)) == [9, 19]
    assert numbers(path) == list(range(23))
