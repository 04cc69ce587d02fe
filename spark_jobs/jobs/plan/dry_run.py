"""What a run would do: its plan with the extent of it, and nothing written."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.jobs.plan.estimate import extent
from spark_jobs.jobs.plan.plan import plan
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake


def foreseen(
    spark: SparkSession,
    pipeline: Pipeline,
    lake: Lake,
    interval: Interval,
    arrived_to: datetime | None = None,
    *,
    restate: bool = False,
) -> dict[str, Any]:
    """The run that is asked for as in `plan.plan`, what it reads and the windows that it replaces, by name.

    `state` is `new` of a run that the ledger does not know. Raises InputError.
    """
    planned = plan(spark, pipeline, lake, interval, arrived_to, restate=restate)
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
        "arrived_from": run.arrived_from,
        "arrived_to": run.arrived_to,
        **asdict(extent(spark, pipeline, lake, planned)),
        **({"note": planned.note} if planned.note else {}),
    }


def in_words(found: dict[str, Any]) -> str:
    """What `foreseen` has found, in a line."""
    size, files = found["source_bytes"] / 2**20, found["source_files"]
    told = f"would read {found['source_rows']:,} rows in {files:,} file{'' if files == 1 else 's'} ({size:,.1f} MiB)"
    if found["first_window"] is not None:
        told += (
            f" and replace windows from {found['first_window']:%Y-%m-%d %H:%M} to {found['last_window']:%Y-%m-%d %H:%M}"
        )
    if found["state"] != "new":
        told += f"; the run {found['run_id']} is {found['state']} already"
    return f"{told}; nothing is written" + (f"; {found['note']}" if "note" in found else "")
