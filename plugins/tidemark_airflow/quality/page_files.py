"""The files of pages about runs, in the lake."""

from __future__ import annotations

from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.objects import HASTY, Objects


def page_exists(lake: Lake, name: str) -> bool:
    """Return whether a page about a run exists; a lake that cannot be read has none."""
    try:
        return Objects(lake.home, HASTY).find(name) is not None
    except LakeError:
        return False
