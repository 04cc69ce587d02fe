"""A step as a program: its exit code and its JSON result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.job_protocol import ExitCode
from spark_jobs.jobs import step
from tests.faults.drivers import PIPELINE

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def ended(folder: Path, name: str, file: Path) -> tuple[int, dict[str, Any]]:
    """Return the exit code of a step, and its JSON."""
    result = folder / "result.json"
    code = step.main([name, str(file), "--result", str(result)])
    return code, json.loads(result.read_text(encoding="utf-8"))


def test_a_step_that_fails_names_its_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_LAKE", str(tmp_path / "lake"))
    file = tmp_path / "of_the_north.yaml"
    file.write_text(PIPELINE.format(table=tmp_path / "events"), encoding="utf-8")
    code, result = ended(tmp_path, "audit", file)
    assert code == ExitCode.WRONG_INPUT
    assert (result["step"], result["pipeline"], result["state"]) == ("audit", "readings", "failed")
    assert "needs --run-id" in result["error"]


def test_of_a_file_that_cannot_be_read_no_name_is_known(tmp_path: Path) -> None:
    code, result = ended(tmp_path, "plan", tmp_path / "nowhere.yaml")
    assert code == ExitCode.WRONG_INPUT
    assert (result["pipeline"], result["run_id"]) == ("", "")
    assert "nowhere.yaml" in result["error"]
