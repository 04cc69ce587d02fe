"""The text for a failure that is not the user's mistake: a line with its cause, and what to do if that is known."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from pyspark import SparkContext, SparkFiles

from spark_jobs.tables.error_causes import NAME_CONNECTOR, first_line, is_full_disk, scheme_without_connector
from spark_jobs.tables.lake import Lake

_MIB = 1 << 20
# If every disk that is looked at has more room than this, the full disk is another one.
_ROOMY = 1 << 30


def describe(problem: BaseException, lake: Lake | None = None) -> str:
    """Return one line on `problem`; `lake` is the lake that was written to, by default that of `TIDEMARK_LAKE`."""
    if scheme_without_connector(problem):
        return f"{first_line(problem)}: {NAME_CONNECTOR}"
    if not is_full_disk(problem):
        return first_line(problem)
    free = {folder: shutil.disk_usage(folder).free for folder in _folders(lake or Lake.of(""))}
    fullest = min(free, key=lambda folder: free[folder])
    left = f"{free[fullest] / _MIB:,.1f} MiB are free"
    if free[fullest] > _ROOMY:
        disk = f"a disk that Spark's workers write to is full (on this machine {fullest} is the fullest; {left})"
    else:
        disk = f"the disk of {fullest} is full ({left})"
    return f"{disk}. Make room, then run the same command: it continues from here. Nothing is half published"


def _folders(lake: Lake) -> list[Path]:
    """The folders of this machine that are written to: the lake's, Spark's for what it spills, Python's."""
    spark = SparkContext._active_spark_context  # noqa: SLF001  the public call would start a context
    # Spark's folder for files lies two levels below the first folder of `spark.local.dir`.
    spilled = [] if spark is None else [Path(SparkFiles.getRootDirectory()).parents[1]]
    place = urlsplit(lake.root)
    local = [Path(place.path)] if place.scheme in ("", "file") else []
    return [_nearest(folder.absolute()) for folder in (*local, *spilled, Path(tempfile.gettempdir()))]


def _nearest(folder: Path) -> Path:
    """The folder, or the first folder above it that exists."""
    return next(path for path in (folder, *folder.parents) if path.is_dir())
