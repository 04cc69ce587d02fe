"""The wheel and the source distribution: what they contain, and that both make the same wheel."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

import spark_jobs

PROJECT = Path(__file__).parents[1]
PACKAGES = {"spark_jobs": "spark_jobs", "expectations": "expectations", "plugins/tidemark_airflow": "tidemark_airflow"}
BESIDE = {"CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", "requirements.lock", "requirements-build.lock"}
PYTHON = "Programming Language :: Python"
INFO = f"tidemark-{spark_jobs.__version__}.dist-info"


def build(source: Path, into: Path, *kinds: str) -> None:
    """Build with the locked hatchling of this environment, which fetches nothing."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(into)]
    subprocess.run([*command, *(part for kind in kinds for part in ("-t", kind))], cwd=source, check=True)


@pytest.fixture(name="dist", scope="module")
def _dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dist = tmp_path_factory.mktemp("dist")
    build(PROJECT, dist, "wheel", "sdist")
    return dist


def wheel_members(dist: Path) -> set[str]:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def unpacked(dist: Path, into: Path) -> Path:
    """Unpack the source distribution, and return its folder."""
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(into, filter="data")
    (folder,) = into.iterdir()
    return folder


def versioned(folder: str) -> set[str]:
    """Return the files of a folder that a commit contains, or the next one may."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder]
    listed = subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True).stdout.splitlines()
    return {name for name in listed if (PROJECT / name).is_file()}


def test_the_wheel_contains_every_file_of_the_three_packages_and_the_licence(dist: Path) -> None:
    files = {package + name.removeprefix(folder) for folder, package in PACKAGES.items() for name in versioned(folder)}
    information = {f"{INFO}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    assert wheel_members(dist) == files | information
    assert {"spark_jobs/runtime/jars.lock", "spark_jobs/report/templates/page.html"} <= files


def test_the_source_distribution_contains_what_builds_the_wheel_and_no_more(dist: Path, tmp_path: Path) -> None:
    folder = unpacked(dist, tmp_path)
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert names == {*BESIDE, "PKG-INFO", ".gitignore", *(name for source in PACKAGES for name in versioned(source))}


def test_a_wheel_of_the_source_distribution_is_the_wheel_of_the_tree(dist: Path, tmp_path: Path) -> None:
    build(unpacked(dist, tmp_path / "source"), tmp_path / "dist", "wheel")
    assert wheel_members(tmp_path / "dist") == wheel_members(dist)


def test_the_metadata_names_licence_readme_and_pythons(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        metadata: Message = message_from_bytes(archive.read(f"{INFO}/METADATA"))
    assert (metadata["License-Expression"], metadata["Version"]) == ("Apache-2.0", spark_jobs.__version__)
    assert str(metadata.get_payload()).startswith("# Tidemark")
    assert metadata["Requires-Python"] == "<3.14,>=3.11"
    assert {f"{PYTHON} :: 3.{minor}" for minor in (11, 12, 13)} <= set(metadata.get_all("Classifier", []))
