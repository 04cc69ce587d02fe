"""The benchmark of changes, as a process: events of a year are replayed, mended in one day, and replayed by changes.

    python -m tests.benchmarks.changed_task ROWS DAYS FOLDER OUT.json

FOLDER holds events and lakes, and is emptied. The table of events has a file a day, as many tables that a job appends
to daily. First few events are taken through the same runs, so that Java has compiled what they need; their time is not
in the result. The results after the changes are compared with those of a full replay of the same table.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.job_protocol import StepResult
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline.published_tables import RESULT_TABLES
from spark_jobs.session import open_session
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.published import read_published
from tests.benchmarks import events
from tests.benchmarks.events import DEFAULT_SEED, Spread
from tests.benchmarks.pipelines import lake_of, pipeline_of

KEYS = 10
_FEW_ROWS, _FEW_DAYS = 20_000, 2
#: One event of so many is mended, in one day.
ONE_OF = 100


def main(arguments: Sequence[str]) -> None:
    """Take few events through the runs, then all of them, and write the seconds and counts."""
    rows, days, folder, out = int(arguments[0]), int(arguments[1]), Path(arguments[2]), Path(arguments[3])
    shutil.rmtree(folder, ignore_errors=True)
    spark = open_session("benchmark changes")
    measured(spark, min(rows, _FEW_ROWS), min(days, _FEW_DAYS), folder / "few")
    result = measured(spark, rows, days, folder / "all")
    spark.stop()
    shutil.rmtree(folder)
    out.write_text(json.dumps(result, indent=1), encoding="utf-8")


def measured(spark: SparkSession, rows: int, days: int, folder: Path) -> dict[str, Any]:
    """Return the steps of a run over changes, and of a full replay after them; and in how many rows they differ."""
    table = folder / "events"
    events.generate(spark, table, rows, DEFAULT_SEED, Spread(keys=KEYS, days=days, files=days))
    pipeline = pipeline_of(table)
    lake, other = lake_of(folder / "lake"), lake_of(folder / "other")
    Runner(spark, pipeline, lake).run(Interval())
    _mend(spark, table, days // 2)
    changed = Runner(spark, pipeline, lake).run(Interval(), changed=True)
    full = Runner(spark, pipeline, other).run(Interval())
    differing = {
        name: _differing(read_published(spark, lake, name), read_published(spark, other, name))
        for name in RESULT_TABLES
    }
    return {"changed": _described(changed), "full": _described(full), "differing_rows": differing}


def _mend(spark: SparkSession, table: Path, day: int) -> None:
    """Give one of a hundred events of a day another value."""
    start = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(days=day)
    arrived = F.col("arrival_time")
    of_day = (arrived >= F.lit(start)) & (arrived < F.lit(start + timedelta(days=1)))
    mended = of_day & (F.col("event_id") % ONE_OF == 0)
    DeltaTable.forPath(spark, str(table)).update(mended, {"value": F.col("value") + 1})


def _differing(left: DataFrame, right: DataFrame) -> int:
    rows, other_rows = left.drop("run_id"), right.drop("run_id").select(*(n for n in left.columns if n != "run_id"))
    return rows.exceptAll(other_rows).count() + other_rows.exceptAll(rows).count()


def _described(steps: Sequence[StepResult]) -> dict[str, Any]:
    counts = {name: count for step in steps for name, count in step.counts.items()}
    return {"steps": {step.step: step.seconds for step in steps}, "counts": counts}


if __name__ == "__main__":
    main(sys.argv[1:])
