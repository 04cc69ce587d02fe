"""An environment made by pip fetches what is missing at its first use; one made by set-up never does."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from spark_jobs.runtime import RuntimeSetupError, first_use, jars, jars_dir, spark_conf
from spark_jobs.runtime.__main__ import main
from spark_jobs.runtime.installed import s3_jars_dir
from tests.runtime.conftest import MakeJava

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="fetched")
def _fetched(make_java: MakeJava, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that jars were fetched into."""
    monkeypatch.setenv("JAVA_HOME", str(make_java("jdk", "17")))
    folders: list[Path] = []

    def fetch(into: Path, environ: Mapping[str, str], report: Callable[[str], None], kind: jars.Kind) -> None:
        if into.exists():
            return
        folders.append(into)
        into.mkdir(parents=True)
        for jar in jars.locked(kind):
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
    assert line.startswith("first use: fetching the jars that Spark needs (")
    assert str(jars_dir().parent) in line
    assert provide() == []
    assert fetched == [jars_dir(), s3_jars_dir()]


def test_an_environment_that_set_up_has_made_fetches_nothing_and_names_a_missing_jar(fetched: list[Path]) -> None:
    assert main(["setup"]) == 0
    fetched.clear()
    missing = jars.locked()[0].file_name
    (jars_dir() / missing).unlink()
    assert provide() == []
    assert fetched == []
    with pytest.raises(RuntimeSetupError, match=f"missing {re.escape(missing)}"):
        spark_conf({})


@pytest.mark.parametrize("file", ["Makefile", "docker/Dockerfile"])
def test_a_checkout_and_an_image_are_made_by_set_up(file: str) -> None:
    assert "python -m spark_jobs.runtime setup" in (ROOT / file).read_text().replace("$(PY)", "python")


def test_after_an_upgrade_the_jars_of_the_new_lock_are_fetched(fetched: list[Path]) -> None:
    provide()
    jars_dir().rename(jars_dir().parent / "of another lock")
    assert len(provide()) == 1
    assert fetched == [jars_dir(), s3_jars_dir(), jars_dir()]


def test_a_line_for_a_program_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    first_use.to_stderr("first use")
    assert capsys.readouterr() == ("", "first use\n")
