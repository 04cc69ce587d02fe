"""What Airflow's tests share: a home of their own for the Airflow in this process, and clones with pipelines."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

# Before anything imports Airflow, which reads them once.
_HOME = tempfile.mkdtemp(prefix="tidemark-airflow-")
os.environ.update(AIRFLOW_HOME=_HOME, AIRFLOW__CORE__LOAD_EXAMPLES="False")
(Path(_HOME) / "airflow.cfg").touch()

from tests.airflow.clone import Clone  # noqa: E402  after the lines above


@pytest.fixture(name="clone")
def _clone(tmp_path: Path) -> Clone:
    """A clone of the project without any pipeline file."""
    return Clone.make(tmp_path / "clone")
