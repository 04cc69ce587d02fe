"""Iceberg tables: which files arrive when, what has been landed, and the snapshots that are refused."""

from __future__ import annotations

import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import Table

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.land.folder import Format
from spark_jobs.jobs.land.iceberg import AppendedFile, IcebergTable
from spark_jobs.jobs.land.source import read_source
from tests.support.iceberg import (
    append,
    change_metadata,
    compact,
    edit_metadata,
    expire,
    folder_of,
    metadata_file,
    new_table,
    newest_snapshot,
)


@pytest.fixture
def orders(tmp_path: Path) -> Table:
    return new_table(tmp_path, pa.schema([("id", pa.int64()), ("note", pa.string())]))


def opened(orders: Table) -> IcebergTable:
    source = read_source(folder_of(orders))
    assert isinstance(source, IcebergTable)
    return source


def new(orders: Table, *landed: AppendedFile) -> list[AppendedFile]:
    return opened(orders).new_files({file.name: file.content.record_count for file in landed})


def time_of(orders: Table, snapshot: int) -> datetime:
    content = orders.snapshot_by_id(snapshot)
    assert content is not None
    return datetime.fromtimestamp(content.timestamp_ms / 1000, UTC)


def test_a_file_arrives_with_the_snapshot_that_appended_it(orders: Table) -> None:
    assert new(orders) == []
    snapshots = [append(orders, id=[1, 2], note=["a", "b"]), append(orders, id=[3], note=["c"])]
    files = new(orders)
    assert [file.appended_at for file in files] == [time_of(orders, snapshot) for snapshot in snapshots]
    assert [file.content.record_count for file in files] == [2, 1]
    assert all(file.name.startswith("data/") for file in files)


def test_a_later_landing_has_the_files_that_are_new(orders: Table) -> None:
    append(orders, id=[1], note=["a"])
    first = new(orders)
    assert new(orders, *first) == []
    third = append(orders, id=[3], note=["c"])
    (file,) = new(orders, *first)
    assert file.appended_at == time_of(orders, third)
    assert new(orders, *first, file) == []


def test_deleted_rows_are_refused_by_their_snapshot(orders: Table) -> None:
    append(orders, id=[1, 2], note=["a", "b"])
    landed = new(orders)
    orders.delete("id = 1")
    refusal = (
        rf"snapshot {newest_snapshot(orders)} of .* UTC is of operation overwrite: it may have changed rows\. Such"
    )
    append(orders, id=[3], note=["c"])
    for files in ([], landed):
        with pytest.raises(InputError, match=refusal):
            new(orders, *files)


def test_a_delete_of_whole_files_is_refused(orders: Table) -> None:
    append(orders, id=[1], note=["a"])
    append(orders, id=[2], note=["b"])
    orders.delete("id = 1")
    with pytest.raises(InputError, match=f"snapshot {newest_snapshot(orders)} .* is of operation delete"):
        new(orders)


def test_a_file_without_rows_is_left_out(orders: Table) -> None:
    append(orders, id=[], note=[])
    append(orders, id=[1], note=["a"])
    assert [file.content.record_count for file in new(orders)] == [1]


