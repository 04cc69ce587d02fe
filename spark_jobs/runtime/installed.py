"""The folder of all installed parts, `<sys.prefix>/share/tidemark`: it is removed together with the environment."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from spark_jobs.runtime.errors import RuntimeSetupError


def share() -> Path:
    """Return the folder of all parts that set-up installs; it may not exist yet."""
    return Path(sys.prefix) / "share" / "tidemark"


def jars_dir() -> Path:
    """Return the folder of Delta's jars, without other files."""
    return share() / "jars"


def s3_jars_dir() -> Path:
    """Return the folder of the jars that read s3a://, without other files; it exists only after `setup s3`."""
    return share() / "s3"


def own_java_home() -> Path:
    """Return the Java home that set-up makes where the machine has no fitting Java."""
    return share() / "java"


def spark_home() -> Path:
    """Return the Spark inside the installed pyspark, without importing it. Raises RuntimeSetupError without pyspark."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise RuntimeSetupError.no_spark()
    return Path(spec.origin).parent
