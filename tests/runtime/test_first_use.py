"""An environment made by pip fetches what is missing at its first use; one made by set-up never does."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from spark_jobs.runtime import first_use, jars, jars_dir
from spark_jobs.runtime.installed import set_up_mark
from tests.runtime.conftest import MakeJava


@pytest.fixture(name="fetched")
def _fetched(make_java: MakeJava, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that jars were fetched into."""
    monkeypatch.setenv("JAVA_HOME", str(make_java("jdk", "17")))
    folders: list[Path] = []

    def fetch(into: Path, environ: Mapping[str, str], report: Callable[[str], None]) -> None:
        folders.append(into)
        into.mkdir(parents=True)
        for jar in jars.locked():
            (into / jar.file_name).touch()
        report("a detail")

    monkeypatch.setattr(jars, "fetch", fetch)
    return folders


def provide() -> list[str]:
    lines: list[str] = []
    first_use.provide(os.environ, lines.append)
    return lines


def test_first_use_fetches_the_jars_with_one_line_and_the_second_has_none(fetched: list[Path]) -> None:
    (line,) = provide()
    assert line.startswith("first use: fetching Delta's jars (13 MB)")
    assert str(jars_dir().parent) in line
    assert provide() == []
    assert fetched == [jars_dir()]


def test_an_environment_that_set_up_has_made_fetches_nothing(fetched: list[Path]) -> None:
    set_up_mark().parent.mkdir(parents=True)
    set_up_mark().touch()
    assert provide() == []
    assert fetched == []


def test_after_an_upgrade_the_jars_of_the_new_lock_are_fetched(fetched: list[Path]) -> None:
    provide()
    jars_dir().rename(jars_dir().parent / "of another lock")
    assert len(provide()) == 1
    assert fetched == [jars_dir(), jars_dir()]


def test_a_line_for_a_program_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    first_use.to_stderr("first use")
    assert capsys.readouterr() == ("", "first use\n")
