"""Installation: what Spark needs in addition to its packages, a Java and the locked jars.

One process installs at a time. Another process waits, and then finds everything in place.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from spark_jobs.runtime import class_archive, comet_library, jars, native_engine, wheel_java
from spark_jobs.runtime.environment import process_environment
from spark_jobs.runtime.errors import RuntimeSetupError
from spark_jobs.runtime.installed import comet_jars_dir, jars_dir, s3_jars_dir, share
from spark_jobs.runtime.java import JavaHome, search

Report = Callable[[str], None]


def install(
    environ: Mapping[str, str],
    report: Report,
    *,
    jars_from: Path | None = None,
    archives_classes: bool = False,
) -> None:
    """Install what is missing; with `jars_from`, copy all jars from that folder and fetch none.

    With `archives_classes`, the class archive is made, for which Spark runs once. Raises RuntimeSetupError.
    """
    with _alone(report):
        java = _bring_java(environ, report)
        report(f"java: Java {java.version} from {java.origin}, {java.path}")
        for kind, into in _kinds(report):
            if jars_from is None:
                jars.fetch(into, process_environment(environ), report, kind)
            else:
                jars.copy(jars_from, into, report, kind)
            if kind is jars.COMET:
                comet_library.unpack()
        if archives_classes:
            class_archive.make(process_environment(environ), report)


def _kinds(report: Report) -> Iterator[tuple[jars.Kind, Path]]:
    """Yield the jars to install and their folders; Comet's only where it can run."""
    yield jars.DELTA, jars_dir()
    yield jars.S3, s3_jars_dir()
    reason = native_engine.obstacle()
    if reason is None:
        yield jars.COMET, comet_jars_dir()
    else:
        report(f"comet: not fetched: {reason}")


@contextmanager
def _alone(report: Report) -> Iterator[None]:
    """Hold the lock of the folder of all parts. The system frees the lock of a process that is killed."""
    folder = share()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / "lock").open("w")
    except OSError as error:
        raise RuntimeSetupError.not_writable(str(folder), error.strerror or str(error)) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("set-up: waiting for another process that installs the same")
            fcntl.flock(file, fcntl.LOCK_EX)
        for unfinished in folder.glob(f"{jars.WORK}*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        yield


def _bring_java(environ: Mapping[str, str], report: Report) -> JavaHome:
    result = search(environ)
    for reason in result.refused:
        report(f"java: not used: {reason}; Spark needs Java 17 or 21")
    return result.found or wheel_java.install(report)
