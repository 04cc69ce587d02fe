"""Reach: how far the tables of a published run have come in arrival time and in event time, known without Spark.

covered_until   every row that arrived before it is in the tables; None: all rows of the source's version
watermark       the greatest watermark of the tables; the end of the input is the last millisecond of the year 9999
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from spark_jobs.pipeline.published_tables import ADVANCES, WATERMARKS
from spark_jobs.tables import run_history
from spark_jobs.tables.delta_rs import Table, opened
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake

_COLUMNS = {ADVANCES.name: "watermark", WATERMARKS.name: "watermark_at_fire"}


@dataclass(frozen=True)
class Reach:
    """How far a published run has come; a watermark that no table has is None, as for joins and sessions."""

    covered_until: datetime | None = None
    watermark: datetime | None = None


def reach(lake: Lake, run_id: str) -> Reach:
    """Return how far a run has come, of which nothing is known if it is not published. Raises LakeError."""
    run = run_history.find(lake, run_id)
    if run is None or not run.versions:
        return Reach()
    reached = (
        _greatest(lake, name, column, run.versions[name]) for name, column in _COLUMNS.items() if name in run.versions
    )
    return Reach(run.arrived_to, max((moment for moment in reached if moment is not None), default=None))


def _greatest(lake: Lake, name: str, column: str, version: int) -> datetime | None:
    path = lake.path(name)
    try:
        (row,) = Table(opened(path, version)).select(f"SELECT max({column}) AS greatest FROM t")  # noqa: S608  a constant
    except Exception as problem:
        raise LakeError(f"{path} cannot be read at version {version}: {problem}") from problem
    greatest: datetime | None = row["greatest"]
    return greatest
