"""The first Java of version 17 or 21 that Spark can start on is taken; each one passed over has a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.runtime import RuntimeSetupError, find_java
from spark_jobs.runtime.installed import own_java_home
from spark_jobs.runtime.java import require_java, search
from spark_jobs.runtime.wheel_java import wrap
from tests.runtime.conftest import MakeJava, script


def on_path(home: Path) -> dict[str, str]:
    return {"PATH": f"{home / 'bin'}:/usr/bin:/bin"}


@pytest.mark.parametrize(("version", "number"), [("17.0.15", 17), ("21", 21), ("21.0.8", 21)])
def test_versions_17_and_21_serve(make_java: MakeJava, version: str, number: int) -> None:
    home = make_java("jdk", version)
    java = find_java(on_path(home))
    assert java is not None
    assert (java.path, java.version, java.origin) == (home, number, "PATH")


@pytest.mark.parametrize(
    ("version", "number"), [("1.8.0_392", 8), ("11.0.2", 11), ("16", 16), ("22.0.1", 22), ("25", 25)]
)
def test_a_java_too_old_or_too_new_is_passed_over_and_named(make_java: MakeJava, version: str, number: int) -> None:
    home = make_java("jdk", version)
    result = search(on_path(home))
    assert result.found is None
    assert result.refused == (f"PATH: {home}/bin/java is Java {number}",)


def test_an_old_java_that_does_not_know_the_module_is_refused_for_its_version(make_java: MakeJava) -> None:
    home = make_java("jdk", "11.0.2", module=False)
    assert search(on_path(home)).refused == (f"PATH: {home}/bin/java is Java 11",)


def test_java_without_the_vector_module_is_refused(make_java: MakeJava) -> None:
    home = make_java("jre", "17.0.15", module=False)
    result = search(on_path(home))
    assert result.found is None
    assert result.refused == (f"PATH: {home}/bin/java is Java 17, but without the module jdk.incubator.vector",)


def test_java_home_comes_before_path(make_java: MakeJava) -> None:
    named, other = make_java("named", "21"), make_java("other", "17")
    java = find_java({"JAVA_HOME": str(named), **on_path(other)})
    assert java is not None
    assert (java.path, java.origin) == (named, "JAVA_HOME")


def test_a_java_home_that_does_not_serve_does_not_hide_the_java_on_path(make_java: MakeJava) -> None:
    old, good = make_java("old", "11"), make_java("good", "17")
    result = search({"JAVA_HOME": str(old), **on_path(good)})
    assert result.found is not None
    assert result.found.path == good
    assert result.refused == (f"JAVA_HOME: {old}/bin/java is Java 11",)


def test_a_java_home_without_a_java_is_named(tmp_path: Path) -> None:
    result = search({"JAVA_HOME": str(tmp_path / "gone"), "PATH": ""})
    assert result.refused == (f"JAVA_HOME: {tmp_path}/gone/bin/java does not exist",)


def test_java_home_comes_from_javas_output_and_not_from_a_shims_path(make_java: MakeJava, tmp_path: Path) -> None:
    real = tmp_path / "real"
    shim = make_java("shims", "17", home_in_output=real)
    java = find_java(on_path(shim))
    assert java is not None
    assert java.path == real


@pytest.mark.parametrize("body", ["exit 3", "echo no version here", "kill -9 $$"])
def test_a_java_that_does_not_start_is_passed_over(tmp_path: Path, body: str) -> None:
    java = script(tmp_path / "bin" / "java", body)
    assert search({"PATH": str(tmp_path / "bin")}).refused == (
        f"PATH: {java} does not start, or does not print its version",
    )


def test_the_java_that_set_up_made_is_the_last_resort_and_stays_wrapped(make_java: MakeJava) -> None:
    old, wheel = make_java("old", "11"), make_java("wheel", "21.0.8", module=False)
    wrap(wheel / "bin" / "java", own_java_home())
    java = find_java(on_path(old))
    assert java is not None
    assert (java.path, java.version, java.origin) == (own_java_home(), 21, "set-up")


def test_the_java_that_set_up_made_gives_way_to_one_of_the_machine(make_java: MakeJava) -> None:
    good, wheel = make_java("good", "17"), make_java("wheel", "21", module=False)
    wrap(wheel / "bin" / "java", own_java_home())
    java = find_java(on_path(good))
    assert java is not None
    assert java.path == good


def test_error_without_a_fitting_java_names_the_version_and_the_remedy(make_java: MakeJava) -> None:
    home = make_java("jdk", "11.0.2")
    with pytest.raises(RuntimeSetupError, match=r"needs Java 17 or 21.*is Java 11.*make setup"):
        require_java(on_path(home))


def test_error_without_any_java_names_java_home_and_path() -> None:
    with pytest.raises(RuntimeSetupError, match="JAVA_HOME is unset and there is no java on PATH"):
        require_java({"PATH": ""})
