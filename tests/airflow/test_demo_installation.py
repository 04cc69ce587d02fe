"""The demo shares the database of the Airflow of this folder, unless that Airflow runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.airflow.waiting import until
from tidemark_airflow.embedded import airflow, demo, processes
from tidemark_airflow.embedded import installation as installations
from tidemark_airflow.embedded.installation import MARK, Installation, InstallationError

pytestmark = pytest.mark.airflow

Start = Callable[[str], None]


@pytest.fixture(name="root")
def _root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(installations, "_ROOT", tmp_path)
    return tmp_path


@pytest.fixture(name="start")
def _start(root: Path) -> Iterator[Start]:
    """Start a process that is marked as a part of the Airflow of this folder."""
    home = root / ".tidemark" / "airflow"
    with ExitStack() as stack:

        def start(part: str) -> None:
            variables = {**os.environ, MARK: str(home), processes.PART: part}
            command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
            # Its input ends with the test, and then the process ends.
            process = stack.enter_context(subprocess.Popen(command, env=variables, stdin=subprocess.PIPE))
            until(lambda: process.pid in [running.pid for running in processes.carrying(home)])

        yield start


def test_the_demo_uses_the_database_of_make_up(root: Path) -> None:
    assert demo.installation_of({}) == Installation.of({})
    assert demo.installation_of({}).home == root / ".tidemark" / "airflow"


def test_the_demo_is_apart_while_airflow_runs(root: Path, start: Start) -> None:
    start("scheduler")
    assert demo.installation_of({}).home == root / ".tidemark" / "demo"


def test_airflow_does_not_start_on_the_database_of_a_running_demo(root: Path, start: Start) -> None:
    start(processes.DEMO)
    assert demo.installation_of({}).home == root / ".tidemark" / "airflow"
    with pytest.raises(InstallationError, match="a demo is running in this folder"):
        airflow.up(Installation.of({}))
