"""What is said of a failure that is no wrong input: a line that names the cause, and what to do where that is known."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from pyspark import SparkContext, SparkFiles

from spark_jobs.tables.error_causes import first_line, is_full_disk
from spark_jobs.tables.lake import Lake

_MIB = 1 << 20
# With more room than this on every disk that is looked at, another one was meant.
_ROOMY = 1 << 30


def told(problem: BaseException, lake: Lake | None = None) -> str:
    """One line on `problem`; `lake` is where it was written to, by default the one of `TIDEMARK_LAKE`."""
    if not is_full_disk(problem):
        return first_line(problem)
    free = {folder: shutil.disk_usage(folder).free for folder in _written(lake or Lake.of(""))}
    fullest = min(free, key=lambda folder: free[folder])
    left = f"{free[fullest] / _MIB:,.1f} MiB are free"
    if free[fullest] > _ROOMY:
        where = f"a disk that Spark's workers write to is full (of those here {fullest} is the fullest; {left} there)"
    else:
        where = f"the disk of {fullest} is full ({left})"
    return f"{where}: make room, then the same command goes on where this one stopped; nothing is half published"


def _written(lake: Lake) -> list[Path]:
    """The folders of this machine that are written to: the lake's, Spark's for what it spills, Python's."""
    spark = SparkContext._active_spark_context  # noqa: SLF001  to ask for the active context would not start one either
    # Spark's folder for files is in one of its own, and that in the first of `spark.local.dir`.
    spilled = [] if spark is None else [Path(SparkFiles.getRootDirectory()).parents[1]]
    place = urlsplit(lake.root)
    kept = [Path(place.path)] if place.scheme in ("", "file") else []
    return [_nearest(folder.absolute()) for folder in (*kept, *spilled, Path(tempfile.gettempdir()))]


def _nearest(folder: Path) -> Path:
    """The folder, or the first above it that is there."""
    return next(one for one in (folder, *folder.parents) if one.is_dir())
