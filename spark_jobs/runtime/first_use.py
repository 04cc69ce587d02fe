"""First use: an environment made by pip gets a Java and the jars when it first starts Spark.

The environments of a checkout and of an image are made by `python -m spark_jobs.runtime setup`. They fetch nothing at
run time: a missing jar is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from spark_jobs.runtime import native_engine
from spark_jobs.runtime.installation import install
from spark_jobs.runtime.installed import set_up_mark, share
from spark_jobs.runtime.jars import COMET, DELTA, S3, missing_jars


def provide(environ: Mapping[str, str], report: Callable[[str], None]) -> None:
    """Fetch the jars, and a Java if none fits, unless the jars are in place. Raises RuntimeSetupError."""
    if not missing_jars() or set_up_mark().is_file():
        return
    kinds = [DELTA, S3, *([COMET] if native_engine.obstacle() is None else [])]
    size = sum(kind.megabytes for kind in kinds)
    report(f"first use: fetching the jars that Spark needs ({size} MB), and a Java if none fits, into {share()}")
    install(environ, _without_details)


def to_stderr(line: str) -> None:
    """Report a line on standard error."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _without_details(line: str) -> None:
    pass
