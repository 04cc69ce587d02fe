"""Landing files on Spark: types, arrival times, later files, and what is refused without a row appended."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.land.folder import read_folder
from spark_jobs.jobs.land.land import Landed, Layout, land
from tests.support.engine import rows_of

pytestmark = pytest.mark.spark

AT = 1_700_000_000
MONDAY = "id,amount,ordered at\n1,2.5,2024-01-01 10:00:00\n2,,\n"
TUESDAY = 'id,amount,ordered at,note\n3,4,2024-01-02 10:00:00,"a, b"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "exports").mkdir()
    return tmp_path / "exports"


def write(file: Path, text: str, at: float = AT) -> Path:
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(text, encoding="utf-8")
    os.utime(file, (at, at))
    return file


def landed(session: SparkSession, folder: Path, layout: Layout = Layout()) -> Landed:  # noqa: B008
    return land(session, read_folder(folder), str(folder.parent / "lake/orders"), layout)


def table(session: SparkSession, folder: Path) -> list[dict[str, Any]]:
    rows = rows_of(session.read.format("delta").load(str(folder.parent / "lake/orders")))
    return sorted(rows, key=lambda row: str(row["arrived_in"]) + str(row.get("id")))


def test_files_of_later_days_are_appended_once(session: SparkSession, folder: Path) -> None:
    write(folder / "monday.csv", MONDAY)
    assert landed(session, folder) == Landed(str(folder.parent / "lake/orders"), 0, 1, 2, is_new=True)
    write(folder / "tüesday 1%.csv", TUESDAY, AT + 86_400.25)
    second = landed(session, folder)
    assert (second.version, second.files, second.rows, second.is_new) == (1, 1, 1, False)
    assert landed(session, folder).files == 0
    first, missing, later = table(session, folder)
    # Times stay text, numbers do not; a file may have a column more.
    assert (first["id"], first["amount"], first["ordered at"], first["note"]) == (1, 2.5, "2024-01-01 10:00:00", None)
    assert (missing["amount"], missing["ordered at"]) == (None, None)
    assert (later["id"], later["amount"], later["note"]) == (3, 4.0, "a, b")
    assert (first["arrived_at"], first["arrived_in"]) == (datetime.fromtimestamp(AT, UTC), "monday.csv")
    assert later["arrived_at"] == datetime.fromtimestamp(AT + 86_400.25, UTC)
    assert later["arrived_in"] == "tüesday 1%.csv"


def test_a_file_that_changed_is_refused(session: SparkSession, folder: Path) -> None:
    write(folder / "monday.csv", MONDAY)
    landed(session, folder)
    write(folder / "monday.csv", MONDAY, AT + 5)
    write(folder / "other.csv", MONDAY)
    with pytest.raises(InputError, match=r"1 files have changed since .*: monday.csv\."):
        landed(session, folder)
    assert len(table(session, folder)) == 2


def test_a_broken_record_is_refused_or_stored(session: SparkSession, folder: Path) -> None:
    write(folder / "a.json", '{"id": 1, "at": "2024-01-01T00:00:00Z", "page": {"name": "x"}}\n{"id": \n')
    with pytest.raises(InputError, match=r"with --keep-broken\. Nothing has been appended"):
        landed(session, folder)
    result = landed(session, folder, Layout(keep_broken=True))
    assert (result.rows, result.broken, result.is_new) == (2, 1, True)
    broken, whole = sorted(table(session, folder), key=lambda row: row["id"] or 0)
    assert (broken["broken_record"], whole["at"], whole["page"]) == (
        '{"id": ',
        "2024-01-01T00:00:00Z",
        {"name": "x"},
    )


def test_partitions_of_parquet_are_columns(session: SparkSession, folder: Path) -> None:
    frame = session.createDataFrame([(1, "eu"), (2, "us")], "id long, region string")
    frame.write.partitionBy("region").mode("overwrite").parquet(str(folder / "parts"))
    result = landed(session, folder / "parts")
    assert (result.files, result.rows) == (2, 2)
    assert {(row["id"], row["region"]) for row in rows_of(session.read.format("delta").load(result.table))} == {
        (1, "eu"),
        (2, "us"),
    }


def test_rows_of_another_type_are_refused(session: SparkSession, folder: Path) -> None:
    write(folder / "a.csv", "id\n1\n")
    landed(session, folder)
    write(folder / "b.csv", "id\nx\n")
    with pytest.raises(InputError, match="Nothing has been appended"):
        landed(session, folder)
    assert len(table(session, folder)) == 1


def test_a_table_without_files_and_a_taken_name_are_refused(session: SparkSession, folder: Path) -> None:
    write(folder / "a.csv", "id,arrived_at\n1,x\n")
    with pytest.raises(InputError, match="--arrival-column: the files have a column 'arrived_at'"):
        landed(session, folder)
    session.range(1).write.format("delta").save(str(folder.parent / "lake/orders"))
    with pytest.raises(InputError, match="has no column arrived_at and no arrived_in, and so no list of its files"):
        landed(session, folder)
    with pytest.raises(InputError, match="TABLE: found 'orders', expected a path, such as lake/orders"):
        land(session, read_folder(folder), "orders")
