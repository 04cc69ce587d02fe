"""Programs that stand in for Java and Spark: the test sets their output."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.runtime import native_engine

MakeJava = Callable[..., Path]


@pytest.fixture
def make_java(tmp_path: Path) -> MakeJava:
    """Make `<home>/bin/java` of a version, with or without Spark's module; it prints `home_in_output` as its home."""

    def make(name: str, version: str, *, module: bool = True, home_in_output: Path | None = None) -> Path:
        home = tmp_path / name
        script(
            home / "bin" / "java",
            'case "$*" in *--add-modules*) ' + ("" if module else "echo 'Module not found' >&2; exit 1 ") + ";; esac",
            f"echo '    java.home = {home_in_output or home}' >&2",
            f"""echo 'openjdk version "{version}" 2025-04-15' >&2""",
        )
        return home

    return make


@pytest.fixture(autouse=True)
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that set-up has not been run in."""
    empty = tmp_path / "an environment"
    empty.mkdir()
    monkeypatch.setattr("sys.prefix", str(empty))


@pytest.fixture(autouse=True)
def _without_comet(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that cannot run Comet, whatever this machine is."""
    monkeypatch.setattr(native_engine, "obstacle", lambda: "no processor")


@pytest.fixture
def machine_prefix(prefix: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment that these tests run in, after all."""
    monkeypatch.setattr("sys.prefix", sys.exec_prefix)


def script(path: Path, *lines: str) -> Path:
    """Write an executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    path.chmod(0o755)
    return path
