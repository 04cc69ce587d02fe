"""A file appears whole or not at all, and is readable as any file of the user is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spark_jobs.whole_files import write_whole


def test_a_text_that_fails_leaves_the_earlier_file_and_no_part(tmp_path: Path) -> None:
    path = tmp_path / "reports" / "r1.html"
    assert write_whole("a page", path) == path
    with pytest.raises(UnicodeEncodeError):
        write_whole("half a page \ud800", path)
    assert path.read_text(encoding="utf-8") == "a page"
    assert [p.name for p in path.parent.iterdir()] == ["r1.html"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_a_file_has_the_mode_of_the_users_files(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        path = write_whole("a page", tmp_path / "r1.html")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == mode
