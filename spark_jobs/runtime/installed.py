"""Where set-up puts what it brings: `<sys.prefix>/share/tidemark`, so that it comes and goes with the environment."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from spark_jobs.runtime.errors import RuntimeSetupError


def share() -> Path:
    """Give the folder of all that set-up brings; it may not exist yet."""
    return Path(sys.prefix) / "share" / "tidemark"


def jars_dir() -> Path:
    """Give the folder of Delta's jars, and of nothing else."""
    return share() / "jars"


def s3_jars_dir() -> Path:
    """Give the folder of the jars that read s3a://, and of nothing else; only who asks set-up for them has it."""
    return share() / "s3"


def own_java_home() -> Path:
    """Give the Java home that set-up makes where the machine has no fitting Java."""
    return share() / "java"


def spark_home() -> Path:
    """Give the Spark inside the installed pyspark, without importing it. Raises RuntimeSetupError without pyspark."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise RuntimeSetupError.no_spark()
    return Path(spec.origin).parent
