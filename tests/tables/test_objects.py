"""Objects: complete or absent, created once, in a folder and in an object store."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Event, Thread, current_thread
from typing import Any

import pytest

from spark_jobs.error_codes import ErrorCode
from spark_jobs.tables import objects as objects_module
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.leases import acquire
from spark_jobs.tables.objects import HASTY, Objects, _try_conditional_writes
from tests.support.object_store import BUCKET, object_store

SPAWN = multiprocessing.get_context("spawn")
WRITERS, RACES = 4, 20


@pytest.fixture(name="store", scope="module")
def _store() -> Iterator[None]:
    """A running object store, which this process finds by its variables."""
    with object_store() as variables, pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(name="home", params=["folder", "s3a", "s3"])
def _home(request: pytest.FixtureRequest, store: None, tmp_path: Path) -> str:
    """A folder with a name that has to be escaped in some places."""
    folder = tmp_path / "a lake ä%20#1"
    return str(folder) if request.param == "folder" else f"{request.param}://{BUCKET}{folder}"


def test_objects_are_read_listed_and_deleted(home: str) -> None:
    objects = Objects(home)
    objects.write("runs/b ö%2F#.json", b"first")
    objects.write("runs/b ö%2F#.json", b"second")
    objects.write("runs/a", b"")
    objects.write("other", b"1")
    assert (objects.read("runs/b ö%2F#.json"), objects.read("runs/none")) == (b"second", None)
    assert [(entry.name, entry.size) for entry in objects.below("runs")] == [("a", 0), ("b ö%2F#.json", 6)]
    assert [entry.name for entry in objects.below()] == ["other", "runs/a", "runs/b ö%2F#.json"]
    assert objects.below("none") == []
    entry = objects.find("other")
    assert entry is not None
    assert (entry.name, entry.size, objects.find("none")) == ("other", 1, None)
    objects.delete(["runs/a", "none", "other"])
    assert [entry.name for entry in Objects(home).below()] == ["runs/b ö%2F#.json"]


def test_a_folder_is_copied(home: str) -> None:
    objects = Objects(home)
    for name in ("runs/a/one", "runs/a/deep/two", "runs/b/three"):
        objects.write(name, name.encode())
    objects.copy("runs/a", "copies/c")
    assert [entry.name for entry in objects.below("copies")] == ["c/deep/two", "c/one"]
    assert objects.read("copies/c/deep/two") == b"runs/a/deep/two"


def test_an_object_is_created_once(home: str) -> None:
    objects = Objects(home)
    assert objects.create("one", b"first")
    assert not objects.create("one", b"second")
    assert objects.read("one") == b"first"
    # A repeated request finds the object of the first attempt.
    assert objects.create("one", b"first")


def create(home: str, writer: int, results: Any) -> None:
    objects = Objects(home)
    results.put([race for race in range(RACES) if objects.create(f"race-{race}", f"by {writer}".encode())])


def test_of_several_processes_one_creates_an_object(home: str) -> None:
    results = SPAWN.Queue()
    writers = [SPAWN.Process(target=create, args=(home, writer, results)) for writer in range(WRITERS)]
    for writer in writers:
        writer.start()
    won = [race for _ in writers for race in results.get(timeout=60)]
    for writer in writers:
        writer.join()
    assert sorted(won) == list(range(RACES))


def test_error_names_the_object_and_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    with pytest.raises(LakeError, match=rf"^{tmp_path}/file/lake/x cannot be created: .*"):
        Objects(str(tmp_path / "file" / "lake")).create("x", b"")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "tests")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(LakeError, match=r"^s3a://nowhere/lake/x cannot be read: .*127\.0\.0\.1:9"):
        Objects("s3a://nowhere/lake", HASTY).read("x")
    with pytest.raises(LakeError, match=r"^ftp://host/lake cannot be opened: "):
        Objects("ftp://host/lake")


def test_a_store_without_conditional_writes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with object_store(is_conditional=False) as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        objects = Objects(f"s3a://{BUCKET}/lake/readings")
        for _ in range(2):
            with pytest.raises(LakeError, match=r"^s3a://lake/lake/readings: found a store that ignores") as refused:
                objects.require_conditional_writes()
            assert refused.value.code is ErrorCode.STORE_UNCONDITIONAL
        with pytest.raises(LakeError), acquire(Lake(f"s3a://{BUCKET}/lake", "readings"), "r1", Interval()):
            pytest.fail("held")
        assert objects.below() == []


def test_a_store_that_looks_before_it_writes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a store refuses a second write that comes later, but lets writers of one moment all succeed."""
    looked = Barrier(2)

    def create(self: Objects, name: str, content: bytes) -> bool:
        exists = self.find(name) is not None
        with suppress(BrokenBarrierError):
            looked.wait(timeout=0.5)
        if not exists:
            self.write(name, content)
        return self.read(name) == content if exists else True

    monkeypatch.setattr(Objects, "create", create)
    objects = Objects(str(tmp_path))
    with pytest.raises(LakeError, match=r"or that checks it before it writes, .* \(Versity from 1\.8\.0\)"):
        _try_conditional_writes(objects)
    assert objects.below() == []


def test_a_store_with_conditional_writes_is_tried_once(home: str) -> None:
    for _ in range(2):
        Objects(home).require_conditional_writes()
    assert Objects(home).below() == []


def test_reading_makes_no_folder(tmp_path: Path) -> None:
    objects = Objects(str(tmp_path / "none"))
    assert (objects.read("x"), objects.find("x"), objects.below("y")) == (None, None, [])
    objects.delete(["x"])
    assert [*tmp_path.iterdir()] == []


def test_a_thread_that_is_interrupted_while_it_opens_a_store_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, released, settings = Event(), Event(), objects_module._settings

    def blocked(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        if current_thread() is opening:
            reached.set()
            assert released.wait(30)
        return settings(environ)

    monkeypatch.setattr(objects_module, "_settings", blocked)
    opening = Thread(target=Objects, args=[str(tmp_path / "a")])
    opening.start()
    assert reached.wait(30)
    other = Thread(target=Objects, args=[str(tmp_path / "b")], daemon=True)
    other.start()
    other.join(10)
    is_open = not other.is_alive()
    released.set()
    opening.join()
    assert is_open
