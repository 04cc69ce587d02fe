"""Whether a pipeline's sources have few rows, by the logs of their tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.tables import source_size
from spark_jobs.tables.source_size import has_few_rows
from tests.support import history


def reading(table: str | Path) -> Pipeline:
    pipeline = history.pipeline("any")
    return replace(pipeline, source=replace(pipeline.source, table=str(table)))


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files of two rows each, and a limit of four rows."""
    monkeypatch.setattr(source_size, "_FEW_ROWS", 4)
    for _ in range(2):
        write_deltalake(tmp_path / "events", pa.table({"id": [1, 2]}), mode="append")
    return tmp_path / "events"


def test_rows_of_all_files_count(table: Path) -> None:
    assert has_few_rows(reading(table))
    write_deltalake(table, pa.table({"id": [3]}), mode="append")
    assert not has_few_rows(reading(table))


def test_many_files_are_not_read(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_size, "_FEW_FILES", 1)
    assert not has_few_rows(reading(table))


@pytest.mark.parametrize("table_name", ["s3://bucket/events", "catalog.schema.events", "/no/such/folder"])
def test_rows_of_other_tables_are_unknown(table_name: str) -> None:
    assert not has_few_rows(reading(table_name))


def test_rows_of_files_without_statistics_are_unknown(tmp_path: Path) -> None:
    configuration = {"delta.dataSkippingNumIndexedCols": "0"}
    write_deltalake(tmp_path / "bare", pa.table({"id": [1]}), configuration=configuration)
    log = next((tmp_path / "bare" / "_delta_log").glob("*.json"))
    without = log.read_text().replace('"stats":', '"none":')
    log.write_text(without)
    assert not has_few_rows(reading(tmp_path / "bare"))
