"""Ctrl-C: what is kept and how to continue, for every command and state of a run; and a replay on a terminal."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from rich.console import Console

from spark_jobs.cli.interrupt import sentence
from spark_jobs.cli.live_line import LiveLine
from spark_jobs.tables import run_history
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.fake_lake import add_rows, run_id, steps

FILE = """
name: readings
source: {{table: {table}, event_time: happened_at, arrival_time: stored_at}}
watermark: {{out_of_orderness: 10 seconds}}
windows: {{kind: tumbling, size: 10 minutes, key: [device], aggregates: {{devices: count(distinct site)}}}}
"""
RUN = run_id(1)


def line(command: str, lake: Lake | None = None) -> LiveLine:
    line = LiveLine(command, Console(stderr=True))
    line.lake = lake
    line.run_id = RUN if lake else ""
    return line


@pytest.mark.parametrize("command", ["check", "advise", "plan", "compare", "status", "handover", "init"])
def test_a_command_that_publishes_nothing_has_changed_nothing(command: str) -> None:
    assert sentence(line(command)) == "interrupted; nothing was changed"


@pytest.mark.parametrize("command", ["replay", "repair", "accept"])
def test_before_its_plan_a_run_has_nothing(command: str) -> None:
    assert sentence(line(command)) == "interrupted; nothing was published; the same command starts again"


@pytest.mark.parametrize(
    ("command", "until", "state", "rest"),
    [
        ("replay", "plan", "done", f"nothing of run {RUN} was published; the same command continues"),
        ("replay", "replay", "done", f"nothing of run {RUN} was published; the same command continues"),
        ("replay", "audit", "blocked", f"nothing of run {RUN} was published; the same command continues"),
        ("replay", "audit", "done", f"run {RUN} may be published in part; the same command publishes the rest"),
        ("replay", "publish", "done", f"run {RUN} is published; `tidemark report` writes its report"),
        ("repair", "publish", "done", f"run {RUN} is published; the same command repairs the other windows"),
    ],
)
def test_the_ledger_decides_what_a_run_leaves(tmp_path: Path, command: str, until: str, state: str, rest: str) -> None:
    add_rows(tmp_path, "sales", steps(1, until=until, state=state))
    assert sentence(line(command, Lake(str(tmp_path), "sales"))) == f"interrupted; {rest}"


def test_a_run_that_the_ledger_does_not_have_yet_is_not_published(tmp_path: Path) -> None:
    expected = f"interrupted; nothing of run {RUN} was published; the same command continues"
    assert sentence(line("replay", Lake(str(tmp_path), "sales"))) == expected


def test_a_remote_ledger_is_not_read() -> None:
    expected = f"interrupted; `tidemark status` shows whether run {RUN} is published; the same command continues"
    assert sentence(line("replay", Lake("s3://bucket", "sales"))) == expected


@pytest.mark.spark
@pytest.mark.faults
def test_a_replay_on_a_terminal_shows_what_it_does_and_ends_within_two_seconds(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "events", pa.Table.from_pylist(history.events(50), history.SCHEMA))
    file = tmp_path / "readings.yaml"
    file.write_text(FILE.format(table=tmp_path / "events"))
    ours, other_end = pty.openpty()
    environment = {
        **os.environ,
        "XDG_STATE_HOME": str(tmp_path),
        "TIDEMARK_LAKE": str(tmp_path / "lake"),
        "TIDEMARK_DRIVER_MEMORY": "1g",
        "COLUMNS": "100",
        "TERM": "xterm",
    }
    command = [sys.executable, "-m", "spark_jobs.cli", "replay", str(file)]
    process = subprocess.Popen(command, env=environment, stdin=other_end, stdout=other_end, stderr=other_end)
    os.close(other_end)
    screen = ""
    while "counting version 0" not in screen:
        screen += os.read(ours, 65536).decode()
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    assert time.monotonic() - began < 2
    while part := _rest(ours):
        screen += part
    runs = run_history.every(Lake(str(tmp_path / "lake"), "readings"))
    run = re.search(r"run (r[0-9a-f]{15})", screen)
    assert run is not None
    assert [entry.run_id for entry in runs] in ([], [run[1]])
    last = f"interrupted; nothing of run {run[1]} was published; the same command continues"
    assert screen.splitlines()[-1].endswith(last)
    assert "starting Spark" in screen
    assert not re.search("WARN|ERROR|Traceback|incubator|py4j", screen)


def _rest(terminal: int) -> str:
    try:
        return os.read(terminal, 65536).decode()
    except OSError:
        # The end of a terminal that no process holds.
        return ""
