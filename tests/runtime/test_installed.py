"""Parts are in the environment, or in the cache of a user who cannot write the environment."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import spark_jobs
from spark_jobs.runtime.installed import jars_dir, set_up_mark, share


def test_parts_are_below_the_prefix_that_the_user_can_write() -> None:
    assert share() == Path(sys.prefix, "share", "tidemark")
    assert (jars_dir().parent, set_up_mark().parent) == (share(), share())


def test_without_the_right_to_write_parts_are_in_the_cache_by_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert share() == tmp_path / "tidemark" / spark_jobs.__version__
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert share() == tmp_path / ".cache" / "tidemark" / spark_jobs.__version__


def test_parts_that_another_user_has_installed_into_the_environment_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(sys.prefix, "share", "tidemark").mkdir(parents=True)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert share() == Path(sys.prefix, "share", "tidemark")
