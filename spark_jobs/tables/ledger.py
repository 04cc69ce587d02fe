"""The ledger: the table `runs`, a row a finished step of a run, only ever added to.

The row of the step `publish` makes a run visible as a whole: it names the version of every table at that point.
Versions only grow, so that of the table which every run publishes into tells which of two came later, whatever clocks
say.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.published_tables import RUNS
from spark_jobs.session import interpreting
from spark_jobs.tables import columns, delta_log
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import (
    ACCEPT,
    ARRIVALS,
    BACKFILL,
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

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES = ("interval_start", "interval_end", "arrived_from", "arrived_to", "started_at", "finished_at")

# By path: what the ledger said when it was read last, and in which state of its table.
_READ: dict[str, tuple[tuple[str, int, int], list[Run]]] = {}


def record(spark: SparkSession, lake: Lake, run: Run, step: Step) -> Run:
    """Add the end of a step to the ledger; returns the run with it."""
    values: dict[str, object] = {
        "run_id": run.run_id,
        "pipeline": run.pipeline,
        "fingerprint": run.fingerprint,
        "kind": run.kind,
        "step": step.step,
        "interval_start": run.interval_start,
        "interval_end": run.interval_end,
        "source_version": run.source_version,
        "state": step.state,
        "counts": step.counts,
        "versions": step.versions,
        "error": step.error,
        "note": step.note,
        "arrived_from": run.arrived_from,
        "arrived_to": run.arrived_to,
        "started_at": step.started_at,
        "finished_at": step.finished_at,
    }
    # Written down as literals: a row from Python would start Python workers for it.
    row = spark.range(1).coalesce(1).select(*(_literal(values[f.name]).cast(f.dataType).alias(f.name) for f in SCHEMA))
    entry = row.write.format("delta").mode("append").option("mergeSchema", True)
    # Several runs enter steps at once; a ledger that is new is theirs to make at once too.
    delta_log.tried_again(lambda: entry.save(lake.path(TABLE)))
    return run.after(step)


def _literal(value: object) -> Column:
    if isinstance(value, datetime):
        return F.timestamp_micros(F.lit((value - _EPOCH) // timedelta(microseconds=1)))
    if isinstance(value, Mapping):
        return F.create_map(*(F.lit(part) for entry in value.items() for part in entry))
    return F.lit(value)


def runs(spark: SparkSession, lake: Lake) -> list[Run]:
    """All runs of the pipeline, in the order in which they were last worked on.

    A step asks several times; what a version of the ledger says is read once.
    """
    path = lake.path(TABLE)
    state = delta_log.state(spark, path)
    if state is None:
        return []
    known = _READ.get(path)
    if known is None or known[0] != state:
        known = state, _read(spark, path, state[1])
        _READ[path] = known
    return list(known[1])


def _read(spark: SparkSession, path: str, version: int) -> list[Run]:
    table = interpreting(spark).read.format("delta").option("versionAsOf", version).load(path)
    # As numbers: PySpark hands out timestamps as naive local times, which an hour of the year makes ambiguous.
    there = {name: F.col(name) if name in table.columns else F.lit(None).cast("timestamp") for name in _TIMES}
    times = {name: F.unix_micros(column) for name, column in there.items()}
    # Columns that earlier versions did not write.
    texts = {"note": F.lit(None).cast("string")} if "note" not in table.columns else {}
    rows = table.withColumns({**times, **texts}).collect()
    return runs_of({**row.asDict(), **{name: _moment(row[name]) for name in _TIMES}} for row in rows)


def published(spark: SparkSession, lake: Lake) -> list[Run]:
    """Give the runs that have been published, in the order in which they were."""
    return in_order(runs(spark, lake))


def find(spark: SparkSession, lake: Lake, run_id: str) -> Run | None:
    """The run, if the ledger knows it."""
    return next((run for run in runs(spark, lake) if run.run_id == run_id), None)


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else _EPOCH + timedelta(microseconds=micros)
