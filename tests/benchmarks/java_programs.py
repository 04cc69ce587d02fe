"""The Java programs of the benchmark, in the folder `java`: Flink's jobs, and the source of Nexmark's events.

They are compiled when their text changes. A job of Flink runs on a cluster inside its process, with every core and the
memory of the other ways.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from spark_jobs.runtime.installed import spark_home
from spark_jobs.runtime.java import require_java
from tests.benchmarks import environment
from tests.benchmarks.process import TaskFailedError

_SOURCES = Path(__file__).parent / "java"
_OPENED = ("lang", "lang.reflect", "net", "io", "nio", "text", "time", "util", "util.concurrent")
# Its heap; the rest of 4 GiB is for the buffers of its network and for Java itself.
_HEAP = "-Xmx3g"
#: What the programs need of the jars that Spark ships.
_OF_SPARK = (
    "hadoop-client-api",
    "hadoop-client-runtime",
    "joda-time",
    "jackson-core",
    "jackson-databind",
    "jackson-annotations",
)


def command_of(program: str, arguments: Sequence[object]) -> list[str]:
    """Return the command that runs a program. Raises TaskFailedError."""
    opened = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in _OPENED]
    classes = os.pathsep.join(map(str, (_compiled(), *_class_path())))
    return [_java(), *opened, _HEAP, "-XX:+UseParallelGC", "-cp", classes, program, *map(str, arguments)]


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def _compiled() -> Path:
    sources = sorted(_SOURCES.glob("*.java"))
    content = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    classes = environment.FOLDER / f"classes-{content}"
    if not classes.exists():
        path = os.pathsep.join(map(str, _class_path()))
        with tempfile.TemporaryDirectory(dir=environment.FOLDER) as work:
            compiled = Path(work) / "classes"
            options = ["-17", "-nowarn", "-proc:none", "-cp", path, "-d", str(compiled)]
            compiler = [_java(), "-cp", str(environment.compiler()), "org.eclipse.jdt.internal.compiler.batch.Main"]
            ended = subprocess.run(
                [*compiler, *options, *map(str, sources)], capture_output=True, text=True, check=False
            )
            if ended.returncode:
                raise TaskFailedError(f"the Java programs: {ended.stdout}{ended.stderr}")
            compiled.rename(classes)
    return classes


def _class_path() -> list[Path]:
    spark = spark_home() / "jars"
    shipped = (jar for name in _OF_SPARK for jar in spark.glob(f"{name}-[0-9]*.jar"))
    return [*environment.java_jars(), *sorted(shipped)]


def _java() -> str:
    return str(require_java(os.environ).path / "bin" / "java")
