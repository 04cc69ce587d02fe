"""The class archive: the classes of Spark, Delta and Comet as Java has parsed and verified them, mapped at its start.

Without it, each driver reads 20,000 classes from jars and verifies them: five seconds of a run. Set-up runs a small
Spark program (`spark_jobs.warm_up`), and its Java writes the classes that it has loaded when it exits.

Java compares the archive with the jars of its class path. If they differ, it reads the jars, without a message. It
accepts no folder with files on that path, so Spark gets a folder of settings only from users who have one.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from spark_jobs.runtime.installed import comet_jars_dir, jars_dir, s3_jars_dir, share, spark_home
from spark_jobs.runtime.jars import WORK

_PROGRAM = "spark_jobs.warm_up"
_WITHIN_S = 300
# Java would print a line for each class that it cannot archive, and on each difference of an archive.
_QUIET = "-Xlog:cds*=off"
_PREFIX = "classes-"


def options(environ: Mapping[str, str]) -> str:
    """Return the Java options of a driver with these variables by which it uses the archive; empty without one."""
    file = _file(environ)
    return f' "-XX:SharedArchiveFile={file}" {_QUIET}' if file is not None and file.is_file() else ""


def make(environ: Mapping[str, str], report: Callable[[str], None]) -> None:
    """Make the archive for the Java and the jars of a Spark process with these variables, unless it exists.

    Spark also runs without it, so a failure is only reported.
    """
    file = _file(environ)
    if file is None or find_spec(_PROGRAM) is None:
        return
    if file.is_file():
        report("classes: the archive is in place")
        return
    report("classes: running a small Spark program to archive the classes that each Spark loads (half a minute)")
    for earlier in share().glob(f"{_PREFIX}*"):
        earlier.unlink()
    partial = share() / f"{WORK}{os.getpid()}"
    variables = {**environ, "SPARK_SUBMIT_OPTS": f'"-XX:ArchiveClassesAtExit={partial}" {_QUIET}'}
    command = [sys.executable, "-m", _PROGRAM]
    try:
        subprocess.run(command, env=variables, check=True, capture_output=True, text=True, timeout=_WITHIN_S)
        partial.replace(file)
    except (OSError, subprocess.SubprocessError) as problem:
        report(f"classes: no archive, so Spark starts more slowly: {problem}")
        return
    finally:
        partial.unlink(missing_ok=True)
    report(f"classes: archived, {file.stat().st_size >> 20} MB")


def _file(environ: Mapping[str, str]) -> Path | None:
    """Return the archive for the Java that these variables name, and the installed jars; None if there can be none."""
    home = environ.get("JAVA_HOME")
    # Spark splits the options of Java at spaces outside of quotation marks.
    if not home or '"' in str(share()):
        return None
    key = hashlib.sha256("\n".join(_parts(Path(home))).encode()).hexdigest()[:16]
    return share() / f"{_PREFIX}{key}.jsa"


def _parts(java: Path) -> Iterator[str]:
    """Yield what an archive depends on: the Java, and the jars with their sizes and times."""
    binary = (java / "bin" / "java").resolve()
    for file in (binary, *(jar for folder in _folders() for jar in sorted(folder.glob("*.jar")))):
        if file.is_file():
            status = file.stat()
            yield f"{file} {status.st_size} {status.st_mtime_ns}"


def _folders() -> tuple[Path, ...]:
    return jars_dir(), comet_jars_dir(), s3_jars_dir(), spark_home() / "jars"
