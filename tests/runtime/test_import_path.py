"""A user's own folders `expectations` and `spark_jobs` beside a pipeline file do not become Tidemark's packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import expectations
import spark_jobs

INSTALLED = Path(spark_jobs.__file__).parents[1]
PROGRAM = """
import sys
from spark_jobs.runtime import import_path
import_path.demote_working_directory(code_is_allowed="no" not in sys.argv)
import expectations
print(expectations.__file__)
import shop_watermarks
print(shop_watermarks.__file__)
"""
COMMAND = """
import sys
folder = sys.argv.pop()
sys.argv.append("--version")
from spark_jobs.cli import main
try:
    main()
finally:
    print(sys.path.count(folder), sys.path[0])
"""
WORKERS = """
from spark_jobs.session import open_session
def rows(frames):
    import spark_jobs.session
    yield from frames
print(open_session("workers").range(1).mapInPandas(rows, "id long").count())
"""


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """A user's folder with a package `expectations` and a module of watermarks."""
    (tmp_path / "expectations").mkdir()
    (tmp_path / "expectations" / "__init__.py").write_text("raise RuntimeError('the package of the user')")
    (tmp_path / "shop_watermarks.py").touch()
    return tmp_path


def python(folder: Path, *arguments: str, path: str = str(INSTALLED), **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the folder; Tidemark's packages are found by `path`."""
    environ = {**os.environ, "PYTHONPATH": path, "TIDEMARK_SPARK_MASTER": "local[1]", **more}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def test_installed_packages_come_before_the_working_directory_and_its_modules_are_found(folder: Path) -> None:
    ended = python(folder, "-c", PROGRAM)
    assert ended.stdout.splitlines() == [expectations.__file__, str(folder / "shop_watermarks.py")], ended.stderr


def test_without_code_of_pipeline_files_the_working_directory_is_not_searched(folder: Path) -> None:
    ended = python(folder, "-c", PROGRAM, "no")
    assert ended.stdout.splitlines() == [expectations.__file__]
    assert "No module named 'shop_watermarks'" in ended.stderr


@pytest.mark.parametrize("allowed", ["yes", "no"])
def test_the_command_sets_the_import_path(folder: Path, allowed: str) -> None:
    ended = python(folder, "-c", COMMAND, str(folder), TIDEMARK_ALLOW_CODE=allowed)
    count, first = ended.stdout.splitlines()[-1].split(maxsplit=1)
    assert count == ("1" if allowed == "yes" else "0"), ended.stderr
    assert first == str(INSTALLED)


def test_a_foreign_package_on_pythonpath_is_one_error_before_spark_starts(folder: Path) -> None:
    path = os.pathsep.join([str(folder), str(INSTALLED)])
    ended = python(folder, "-m", "spark_jobs.cli", "init", ".", path=path)
    assert ended.returncode == 2, "no table is the first error"
    (folder / "_delta_log").mkdir()
    (folder / "_delta_log" / f"{0:020}.json").write_text("{}")
    ended = python(folder, "-m", "spark_jobs.cli", "init", ".", path=path)
    assert ended.returncode == 1
    assert f"finds the package expectations in {folder}/expectations/__init__.py" in ended.stderr
    assert "Rename that package" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "starting Spark" not in ended.stderr


@pytest.mark.spark
def test_workers_of_python_do_not_import_a_folder_of_the_user(folder: Path) -> None:
    (folder / "expectations").rename(folder / "spark_jobs")
    (folder.parent / "workers.py").write_text(WORKERS)
    ended = python(folder, str(folder.parent / "workers.py"))
    assert ended.stdout.strip() == "1", ended.stderr[-2000:]
