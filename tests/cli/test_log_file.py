"""The log file of a command: its folder, how many stay, and what of Python's loggers it takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spark_jobs.cli import log_file

LOGGING = """
import logging, warnings
from pyspark.logger import PySparkLogger
from spark_jobs.cli import log_file
print(log_file.current(), log_file.create() == log_file.current())
logging.getLogger("py4j").error("from py4j")
warnings.warn("from a library")
PySparkLogger.getLogger("SQLQueryContextLogger").exception("from PySpark", errorClass="X")
"""


@pytest.fixture(name="state")
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "tidemark" / "logs"


def test_records_of_loggers_and_warnings_go_to_the_file_and_not_to_the_terminal(state: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", LOGGING], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("None True\n", "")
    (file,) = state.iterdir()
    assert all(text in file.read_text() for text in ("from py4j", "from a library", "from PySpark"))


def test_only_its_user_reads_the_file_and_old_files_are_removed(state: Path) -> None:
    state.mkdir(parents=True)
    for number in range(log_file.KEPT):
        (state / f"20240101T0000{number:02}-1.log").touch()
    file = log_file._new_file()
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(list(state.iterdir())) == log_file.KEPT
    assert not (state / "20240101T000000-1.log").exists()


def test_the_file_is_temporary_if_the_folder_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    file = log_file._new_file()
    assert file.parent == tmp_path
    assert file.is_file()


def test_the_folder_is_below_the_home_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert log_file.folder() == Path(os.environ["HOME"]) / ".local" / "state" / "tidemark" / "logs"
