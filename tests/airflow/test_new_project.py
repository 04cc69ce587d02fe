"""Airflow reads the DAG files and the plugin of a project that `tidemark new` has made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.airflow.clone import PROJECT, Clone, parse

pytestmark = pytest.mark.airflow


FOREIGN = "raise RuntimeError('the package of the user')\n"


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    """A project that also has packages with the names of Tidemark's packages, where Airflow puts its folders."""
    project = tmp_path / "project"
    subprocess.run([sys.executable, "-m", "spark_jobs.cli", "new", str(project)], cwd=PROJECT, check=True)
    for folder in ("dags", "plugins"):
        for package in ("expectations", "spark_jobs", "tidemark_airflow"):
            (project / folder / package).mkdir()
            (project / folder / package / "__init__.py").write_text(FOREIGN)
    return project


def test_each_pipeline_file_is_a_dag_and_a_broken_one_an_import_error(project: Path, clone: Clone) -> None:
    environment = {**clone.environment(), "AIRFLOW__CORE__PLUGINS_FOLDER": str(project / "plugins")}
    (project / "pipelines" / "broken.yaml").write_text("name: broken\n")
    parsed = parse(project / "dags", environment)
    assert set(parsed["dags"]) == {"tidemark_clicks", "tidemark_backfill", "tidemark_accept"}
    (error,) = parsed["errors"].values()
    assert "1 pipeline file cannot be used" in error
