"""Tidemark in an empty environment, as a user has it: pip, `tidemark new`, and the tests of the new project."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.airflow]

PROJECT = Path(__file__).parents[2]
FOREIGN = "raise RuntimeError('the package of the user')\n"
PARSE = """
import sys
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(sys.argv[1])
assert not bag.import_errors, bag.import_errors
print("DAGS", *sorted(bag.dags))
"""


class Environment:
    """An environment that the standard library has made, and what runs in it: nothing of this checkout."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=True)
        self.bin = folder / "bin"
        own = ("AIRFLOW", "TIDEMARK", "PYTHONPATH")
        base = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        self.environ = {**base, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "AIRFLOW_HOME": f"{folder}/air"}

    def run(self, folder: Path, *command: str) -> str:
        """Run a program of the environment in a folder; returns its standard output."""
        program = [str(self.bin / command[0]), *command[1:]]
        ended = subprocess.run(program, cwd=folder, env=self.environ, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout


def test_a_new_project_works_on_the_wheel_alone(tmp_path: Path) -> None:
    dist, project = tmp_path / "dist", tmp_path / "clickstream"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "--directory", str(dist)]
    subprocess.run(build, cwd=PROJECT, check=True)
    (wheel,) = dist.glob("*.whl")
    environment = Environment(tmp_path / "environment")
    pip = ("python", "-m", "pip", "--no-input", "--disable-pip-version-check", "install", "--quiet")
    environment.run(tmp_path, *pip, f"{wheel}[airflow]")
    environment.run(tmp_path, "tidemark", "new", "clickstream")
    # The project's own requirements name the installed version, and pytest.
    environment.run(project, *pip, "--find-links", str(dist), "-r", "requirements.txt")
    for folder in (project, project / "dags", project / "plugins"):
        for package in ("expectations", "spark_jobs"):
            (folder / package).mkdir()
            (folder / package / "__init__.py").write_text(FOREIGN)
    environment.run(project, "python", "make_example_table.py")
    assert "valid, and fits version 0" in environment.run(project, "tidemark", "check", "pipelines/clicks.yaml")
    assert "rows read        7" in environment.run(project, "tidemark", "replay", "pipelines/clicks.yaml")
    dags = environment.run(project, "python", "-P", "-c", PARSE, str(project / "dags")).splitlines()[-1]
    assert dags == "DAGS tidemark_accept tidemark_backfill tidemark_clicks"
    for package in ("expectations", "spark_jobs"):
        (project / package / "__init__.py").unlink()
        (project / package).rmdir()
    assert "3 passed" in environment.run(project, "python", "-m", "pytest", "-q")
