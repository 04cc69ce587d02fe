"""Folders of data files: the format by name, what is left out, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.land.folder import Format, read_folder
from spark_jobs.jobs.land.options import format_of, reader_options


def write(folder: Path, *names: str) -> Path:
    for number, name in enumerate(names):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("a\n1\n", encoding="utf-8")
        os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))
    return folder


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.csv", Format.CSV),
        ("a.CSV.gz", Format.CSV),
        ("a.jsonl.zst", Format.JSON),
        ("a.snappy.parquet", Format.PARQUET),
    ],
)
def test_the_format_follows_from_the_name(tmp_path: Path, name: str, expected: Format) -> None:
    assert read_folder(write(tmp_path, name)).format is expected


def test_files_come_in_the_order_in_which_they_became_known(tmp_path: Path) -> None:
    folder = read_folder(
        write(tmp_path, "z.csv", "b/a.csv", "m.csv", "_SUCCESS", ".m.csv.crc", "_tmp/x.csv", "notes.txt")
    )
    assert [file.name for file in folder.files] == ["z.csv", "b/a.csv", "m.csv"]
    assert folder.files[0].changed_at.timestamp() == 1_700_000_000


def test_one_file_is_a_folder_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "b.csv")
    assert [file.name for file in read_folder(tmp_path / "a.csv").files] == ["a.csv"]


def test_a_named_format_takes_files_of_any_name(tmp_path: Path) -> None:
    folder = read_folder(write(tmp_path, "part-0", "other.json"), Format.CSV)
    assert [file.name for file in folder.files] == ["part-0"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("a.csv", "b.json"), "holds files of csv, json; name one format"),
        (("notes.txt",), "holds no data file, expected .parquet, .csv"),
        (("_delta_log/0.json",), "is a Delta table already: run `tidemark init"),
    ],
)
def test_other_folders_are_refused(tmp_path: Path, names: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_folder(write(tmp_path, *names))


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_folder(tmp_path / "none")


def test_options_of_the_command_line() -> None:
    assert (format_of(""), format_of("CSV")) == (None, Format.CSV)
    assert reader_options(["sep=;", "nullValue="]) == {"sep": ";", "nullValue": ""}
    with pytest.raises(InputError, match="--format: found 'xml', expected parquet, csv, json"):
        format_of("xml")
    with pytest.raises(InputError, match="--option: found 'sep', expected name=value"):
        reader_options(["sep"])
