"""Holding windows by a lease, with a fence for each owner that lost its lease to this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from spark_jobs.tables import leases, publishing
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import GATE_TABLE, Lake
from spark_jobs.tables.leases import Tenure


@contextmanager
def holding(spark: SparkSession, lake: Lake, run_id: str, interval: Interval, *, wait_s: float = 0) -> Iterator[Tenure]:
    """Hold the windows of `interval` for the length of a `with` block, as `leases.acquire`.

    An owner that may still live, and whose lease this process takes over, can publish nothing from here on. Raises
    LockedError and LakeError.
    """
    with leases.acquire(lake, run_id, interval, wait_s=wait_s) as tenure:
        for lost in tenure.taken_over:
            if not lost.owner.has_ended:
                publishing.fence(spark, lake, GATE_TABLE, lost)
        yield tenure
