"""The optional environment of the benchmark: DuckDB, Flink, and the generator of Nexmark, in `.tidemark/bench-env`.

A way that needs it makes it, from two locks with checksums: `bench.lock` names packages, `jars.lock` names jars.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from spark_jobs.runtime import jars
from spark_jobs.runtime.environment import process_environment
from spark_jobs.runtime.errors import RuntimeSetupError
from tests.benchmarks.process import TaskFailedError

_HERE, _ROOT = Path(__file__).parent, Path(__file__).parents[2]
FOLDER = _ROOT / ".tidemark" / "bench-env"
_PACKAGES = _HERE / "bench.lock"
# Spark ships the parts of Hadoop that these need; what their descriptions name besides helps to build them.
_NEEDLESS = (
    "org.apache.flink:flink-shaded-force-shading,com.*:*,io.*:*,javax.*:*,commons-*:*,joda-time:*,args4j:*,net.*:*,"
    "org.apache.avro:*,org.apache.commons:*,org.apache.kafka:*,org.apache.parquet:*,org.apache.hadoop:*,org.slf4j:*,"
    "org.xerial.*:*,org.checkerframework:*,org.codehaus.*:*,org.jetbrains*:*,org.antlr:*,org.apache.beam:beam-model-*,"
    "org.apache.beam:beam-runners-*,org.apache.beam:beam-sdks-java-io-*,org.apache.beam:beam-sdks-java-extensions-*,"
    "org.apache.beam:beam-sdks-java-test-utils,org.apache.beam:beam-vendor-grpc-*,"
    "org.apache.beam:beam-sdks-java-transform-service-*,org.apache.beam:beam-sdks-java-expansion-service"
)
_JARS = jars.Kind("bench", str(_HERE / "jars.lock"), 23, _NEEDLESS)
_WHAT = "the environment of DuckDB and Flink cannot be made"
_WITHOUT = "Without it: --ways tuned,whole,ours,plain,streaming"


def python() -> Path:
    """Return the Python that has DuckDB."""
    return FOLDER / "bin" / "python"


def java_jars() -> list[Path]:
    """Return the jars of Flink, and those of the generator."""
    own = FOLDER.glob("lib/python3.*/site-packages/pyflink/lib/*.jar")
    return [*sorted(own), *sorted(set(_jars_folder().glob("*.jar")) - {compiler()})]


def compiler() -> Path:
    """Return the compiler of the Java programs."""
    (jar,) = _jars_folder().glob("ecj-*.jar")
    return jar


def is_made() -> bool:
    """Return whether the environment is that of the locks."""
    return _stamp().exists()


def make() -> None:
    """Make the environment, unless it is there. Raises TaskFailedError."""
    if is_made():
        return
    print("==> making the environment of DuckDB and Flink (290 MB), once", file=sys.stderr, flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    pip = [str(python()), "-m", "pip", "--no-input", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    _run([sys.executable, "-m", "venv", str(FOLDER)])
    _run([*pip, "--only-binary", ":all:", "--require-hashes", "--requirement", str(_PACKAGES)])
    try:
        jars.fetch(_jars_folder(), process_environment(os.environ), _report, _JARS)
    except RuntimeSetupError as error:
        raise TaskFailedError(f"{_WHAT}: {error}\n{_WITHOUT}") from error
    _stamp().touch()


def _jars_folder() -> Path:
    return FOLDER / "jars"


def _stamp() -> Path:
    """A file whose name is made of what the environment was made from."""
    content = b"".join(path.read_bytes() for path in (_PACKAGES, Path(_JARS.lock)))
    return FOLDER / f"made-{hashlib.sha256(content).hexdigest()[:16]}"


def _run(command: list[str]) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise TaskFailedError(f"{_WHAT}: {ended.stdout}{ended.stderr}\n{_WITHOUT}")


def _report(line: str) -> None:
    print(f"    {line}", file=sys.stderr, flush=True)
