"""The session of a command, as a process of the command: what a terminal shows of Spark and Java."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.cli import spark_session
from spark_jobs.cli.live_line import LiveLine
from tests.support import history

pytestmark = pytest.mark.spark

FILE = """
name: readings
source: {{table: {table}, event_time: happened_at, arrival_time: stored_at}}
watermark: {{out_of_orderness: 10 seconds}}
windows: {{kind: tumbling, size: 10 minutes, key: [device], aggregates: {{mean: avg(no_such_column)}}}}
"""


def test_a_terminal_shows_no_line_of_spark_or_java(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "events", pa.Table.from_pylist(history.events(50), history.SCHEMA))
    file = tmp_path / "readings.yaml"
    file.write_text(FILE.format(table=tmp_path / "events"))
    command = [sys.executable, "-m", "spark_jobs.cli", "check", str(file), "--json"]
    environment = {
        **os.environ,
        "XDG_STATE_HOME": str(tmp_path),
        "TIDEMARK_LAKE": str(tmp_path / "lake"),
        "TIDEMARK_DRIVER_MEMORY": "1g",
    }
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    answer = json.loads(ended.stdout)
    explain = f"code {answer['code']}: tidemark explain {answer['code']}"
    lines = ("[tidemark] check: starting Spark", answer["error"], explain)
    screen = "".join(f"{line}\n" for line in lines)
    assert (ended.returncode, ended.stderr) == (2, screen)
    (log,) = (tmp_path / "tidemark" / "logs").iterdir()
    assert "incubator" in log.read_text()
    assert "UNRESOLVED_COLUMN" in log.read_text()


def test_later_imports_begin_when_java_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    events: list[str] = []

    def start_java(
        name: str, new_log: Callable[[], Path], report: object, *, few_rows: bool, compiles_plans: bool
    ) -> object:
        events.append("settings")
        new_log()
        events.append("java")
        return object()

    monkeypatch.setattr("spark_jobs.session.open_session", start_java)
    line = Mock(spec=LiveLine, command="replay")
    spark_session.open_session("tidemark replay", line, beside=lambda: events.append("imports"))
    assert events == ["settings", "imports", "java"]
