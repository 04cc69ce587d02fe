"""Where a report is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.tables.lake import Lake


@pytest.mark.parametrize(
    ("root", "folder"),
    [
        ("/data/lake", "/data/lake/flights/reports"),
        ("file:///data/my%20lake", "/data/my lake/flights/reports"),
        ("/data/a%20b#c", "/data/a%20b#c/flights/reports"),
    ],
)
def test_a_report_lies_in_the_lake(root: str, folder: str) -> None:
    assert Lake(root, "flights").report_file("r1") == Path(folder, "r1.html")
    assert Lake(root, "flights").data_docs_file("r1") == Path(folder, "r1.data-docs.html")


def test_a_lake_that_is_no_folder_of_this_machine_has_its_reports_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Lake("s3a://bucket/lake", "flights").report_file("r1") == tmp_path / "reports/flights/r1.html"
