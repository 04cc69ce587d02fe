"""Names and paths of source tables, and the error for a table that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.source_tables import is_path, no_delta_table, require_local


@pytest.mark.parametrize(
    ("table", "path"), [("rows", False), ("a.b.rows", False), ("./rows", True), ("s3a://b/t", True)]
)
def test_a_table_with_a_slash_is_a_path(table: str, *, path: bool) -> None:
    assert is_path(table) == path


def test_a_local_path_without_a_log_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="Give the path of a Delta table"):
        require_local(str(tmp_path))
    (tmp_path / "_delta_log").mkdir()
    require_local(str(tmp_path))
    require_local("s3a://bucket/rows")


def test_a_name_that_is_a_folder_with_a_log_leads_to_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "a name as catalog.schema.table" in str(no_delta_table("rows"))
    Path("rows/_delta_log").mkdir(parents=True)
    assert "'rows' is not a Delta table. Without a slash it is a name in the catalog" in str(no_delta_table("rows"))
    assert "write './rows'" in str(no_delta_table("rows"))
    assert "write" not in str(no_delta_table("./rows"))
