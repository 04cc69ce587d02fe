"""The search for a fitting Java: version 17 or 21, with the module that Spark's launcher requires.

The first fitting Java in this order is used: JAVA_HOME, `java` on PATH, the Java that set-up installed. A Java is
examined by its output, not by its path: a shim or a link names its real home only when it runs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.runtime.errors import RuntimeSetupError
from spark_jobs.runtime.installed import own_java_home

FITTING = (17, 21)
SPARK_MODULE = "--add-modules=jdk.incubator.vector"
ANSWER_WITHIN_S = 60

_VERSION = re.compile(r'version "(?:1\.)?(?P<version>\d+)')
_HOME = re.compile(r"^\s*java\.home = (?P<home>.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class JavaHome:
    """A Java that Spark can run on: the value for JAVA_HOME, its version, and where it was found."""

    path: Path
    version: int
    origin: str


@dataclass(frozen=True)
class Search:
    """The result of a search: the first fitting Java, if any, and the reasons against the Javas before it."""

    found: JavaHome | None
    refused: tuple[str, ...]


def find_java(environ: Mapping[str, str]) -> JavaHome | None:
    """Return the first fitting Java, or None."""
    return search(environ).found


def require_java(environ: Mapping[str, str]) -> JavaHome:
    """Return the first fitting Java. Raises RuntimeSetupError, naming all examined Javas, if none fits."""
    result = search(environ)
    if result.found is None:
        raise RuntimeSetupError.no_java(result.refused)
    return result.found


def search(environ: Mapping[str, str]) -> Search:
    """Look for a fitting Java in the order of the module's first paragraph."""
    refused: list[str] = []
    for origin, java in _candidates(environ):
        verdict = examine(java, origin)
        if isinstance(verdict, JavaHome):
            return Search(verdict, tuple(refused))
        refused.append(f"{origin}: {verdict}")
    return Search(None, tuple(refused))


def examine(java: Path, origin: str) -> JavaHome | str:
    """Run a Java; returns its home, or the reason why it does not fit."""
    if not java.is_file():
        return f"{java} does not exist"
    answer = _ask(java, SPARK_MODULE)
    if answer is not None and (version := _version(answer)) in FITTING:
        return JavaHome(_home(answer, java), version, origin)
    return _refusal(java)


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        yield "PATH", Path(on_path)
    own = own_java_home() / "bin" / "java"
    if own.is_file():
        yield "set-up", own


def _ask(java: Path, *options: str) -> str | None:
    """Return the output of a Java on its properties, or None if it does not start."""
    try:
        process = subprocess.run(
            [str(java), *options, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return process.stderr + process.stdout if process.returncode == 0 else None


def _refusal(java: Path) -> str:
    # A Java that is too old does not know the module either: the version is the better reason.
    answer = _ask(java)
    version = _version(answer or "")
    if version is None:
        return f"{java} does not start, or does not print its version"
    if version not in FITTING:
        return f"{java} is Java {version}"
    return f"{java} is Java {version}, but without the module jdk.incubator.vector"


def _version(answer: str) -> int | None:
    match = _VERSION.search(answer)
    return int(match["version"]) if match else None


def _home(answer: str, java: Path) -> Path:
    # Set-up's home wraps a runtime, which prints its own home, without the wrapper.
    if java.parent.parent == own_java_home():
        return own_java_home()
    match = _HOME.search(answer)
    return Path(match["home"]) if match else java.resolve().parent.parent
