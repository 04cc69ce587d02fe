"""The command setup installs what Spark needs, and names the folder of the jars."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from spark_jobs.runtime import RuntimeSetupError, installation
from spark_jobs.runtime.installed import jars_dir


def test_setup_installs_and_names_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Path | None] = []

    def install(environ: Mapping[str, str], report: Callable[[str], None], *, jars_from: Path | None) -> None:
        report("java: Java 17")
        calls.append(jars_from)

    monkeypatch.setattr(installation, "install", install)
    result = CliRunner().invoke(app, ["setup", "--jars", "usb", "--json"])
    assert calls == [Path("usb")]
    assert json.loads(result.stdout)["jars"] == str(jars_dir())
    assert "setup: java: Java 17" in result.stderr


def test_setup_that_fails_ends_with_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def install(*_: object, **__: object) -> None:
        raise RuntimeSetupError.jars_unresolved(["UnknownHostException"])

    monkeypatch.setattr(installation, "install", install)
    result = CliRunner().invoke(app, ["setup"])
    assert result.exit_code == 1
    assert "UnknownHostException" in result.stderr
    assert "tidemark setup --jars FOLDER" in result.stderr
