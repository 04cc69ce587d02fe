"""Every command, pipeline file, query and program of README.md and docs is run or loaded, in the order of its page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.docs.markdown import steps
from tests.docs.scenario import ROOT, Scenario

pytestmark = pytest.mark.spark

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(name="folder")
def _folder(session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, current for Python and for Spark, and the environment as it was afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIDEMARK_LAKE", raising=False)
    before, environ = working_directory(session, tmp_path), dict(os.environ)
    yield tmp_path
    working_directory(session, Path(before))
    os.environ.clear()
    os.environ.update(environ)


def working_directory(spark: SparkSession, folder: Path) -> str:
    """Let Spark resolve relative paths from `folder`; returns the folder before."""
    context = spark.sparkContext
    java = context._jvm
    assert java is not None
    files = java.org.apache.hadoop.fs.FileSystem.get(java.java.net.URI("file:///"), context._jsc.hadoopConfiguration())
    before = str(files.getWorkingDirectory().toUri().getPath())
    files.setWorkingDirectory(java.org.apache.hadoop.fs.Path(str(folder)))
    return before


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_and_files_of_the_page_work(page: Path, session: SparkSession, folder: Path) -> None:
    scenario = Scenario(session, folder)
    for step in steps(page):
        scenario.take(step)
