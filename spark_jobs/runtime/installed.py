"""The folder of all installed parts, `<sys.prefix>/share/tidemark`: it is removed together with the environment.

If the user cannot write into the environment, the folder is in the user's cache, one for each version.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import spark_jobs
from spark_jobs.runtime.errors import RuntimeSetupError


def share() -> Path:
    """Return the folder of all parts that set-up installs; it may not exist yet."""
    of_environment = Path(sys.prefix) / "share" / "tidemark"
    if of_environment.is_dir() or _can_be_made(of_environment):
        return of_environment
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(cache) / "tidemark" / spark_jobs.__version__


def set_up_mark() -> Path:
    """Return the empty file that `python -m spark_jobs.runtime setup` leaves: nothing is fetched afterwards."""
    return share() / "set-up"


def _can_be_made(folder: Path) -> bool:
    nearest = next(parent for parent in folder.parents if parent.is_dir())
    return os.access(nearest, os.W_OK)


def jars_dir() -> Path:
    """Return the folder of Delta's jars, without other files."""
    return share() / "jars"


def s3_jars_dir() -> Path:
    """Return the folder of the jars that read s3a://, without other files."""
    return share() / "s3"


def comet_jars_dir() -> Path:
    """Return the folder of Comet's jar, without other files; it exists only where set-up found that Comet can run."""
    return share() / "comet"


def own_java_home() -> Path:
    """Return the Java home that set-up makes where the machine has no fitting Java."""
    return share() / "java"


def spark_home() -> Path:
    """Return the Spark inside the installed pyspark, without importing it. Raises RuntimeSetupError without pyspark."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise RuntimeSetupError.no_spark()
    return Path(spec.origin).parent
