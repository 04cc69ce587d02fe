"""The folder of jars holds exactly what the lock names, with the locked content, or it is not touched."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from spark_jobs.runtime import RuntimeSetupError, ivy, jars, jars_dir
from spark_jobs.runtime.jars import Jar

LOCKED = {"org.one:first:1.0": b"first jar", "org.two:second_2.13:2.0": b"second jar"}
NAMES = ["first-1.0.jar", "second_2.13-2.0.jar"]

Serve = Callable[[Mapping[str, bytes]], list[Sequence[str]]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Let a resolver serve these contents, and return the list of its requests."""

    def make(served: Mapping[str, bytes]) -> list[Sequence[str]]:
        requests: list[Sequence[str]] = []

        def resolve(coordinates: Sequence[str], work: Path, environ: Mapping[str, str], needless: str) -> Path:
            requests.append(coordinates)
            work.mkdir()
            for coordinate, content in served.items():
                group, artifact, version = coordinate.split(":")
                (work / f"{group}_{artifact}-{version}.jar").write_bytes(content)
            return work

        monkeypatch.setattr(ivy, "resolve", resolve)
        return requests

    return make


@pytest.fixture(autouse=True)
def _two_jars_are_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    locked = tuple(Jar(coordinate, hashlib.sha256(content).hexdigest()) for coordinate, content in LOCKED.items())
    monkeypatch.setattr(jars, "locked", lambda kind=jars.DELTA: locked)


def fetch(into: Path) -> list[str]:
    lines: list[str] = []
    jars.fetch(into, {}, lines.append)
    return lines


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


WANTED = dict(zip(NAMES, LOCKED.values(), strict=True))


def test_locked_jars_are_fetched_under_their_file_names(tmp_path: Path, serve: Serve) -> None:
    requests = serve(LOCKED)
    fetch(tmp_path / "share" / "jars")
    assert contents(tmp_path / "share" / "jars") == WANTED
    assert requests == [list(LOCKED)]


def test_second_fetch_requests_no_jar(tmp_path: Path, serve: Serve) -> None:
    requests = serve(LOCKED)
    fetch(tmp_path / "jars")
    assert fetch(tmp_path / "jars") == ["delta: the 2 jars are in place"]
    assert len(requests) == 1


@pytest.mark.parametrize(
    "files",
    [
        {NAMES[0]: b"first jar"},
        {NAMES[0]: b"first jar", NAMES[1]: b"cut off"},
        {**WANTED, "third-1.0.jar": b"a jar of an older lock"},
    ],
    ids=["a jar is missing", "a jar is damaged", "a jar is too many"],
)
def test_a_folder_that_is_not_as_locked_is_made_again(tmp_path: Path, serve: Serve, files: dict[str, bytes]) -> None:
    serve(LOCKED)
    (tmp_path / "jars").mkdir()
    for name, content in files.items():
        (tmp_path / "jars" / name).write_bytes(content)
    fetch(tmp_path / "jars")
    assert contents(tmp_path / "jars") == WANTED


def test_a_jar_that_is_not_the_locked_one_is_refused_and_nothing_changes(tmp_path: Path, serve: Serve) -> None:
    serve({**LOCKED, "org.two:second_2.13:2.0": b"another jar"})
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / NAMES[0]).write_bytes(b"first jar")
    with pytest.raises(RuntimeSetupError, match=r"second_2\.13-2\.0\.jar is not the jar that was locked"):
        fetch(tmp_path / "jars")
    assert contents(tmp_path / "jars") == {NAMES[0]: b"first jar"}
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("jars")] == ["jars"]


def test_a_jar_that_the_resolver_did_not_bring_is_named(tmp_path: Path, serve: Serve) -> None:
    serve({"org.one:first:1.0": b"first jar"})
    with pytest.raises(RuntimeSetupError, match=r"lacks the jar org\.two:second_2\.13:2\.0"):
        fetch(tmp_path / "jars")
    assert not (tmp_path / "jars").exists()


def test_jars_that_set_up_did_not_bring_are_named() -> None:
    jars_dir().mkdir(parents=True)
    (jars_dir() / NAMES[0]).write_bytes(b"first jar")
    with pytest.raises(RuntimeSetupError, match=r"missing second_2\.13-2\.0\.jar\. To fetch them, run `make setup`"):
        jars.require_jars()


def test_require_jars_returns_the_folder_if_all_jars_are_in_it(serve: Serve) -> None:
    serve(LOCKED)
    fetch(jars_dir())
    assert jars.require_jars() == jars_dir()


def test_jars_of_another_machine_are_copied_and_verified(tmp_path: Path) -> None:
    (tmp_path / "usb").mkdir()
    for name, content in WANTED.items():
        (tmp_path / "usb" / name).write_bytes(content)
    lines: list[str] = []
    jars.copy(tmp_path / "usb", jars_dir(), lines.append)
    assert contents(jars_dir()) == contents(tmp_path / "usb") == WANTED
    assert lines == [f"delta: 2 jars copied and verified, in {jars_dir()}"]


@pytest.mark.parametrize(
    ("content", "reason"), [(b"cut off", "is not the jar that was locked"), (None, "lacks the jar")]
)
def test_a_folder_without_the_locked_jars_is_refused(tmp_path: Path, content: bytes | None, reason: str) -> None:
    (tmp_path / NAMES[0]).write_bytes(WANTED[NAMES[0]])
    if content is not None:
        (tmp_path / NAMES[1]).write_bytes(content)
    with pytest.raises(RuntimeSetupError, match=reason):
        jars.copy(tmp_path, jars_dir(), lambda line: None)
    assert not jars_dir().exists()
