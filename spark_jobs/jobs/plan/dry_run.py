"""A dry run: the plan of a run and its extent, without writing, by Spark or without it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from spark_jobs.jobs.plan import delta_rs_extent
from spark_jobs.jobs.plan.delta_rs_tables import DeltaRsTables
from spark_jobs.jobs.plan.extent import Extent
from spark_jobs.jobs.plan.plan import plan
from spark_jobs.jobs.plan.plan_request import Plan
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def foreseen(
    spark: SparkSession,
    pipeline: Pipeline,
    lake: Lake,
    interval: Interval,
    arrived_to: datetime | None = None,
    *,
    restate: bool = False,
    changed: bool = False,
) -> dict[str, Any]:
    """Return by name the planned run (`plan.plan`), the extent that it reads, and the windows that it replaces.

    `state` is `new` for a run that is not in the ledger. Raises InputError.
    """
    from spark_jobs.jobs.plan.estimate import extent
    from spark_jobs.jobs.plan.spark_tables import SparkTables
    from spark_jobs.jobs.publish.registration import require_names

    require_names(spark, pipeline, lake)
    planned = plan(SparkTables(spark, pipeline, lake), interval, arrived_to, restate=restate, changed=changed)
    return _content(pipeline, planned, extent(spark, pipeline, lake, planned))


def foreseen_without_spark(
    pipeline: Pipeline,
    lake: Lake,
    interval: Interval,
    arrived_to: datetime | None = None,
    *,
    restate: bool = False,
    changed: bool = False,
) -> dict[str, Any]:
    """Return what `foreseen` returns. Raises NeedsSparkError where only Spark can plan or count, and InputError."""
    tables = DeltaRsTables.without_spark(pipeline, lake)
    planned = plan(tables, interval, arrived_to, restate=restate, changed=changed)
    return _content(pipeline, planned, delta_rs_extent.extent(tables, planned))


def _content(pipeline: Pipeline, planned: Plan, extent: Extent) -> dict[str, Any]:
    run = planned.run
    return {
        "run_id": run.run_id,
        "pipeline": pipeline.name,
        "fingerprint": pipeline.fingerprint,
        "kind": run.kind,
        "state": run.state if run.steps else "new",
        "source": planned.table,
        "source_version": run.source_version,
        "interval_start": run.interval_start,
        "interval_end": run.interval_end,
        "stretches": [[stretch.start, stretch.end] for stretch in run.stretches],
        "arrived_from": run.arrived_from,
        "arrived_to": run.arrived_to,
        **asdict(extent),
        **planned.counts,
        **({"note": planned.note} if planned.note else {}),
    }


def in_words(dry_run: dict[str, Any]) -> str:
    """Return the result of `foreseen` in a line."""
    size, files = dry_run["source_bytes"] / 2**20, dry_run["source_files"]
    line = f"would read {dry_run['source_rows']:,} rows in {files:,} file{'' if files == 1 else 's'} ({size:,.1f} MiB)"
    if dry_run["first_window"] is not None:
        first, last = dry_run["first_window"], dry_run["last_window"]
        line += f" and replace windows from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"
    if dry_run["state"] != "new":
        line += f"; the run {dry_run['run_id']} is {dry_run['state']} already"
    return f"{line}; nothing is written" + (f"; {dry_run['note']}" if "note" in dry_run else "")
