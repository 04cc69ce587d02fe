"""The live line of a command: plain lines elsewhere, on a terminal a line with the time and the tasks of Spark."""

from __future__ import annotations

import io
import time
from pathlib import Path
from threading import Thread

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from spark_jobs.cli import live_line
from spark_jobs.cli.live_line import LiveLine


def console(*, terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=100, no_color=True)


def output(out: Console) -> str:
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_elsewhere_each_line_is_plain_at_once() -> None:
    out = console(terminal=False)
    line = LiveLine("replay", out)
    line("replay", "counting [x] \x1b[2J of a table")
    assert output(out) == "[tidemark] replay: counting [x] \\x1b[2J of a table\n"
    line.stop()
    assert line.clear == ""
    assert output(out).count("\n") == 1


def test_on_a_terminal_the_newest_line_is_live_and_stays_in_the_end() -> None:
    out = console(terminal=True)
    line = LiveLine("replay", out)
    line("plan", "run r0123456789abcde: version 0 of /events")
    line("replay", "counting [x]")
    assert "[tidemark] plan: run r0123456789abcde: version 0 of /events\n" in output(out)
    assert "[tidemark] replay: counting [x]\n" not in output(out)
    line.stop()
    assert output(out).endswith("[tidemark] replay: counting [x]\n")
    assert "0:00:00" in output(out)
    assert "?25h" in line.clear
    assert line.run_id == "r0123456789abcde"


@pytest.mark.spark
def test_the_tasks_of_a_running_job_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    gate = tmp_path / "gate"

    def wait(number: int) -> None:
        while not gate.exists():
            time.sleep(0.05)

    assert live_line._tasks(spark) == (0, 0)
    job = Thread(target=lambda: spark.sparkContext.parallelize(range(3), 3).foreach(wait))
    job.start()
    out = console(terminal=True)
    line = LiveLine("replay", out)
    line("replay", "counting")
    line.count_tasks(spark)
    while "0 of 3 tasks" not in output(out):
        time.sleep(0.05)
    gate.touch()
    job.join()
    line.stop()
    assert live_line._tasks(spark) == (0, 0)
