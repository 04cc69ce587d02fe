"""The drivers of Spark among the processes of an Airflow: one for each application, and only once it has started."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.airflow.waiting import until
from tests.airflow.whole import is_driver

DRIVER, LAUNCHER = "org.apache.spark.deploy.SparkSubmit", "org.apache.spark.launcher.Main"


@pytest.mark.parametrize(
    ("words", "expected"),
    [([DRIVER, "step.py"], True), ([LAUNCHER, DRIVER, "step.py"], False), (["-version"], False)],
    ids=["driver", "launcher", "version"],
)
def test_a_java_is_a_driver_if_it_runs_spark(tmp_path: Path, words: list[str], expected: bool) -> None:
    with java(tmp_path, "read", words) as process:
        assert is_driver(psutil.Process(process.pid)) is expected
        process.communicate(b"\n")


def test_a_child_of_a_driver_is_no_driver_before_it_starts_its_program(tmp_path: Path) -> None:
    with java(tmp_path, "(read; true); true", [DRIVER]) as process:
        driver = psutil.Process(process.pid)
        until(lambda: len(driver.children()) == 1)
        child = driver.children()[0]
        assert (child.name(), child.cmdline()) == ("java", driver.cmdline())
        assert (is_driver(driver), is_driver(child)) == (True, False)
        process.communicate(b"\n")


def java(folder: Path, script: str, words: list[str]) -> subprocess.Popen[bytes]:
    """Start a shell under the name of Java, with words of its command. It waits for a line.

    Linux sets the name of a process before its command: the shell has started only once it has both.
    """
    name = folder / "java"
    name.symlink_to(str(shutil.which("bash")))
    command = [str(name), "-c", script, *words]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    until(lambda: psutil.Process(process.pid).cmdline() == command)
    return process
