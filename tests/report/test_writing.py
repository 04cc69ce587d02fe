"""Where a report is written."""

from __future__ import annotations

import pytest

from spark_jobs.tables.lake import Lake


@pytest.mark.parametrize(
    ("root", "folder"),
    [
        ("/data/lake", "/data/lake/flights/reports"),
        ("file:///data/my%20lake", "/data/my lake/flights/reports"),
        ("/data/a%20b#c", "/data/a%20b#c/flights/reports"),
        ("s3a://bucket/a%20b#c/", "s3a://bucket/a%20b#c/flights/reports"),
    ],
)
def test_a_report_lies_in_the_lake(root: str, folder: str) -> None:
    assert Lake(root, "flights").report_path("r1") == f"{folder}/r1.html"
    assert Lake(root, "flights").data_docs_path("r1") == f"{folder}/r1.data-docs.html"
