"""The library of Comet's jar is unpacked once, for the processor of this machine, and replaced as a whole."""

from __future__ import annotations

import platform
import zipfile
from pathlib import Path

import pytest

from spark_jobs.runtime import comet_library
from spark_jobs.runtime.installed import comet_jars_dir
from spark_jobs.runtime.jars import COMET, locked


@pytest.fixture(autouse=True)
def _jar() -> None:
    """An installed jar with a library for each processor."""
    comet_jars_dir().mkdir(parents=True)
    with zipfile.ZipFile(comet_jars_dir() / locked(COMET)[0].file_name, "w") as jar:
        for processor in ("amd64", "aarch64"):
            jar.writestr(f"org/apache/comet/linux/{processor}/libcomet.so", f"for {processor}")


@pytest.mark.parametrize(("machine", "processor"), [("x86_64", "amd64"), ("aarch64", "aarch64"), ("arm64", "aarch64")])
def test_the_library_of_the_processor_is_unpacked(
    monkeypatch: pytest.MonkeyPatch, machine: str, processor: str
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    comet_library.unpack()
    [file] = comet_library.folder().iterdir()
    assert (file.name, file.read_text()) == ("libcomet.so", f"for {processor}")


def test_a_library_that_is_unpacked_stays_as_it_is(tmp_path: Path) -> None:
    comet_library.unpack()
    file = comet_library.folder() / "libcomet.so"
    before = file.stat().st_ino
    comet_library.unpack()
    assert file.stat().st_ino == before
    file.write_text("a part")
    comet_library.unpack()
    assert file.read_text().startswith("for ")
