"""Computed columns: SQL expressions over the columns of a row, which then are columns of the source like all others.

Each is computed from the table's own columns alone, and no name is one of the table's. So a projection computes all of
them, and a second projection changes nothing.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Source


def with_computed(events: DataFrame, source: Source) -> DataFrame:
    """Return source rows with the computed columns of `source`; `events` themselves if it declares none."""
    if not source.columns:
        return events
    return events.withColumns({column.name: F.expr(column.expression) for column in source.columns})
