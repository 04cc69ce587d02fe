"""The ledger: the table `runs`, with one row for each finished step of a run. Rows are only ever added.

The row of the step `publish` makes all results of a run visible: it has the version of every table. Versions only grow.
Every run publishes into one of the tables, so its versions order the runs, independent of clocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.published_tables import RUNS
from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.session import interpreting
from spark_jobs.tables import columns, delta_log, delta_transaction, run_history
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import (
    ACCEPT,
    ARRIVALS,
    BACKFILL,
    BASES,
    CHANGED,
    DISCARD,
    FULL,
    MAINTAIN,
    PARTS,
    REPAIR,
    ROLLBACK,
    Run,
    Step,
    in_order,
    runs_of,
)

__all__ = [
    "ACCEPT",
    "ARRIVALS",
    "BACKFILL",
    "BASES",
    "CHANGED",
    "DISCARD",
    "FULL",
    "MAINTAIN",
    "PARTS",
    "REPAIR",
    "ROLLBACK",
    "SCHEMA",
    "TABLE",
    "Run",
    "Step",
    "find",
    "in_order",
    "published",
    "record",
    "runs",
]

TABLE = RUNS.name

SCHEMA = columns.schema(RUNS)

_TIMES = ("interval_start", "interval_end", "arrived_from", "arrived_to", "started_at", "finished_at")

# By path: the state of the ledger when it was last read, and its runs.
_CACHE: dict[str, tuple[tuple[str, int, int], list[Run]]] = {}


def record(spark: SparkSession, lake: Lake, run: Run, step: Step) -> Run:
    """Add a finished step to the ledger, and return the run with this step.

    delta-rs writes it, in a hundredth of the time of a Spark that has just started. Where it cannot, Spark does, in a
    local folder. Raises LakeError.
    """
    try:
        return run_history.record(lake, run, step)
    except LakeError:
        # Spark has no conditional write for an object store.
        if lake.folder is None:
            raise
    return record_by_spark(spark, lake, run, step)


def record_by_spark(spark: SparkSession, lake: Lake, run: Run, step: Step) -> Run:
    """Add a finished step as `record` does, in a local folder."""
    values = run.entry(step)
    # The values are literals: a row from Python would start Python workers.
    row = spark.range(1).coalesce(1).select(*(_literal(values[f.name]).cast(f.dataType).alias(f.name) for f in SCHEMA))
    entry = (
        row.write.format("delta").mode("append").option("mergeSchema", True).options(**delta_transaction.PLAIN_NAMES)
    )
    # Several runs may add steps at once, and may even create the ledger at once.
    delta_transaction.retry_on_conflict(lambda: entry.save(lake.path(TABLE)))
    return run.after(step)


def _literal(value: object) -> Column:
    if isinstance(value, datetime):
        return F.timestamp_micros(F.lit((value - EPOCH) // timedelta(microseconds=1)))
    if isinstance(value, Mapping):
        return F.create_map(*(F.lit(part) for entry in value.items() for part in entry))
    return F.lit(value)


def runs(spark: SparkSession, lake: Lake) -> list[Run]:
    """Return all runs of the pipeline, ordered by when they were published or else last worked on.

    A version of the ledger is read once and then cached. Where delta-rs cannot read it, Spark does. Raises LakeError.
    """
    if not run_history.has_begun(lake):
        return []
    with suppress(LakeError):
        return run_history.every(lake, opens_anew=True)
    return runs_by_spark(spark, lake)


def runs_by_spark(spark: SparkSession, lake: Lake) -> list[Run]:
    """Return all runs as `runs` does, from any file system that Spark reads."""
    path = lake.path(TABLE)
    state = delta_log.state(spark, path)
    if state is None:
        return []
    cached = _CACHE.get(path)
    if cached is None or cached[0] != state:
        cached = state, _read(spark, path, state[1])
        _CACHE[path] = cached
    return list(cached[1])


def _read(spark: SparkSession, path: str, version: int) -> list[Run]:
    table = interpreting(spark).read.format("delta").option("versionAsOf", version).load(path)
    # Read as microseconds: PySpark returns naive local times, which are ambiguous at the end of summer time.
    columns_or_null = {name: F.col(name) if name in table.columns else F.lit(None).cast("timestamp") for name in _TIMES}
    times = {name: F.unix_micros(column) for name, column in columns_or_null.items()}
    # A ledger of an earlier version lacks this column.
    texts = {"note": F.lit(None).cast("string")} if "note" not in table.columns else {}
    rows = table.withColumns({**times, **texts}).collect()
    return runs_of({**row.asDict(), **{name: _moment(row[name]) for name in _TIMES}} for row in rows)


def published(spark: SparkSession, lake: Lake) -> list[Run]:
    """Return the published runs in the order of their publishing."""
    return in_order(runs(spark, lake))


def find(spark: SparkSession, lake: Lake, run_id: str) -> Run | None:
    """Return the run; None if it is not in the ledger."""
    return next((run for run in runs(spark, lake) if run.run_id == run_id), None)


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else EPOCH + timedelta(microseconds=micros)
