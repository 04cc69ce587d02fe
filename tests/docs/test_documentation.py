"""Every command, pipeline file, query and program of README.md and docs is run or loaded, in the order of its page."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from pyspark.sql import SparkSession

from tests.docs.markdown import Step, steps
from tests.docs.scenario import ROOT, Scenario

pytestmark = pytest.mark.spark

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIAL = ROOT / "docs" / "tutorial.md"


def parameter(page: Path) -> ParameterSet:
    """Return the page as a parameter; a page with whole runs takes minutes, so it is `soak`."""
    is_long = page == TUTORIAL or any(step.words.keys() & {"after", "start"} or replays(step) for step in steps(page))
    return pytest.param(page, marks=[pytest.mark.soak] if is_long else [], id=str(page.relative_to(ROOT)))


def replays(step: Step) -> bool:
    """Return whether a block runs a whole replay."""
    return "\n$ tidemark replay" in f"\n{step.text}" and "parse" not in step.words


class Library:
    """The pages that have been run, each in a folder that stays for pages that begin where it ends."""

    def __init__(self, spark: SparkSession, folders: pytest.TempPathFactory) -> None:
        self._spark, self._folders = spark, folders
        self._ended: dict[Path, Scenario] = {}

    def run(self, page: Path) -> Scenario:
        """Run the steps of a page, once."""
        if page not in self._ended:
            page_steps = steps(page)
            begins = [(ROOT / "docs" / step.words["after"]).resolve() for step in page_steps if "after" in step.words]
            earlier = [self.run(other) for other in begins]
            scenario = Scenario(self._spark, self._folders.mktemp("page"))
            for ended in earlier:
                scenario.begin_after(ended)
            with inside(self._spark, scenario.folder):
                for step in page_steps:
                    scenario.take(step)
            self._ended[page] = scenario
        return self._ended[page]


@contextmanager
def inside(spark: SparkSession, folder: Path) -> Iterator[None]:
    """Make a folder the current one, for Python and for Spark, and restore environment and paths afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        environ, paths, before = dict(os.environ), list(sys.path), working_directory(spark, folder)
        patch.chdir(folder)
        os.environ.pop("TIDEMARK_LAKE", None)
        try:
            yield
        finally:
            working_directory(spark, Path(before))
            os.environ.clear()
            os.environ.update(environ)
            sys.path[:] = paths


def working_directory(spark: SparkSession, folder: Path) -> str:
    """Let Spark resolve relative paths from `folder`; returns the folder before."""
    context = spark.sparkContext
    java = context._jvm
    assert java is not None
    files = java.org.apache.hadoop.fs.FileSystem.get(java.java.net.URI("file:///"), context._jsc.hadoopConfiguration())
    before = str(files.getWorkingDirectory().toUri().getPath())
    files.setWorkingDirectory(java.org.apache.hadoop.fs.Path(str(folder)))
    return before


@pytest.fixture(name="library", scope="module")
def _library(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(session, tmp_path_factory)


@pytest.mark.parametrize("page", [parameter(page) for page in PAGES])
def test_the_commands_and_files_of_the_page_work(page: Path, library: Library) -> None:
    library.run(page)
