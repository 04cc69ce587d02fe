"""One process installs at a time; what an ended process left unfinished is removed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spark_jobs.runtime import RuntimeSetupError, comet_library, installation, jars, jars_dir, native_engine
from spark_jobs.runtime.installed import share
from tests.runtime.conftest import MakeJava

# Writes a line when it has begun to install, and another when it has ended; a jar folder is made between the two.
PROGRAM = """
import os, sys
from pathlib import Path
sys.prefix = sys.argv[1]
from spark_jobs.runtime import installation, jars, native_engine
native_engine.obstacle = lambda: "no processor"
def fetch(into, environ, report, kind):
    if into.exists():
        print("in place", flush=True)
        return
    print("fetching", flush=True)
    sys.stdin.readline()
    into.mkdir()
jars.fetch = fetch
installation.install(os.environ, lambda line: print(line, flush=True))
print("done", flush=True)
"""


@pytest.fixture(autouse=True)
def _java(make_java: MakeJava, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java("jdk", "17")))


def start() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, sys.prefix]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def go_on(process: subprocess.Popen[str]) -> None:
    """Let the process end."""
    assert process.stdin is not None
    # A line for each folder of jars.
    process.stdin.write("go on\n" * 2)
    process.stdin.flush()
    assert line_with(process, "done")


def line_with(process: subprocess.Popen[str], text: str) -> str:
    """Return the next line of the process that contains the text."""
    assert process.stdout is not None
    return next(line for line in process.stdout if text in line)


def test_two_processes_fetch_once() -> None:
    with start() as first:
        line_with(first, "fetching")
        with start() as second:
            line_with(second, "waiting for another process")
            assert not jars_dir().exists()
            go_on(first)
            assert line_with(second, "in place")
            assert line_with(second, "done")


def test_what_a_killed_process_left_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    (share() / "jars-killed" / "ivy").mkdir(parents=True)
    (share() / "java").mkdir()
    monkeypatch.setattr(jars, "fetch", lambda *_: None)
    installation.install(os.environ, lambda line: None)
    assert {path.name for path in share().iterdir()} == {"java", "lock"}


def test_jars_of_a_folder_are_copied_and_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(jars, "fetch", lambda *_: pytest.fail("fetched"))
    with pytest.raises(RuntimeSetupError, match=r"lacks the jar io\.delta:"):
        installation.install(os.environ, lambda line: None, jars_from=tmp_path)


def test_the_jars_of_all_kinds_are_copied_from_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    copies: list[tuple[Path, str]] = []
    monkeypatch.setattr(jars, "fetch", lambda *_: pytest.fail("fetched"))
    monkeypatch.setattr(jars, "copy", lambda folder, into, report, kind: copies.append((folder, kind.name)))
    installation.install(os.environ, lambda line: None, jars_from=tmp_path)
    assert copies == [(tmp_path, "delta"), (tmp_path, "s3")]


@pytest.mark.parametrize("obstacle", [None, "this processor lacks avx2"])
def test_comet_is_fetched_for_a_machine_that_can_run_it(monkeypatch: pytest.MonkeyPatch, obstacle: str | None) -> None:
    fetched: list[str] = []
    lines: list[str] = []
    monkeypatch.setattr(jars, "fetch", lambda into, environ, report, kind: fetched.append(kind.name))
    monkeypatch.setattr(native_engine, "obstacle", lambda: obstacle)
    monkeypatch.setattr(comet_library, "unpack", lambda: fetched.append("library"))
    installation.install(os.environ, lines.append)
    assert fetched == ["delta", "s3", *([] if obstacle else ["comet", "library"])]
    assert (lines[-1] == "comet: not fetched: this processor lacks avx2") is (obstacle is not None)


def test_a_folder_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(installation, "share", lambda: tmp_path / "file" / "share")
    with pytest.raises(RuntimeSetupError, match=r"cannot write to .*file/share .*as a user who may"):
        installation.install(os.environ, lambda line: None)
