"""Where a report is written, and that nobody ever sees a part of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.jobs.report.write_page import write_page
from spark_jobs.tables.lake import Lake


def test_a_page_that_fails_leaves_the_earlier_one_and_no_part(tmp_path: Path) -> None:
    path = tmp_path / "reports" / "r1.html"
    assert write_page("a page", path) == path
    with pytest.raises(UnicodeEncodeError):
        write_page("half a page \ud800", path)
    assert path.read_text(encoding="utf-8") == "a page"
    assert [p.name for p in path.parent.iterdir()] == ["r1.html"]


def test_a_page_is_read_by_others_than_its_writer(tmp_path: Path) -> None:
    path = write_page("a page", tmp_path / "r1.html")
    assert path.stat().st_mode & 0o444 == 0o444


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
