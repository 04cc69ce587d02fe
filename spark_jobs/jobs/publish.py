"""The publish step: a commit a table, side by side; the ledger row that follows makes the run visible as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from spark_jobs.tables import ledger, publishing
from spark_jobs.tables.lake import RESULT_TABLES, Lake
from spark_jobs.tables.ledger import Run
from spark_jobs.tables.publishing import Interval


def publish(spark: SparkSession, lake: Lake, run: Run, *, there: Sequence[str] = RESULT_TABLES) -> dict[str, int]:
    """Publish what `run` has staged into the tables `there` are; returns the version of every one.

    A run over part of time leaves `invalid_events` alone: rows without a usable time belong to no window.
    """
    interval = Interval(run.interval_start, run.interval_end)
    tables = [t for t in there if interval.whole or t != "invalid_events"]

    def one(table: str) -> int:
        return publishing.publish(spark, lake, run.run_id, table, interval)

    with ThreadPoolExecutor(max_workers=len(tables)) as pool:
        versions = dict(zip(tables, pool.map(one, tables), strict=True))
    earlier = [r.versions for r in ledger.runs(spark, lake) if r.versions] if not interval.whole else []
    kept = {table: n for table, n in (earlier[-1] if earlier else {}).items() if table in there}
    return {**kept, **versions}
