"""Aggregates of every kind that the engine continues or computes again."""

from __future__ import annotations

from spark_jobs.pipeline.model import (
    Aggregate,
)

AGGREGATES = (
    (Aggregate("rows", "count(*)"), Aggregate("total", "sum(id)"), Aggregate("mean", "avg(id)")),
    # Cannot be continued: late panes look at their window's rows again.
    (Aggregate("keys", "count(distinct key)"), Aggregate("most", "max(id)")),
)