def test_a_delete_file_is_refused(orders: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = append(orders, id=[1], note=["a"])
    source = opened(orders)
    entries = list(source._entries(source._history[-1]))
    entries[0].data_file._data[0] = 1
    monkeypatch.setattr(IcebergTable, "_entries", lambda *_: iter(entries))
    with pytest.raises(InputError, match=f"snapshot {snapshot} of .* deleted rows of other files"):
        source.new_files({})


def test_compaction_of_landed_files_is_passed_over(orders: Table) -> None:
    append(orders, id=[1], note=["a"])
    append(orders, id=[2], note=["b"])
    landed = new(orders)
    first = compact(orders)
    assert new(orders, *landed) == []
    append(orders, id=[3], note=["c"])
    landed += new(orders, *landed)
    assert len(landed) == 3
    compact(orders)
    assert new(orders, *landed) == []
    # A file of the last landed snapshot has landed rows, even if its own snapshot is forgotten.
    append(orders, id=[4], note=["d"])
    landed += new(orders, *landed)
    expire(orders, *(each.snapshot_id for each in orders.snapshots() if each.timestamp_ms < _ms(landed[-1])))
    assert (len(landed), new(orders, *landed)) == (4, [])
    assert orders.snapshot_by_id(first) is None


def _ms(file: AppendedFile) -> int:
    return round(file.appended_at.timestamp() * 1000)


def test_compaction_of_other_rows_is_refused(orders: Table) -> None:
    append(orders, id=[1], note=["a"])
    landed = new(orders)
    append(orders, id=[2], note=["b"])
    snapshot = compact(orders)
    with pytest.raises(InputError, match=f"snapshot {snapshot} .* replace: it rewrote files that were not landed"):
        new(orders, *landed)


def test_compaction_to_fewer_rows_is_refused(orders: Table) -> None:
    append(orders, id=[1, 2], note=["a", "b"])
    landed = new(orders)
    snapshot = compact(orders, rows=1)
    with pytest.raises(InputError, match=f"snapshot {snapshot} .* is of operation replace"):
        new(orders, *landed)


def test_an_expired_snapshot_is_refused_unless_its_file_was_landed(orders: Table) -> None:
    snapshot = append(orders, id=[1], note=["a"])
    landed = new(orders)
    append(orders, id=[2], note=["b"])
    expire(orders, snapshot)
    assert [file.content.record_count for file in new(orders, *landed)] == [1]
    with pytest.raises(InputError, match=rf"snapshot {snapshot} added 'data/.*' and has expired: the time of its"):
        new(orders)


def test_rows_that_went_with_an_expired_snapshot_are_refused(orders: Table) -> None:
    first = append(orders, id=[1], note=["a"])
    landed = new(orders)
    orders.delete("id = 1")
    deleted = newest_snapshot(orders)
    append(orders, id=[2], note=["b"])
    expire(orders, first, deleted)
    with pytest.raises(InputError, match="1 rows were landed, and the table has 0 of them"):
        new(orders, *landed)


def test_a_rollback_is_refused(orders: Table) -> None:
    first = append(orders, id=[1], note=["a"])
    append(orders, id=[2], note=["b"])
    landed = new(orders)
    change_metadata(orders, lambda metadata: metadata.update({"current-snapshot-id": first, "refs": {}}))
    with pytest.raises(InputError, match="2 rows were landed, and the table has 1 of them"):
        new(orders, *landed)


def test_former_names_lead_to_the_present_ones(orders: Table) -> None:
    with orders.update_schema() as schema:
        schema.rename_column("note", "text")
    with orders.update_schema() as schema:
        schema.rename_column("text", "remark")
        schema.delete_column("id")
    assert opened(orders).former_names() == {"note": "remark", "text": "remark"}


def test_the_hint_names_the_version_and_then_the_highest_number(orders: Table) -> None:
    append(orders, id=[1], note=["a"])
    metadata = folder_of(orders) / "metadata"
    first, second = sorted(metadata.glob("*.metadata.json"))
    assert len(new(orders)) == 1
    source = read_source(first)
    assert isinstance(source, IcebergTable)
    assert source.new_files({}) == []
    shutil.copy(first, metadata / "v7.metadata.json")
    assert new(orders) == []
    (metadata / "version-hint.text").write_text("6", encoding="utf-8")
    shutil.copy(second, metadata / "v6.metadata.json")
    assert len(new(orders)) == 1
    (metadata / "version-hint.text").unlink()
    shutil.copy(second, metadata / "00007-b.metadata.json")
    with pytest.raises(InputError, match=r"2 files of the newest version 00007-b\..*, v7\.metadata\.json: name"):
        opened(orders)


def test_what_is_no_table_of_this_folder_is_refused(
    orders: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"--format: .* is an Iceberg table"):
        read_source(tmp_path / "orders", Format.PARQUET)
    shutil.copytree(tmp_path / "orders", tmp_path / "copy")
    with pytest.raises(InputError, match=r"copy' is the Iceberg table of 'file://.*/orders', and its files are there"):
        read_source(tmp_path / "copy")
    change_metadata(orders, lambda metadata: metadata.update(location="s3://bucket/orders"))
    with pytest.raises(InputError, match=r"is the Iceberg table of 's3://bucket/orders'"):
        opened(orders)
    metadata_file(orders).write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read as the metadata of an Iceberg table"):
        opened(orders)
    monkeypatch.setitem(sys.modules, "spark_jobs.jobs.land.iceberg", None)
    with pytest.raises(InputError, match=r"pyiceberg cannot be imported: install Tidemark with its extra iceberg"):
        read_source(tmp_path / "orders")


def test_metadata_leads_to_no_other_file_and_to_no_class(orders: Table, tmp_path: Path) -> None:
    edit_metadata(orders, lambda metadata: metadata["properties"].update({"py-io-impl": "no_module.NoClass"}))
    assert new(orders) == []
    edit_metadata(orders, lambda metadata: metadata["properties"].pop("py-io-impl"))
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"id": [1], "note": ["a"]}), other)
    orders.add_files([f"file://{other}"])
    with pytest.raises(InputError, match=r"found the data file 'file:.*/other.parquet', expected files in this folder"):
        new(orders)

    def elsewhere(metadata: dict[str, Any]) -> None:
        metadata["snapshots"][-1]["manifest-list"] = f"file://{tmp_path}/orders/../other.parquet"

    change_metadata(orders, elsewhere)
    with pytest.raises(InputError, match=r"found the file 'file:.*/other.parquet', expected files in '.*orders'"):
        new(orders)


def test_lost_files_of_metadata_are_named(orders: Table, tmp_path: Path) -> None:
    append(orders, id=[1], note=["a"])
    for file in (tmp_path / "orders/metadata").glob("*.avro"):
        file.unlink()
    with pytest.raises(InputError, match="the metadata cannot be read"):
        new(orders)
