"""Jars that Spark does not ship: Delta's, Comet's, and those that read s3a://, with the content of their locks.

Only jars that Spark does not ship are locked. A folder appears complete or not at all: the jars are fetched into a
temporary folder beside it, verified, and renamed.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from spark_jobs.runtime import ivy
from spark_jobs.runtime.errors import RuntimeSetupError
from spark_jobs.runtime.installed import comet_jars_dir, jars_dir

#: How the name of a temporary folder of jars begins.
WORK = "jars-"


@dataclass(frozen=True)
class Kind:
    """Jars that are locked together: their name in messages, the lock, their approximate size in megabytes.

    `needless` are dependencies that are not fetched, as `group:artifact` patterns: the lock names them, Spark ships
    them, or they are not needed.
    """

    name: str
    lock: str
    megabytes: int
    needless: str


DELTA = Kind("delta", "jars.lock", 13, ivy.SHIPPED_BY_SPARK)
COMET = Kind(
    "comet",
    "comet.lock",
    99,
    "com.*:*,io.*:*,javax.*:*,commons-*:*,org.scala-lang:*,org.scala-lang.modules:*,org.slf4j:*,org.codehaus.*:*,"
    "org.apache.spark:*,org.apache.parquet:*,org.apache.arrow:*,org.apache.hadoop:*,org.apache.commons:*",
)
S3 = Kind(
    "s3",
    "s3.lock",
    12,
    "software.amazon.awssdk:bundle,org.wildfly.openssl:*,org.slf4j:*,io.netty:*,commons-*:*,"
    "org.apache.httpcomponents:*,com.*:*",
)


@dataclass(frozen=True)
class Jar:
    """A locked jar: its Maven coordinate `group:artifact:version` and the sha256 of its content, in hex."""

    coordinate: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The name of its file, as Maven forms it."""
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"

    @property
    def name_of_ivy(self) -> str:
        """The name that Spark's resolver gives to the file."""
        group, _, _ = self.coordinate.split(":")
        return f"{group}_{self.file_name}"


def locked(kind: Kind = DELTA) -> tuple[Jar, ...]:
    """Read a lock: a line is `sha256  coordinate`, lines with # are notes."""
    lines = (files("spark_jobs.runtime") / kind.lock).read_text(encoding="utf-8").splitlines()
    pairs = (line.split() for line in lines if line.strip() and not line.startswith("#"))
    return tuple(Jar(coordinate, sha256) for sha256, coordinate in pairs)


def require_jars() -> Path:
    """Return the folder of jars. Raises RuntimeSetupError where one of them is missing."""
    if missing := missing_jars():
        raise RuntimeSetupError.jars_missing(str(jars_dir()), missing)
    return jars_dir()


def has_comet() -> bool:
    """Return whether Comet's locked jar is installed."""
    return all((comet_jars_dir() / jar.file_name).is_file() for jar in locked(COMET))


def missing_jars() -> list[str]:
    """Return the file names of Delta's locked jars that are not installed."""
    return [jar.file_name for jar in locked() if not (jars_dir() / jar.file_name).is_file()]


def fetch(into: Path, environ: Mapping[str, str], report: Callable[[str], None], kind: Kind = DELTA) -> None:
    """Fetch the locked jars of a kind into a folder, unless it contains exactly these jars.

    `environ` is a Spark process's.
    Raises RuntimeSetupError if they cannot be fetched, or differ from the locked jars.
    """
    jars = locked(kind)
    if _holds_exactly(into, jars):
        report(f"{kind.name}: the {len(jars)} jars are in place")
        return
    report(f"{kind.name}: fetching {len(jars)} jars ({kind.megabytes} MB) with Spark's own resolver")
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into.parent, prefix=WORK) as work:
        fetched = ivy.resolve([jar.coordinate for jar in jars], Path(work) / "ivy", environ, kind.needless)
        _install(jars, [fetched / jar.name_of_ivy for jar in jars], Path(work), into)
    report(f"{kind.name}: {len(jars)} jars fetched and verified, in {into}")


def copy(folder: Path, into: Path, report: Callable[[str], None], kind: Kind = DELTA) -> None:
    """Copy the locked jars of a kind from a folder, such as that of another machine; it may contain other files.

    Raises RuntimeSetupError if the folder lacks a jar, or a jar differs from the locked jar.
    """
    jars = locked(kind)
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into.parent, prefix=WORK) as work:
        _install(jars, [folder / jar.file_name for jar in jars], Path(work), into)
    report(f"{kind.name}: {len(jars)} jars copied and verified, in {into}")


def _install(jars: Sequence[Jar], sources: Sequence[Path], work: Path, into: Path) -> None:
    """Replace the folder `into` by the jars of `sources`, in the order of `jars`; `work` is on the same disk."""
    complete = work / "complete"
    complete.mkdir()
    for jar, source in zip(jars, sources, strict=True):
        if not source.is_file():
            raise RuntimeSetupError.jar_absent(jar.coordinate, str(source.parent))
        found_hash = _sha256(source)
        if found_hash != jar.sha256:
            raise RuntimeSetupError.wrong_hash(jar.file_name, jar.sha256, found_hash)
        shutil.copyfile(source, complete / jar.file_name)
    if into.exists():
        into.rename(work / "replaced")
    complete.rename(into)


def _holds_exactly(folder: Path, jars: Sequence[Jar]) -> bool:
    if not folder.is_dir() or {path.name for path in folder.iterdir()} != {jar.file_name for jar in jars}:
        return False
    return all(_sha256(folder / jar.file_name) == jar.sha256 for jar in jars)


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
