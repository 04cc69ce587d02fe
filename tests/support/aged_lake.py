"""A lake as it looks after some use: runs that follow each other, a part of time restated, a rollback, a dead run.

first     arrivals up to a moment
second    arrivals up to a later one, going on
third     an hour with another bound
back      a rollback to the second
dead      another hour, staged by a process that ended before it published
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from spark_jobs.tables.retention import Retention
from tests.support import history
from tests.support.runs import publish

HOUR = timedelta(hours=1)
ROWS = 1500
CUTS = (history.START + timedelta(minutes=50), history.START + timedelta(minutes=95, seconds=12))
SECOND = Interval(history.START + HOUR, history.START + 2 * HOUR)
END = history.START + timedelta(hours=9)


def strictly(runs: int = 1, *, retain: timedelta = timedelta(0)) -> Retention:
    """What is kept where everything else is old at once."""
    return Retention(datetime.now(UTC), retain, runs)


@dataclass(frozen=True)
class WornLake:
    """A copy of it: the lake, the pipeline and that of the third run, the published runs in order, and the dead one."""

    spark: SparkSession
    lake: Lake
    pipeline: Pipeline
    other: Pipeline
    runs: Sequence[str]
    dead: str

    def published_rows(self, run_id: str | None = None) -> list[str]:
        """The rows of all tables as of a run, of the newest without a name; as JSON, in one order, and in one job."""
        runs = {run.run_id: run for run in ledger.published(self.spark, self.lake)}
        run = runs[run_id or self.runs[-1]]
        frames = []
        for table in run.versions:
            rows = read_published(self.spark, self.lake, table, run_id=run_id)
            frames.append(rows.select(F.lit(table).alias("table"), F.to_json(F.struct("*")).alias("row")))
        return sorted(f"{row.table} {row.row}" for row in reduce(DataFrame.unionAll, frames).collect())

    @cached_property
    def files(self) -> dict[str, int]:
        """Whatever is in the folder now, with its size; holds aside."""
        home = Path(self.lake.home)
        every = (path for path in home.rglob("*") if path.is_file() and "holds" not in path.parts)
        return {str(path.relative_to(home)): path.stat().st_size for path in every}


class WornLakes:
    """Makes it once, and copies of it."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        self.rows = history.events(ROWS)
        table = history.land(spark, self.rows, folder / "source")
        self.pipeline = history.pipeline(table, quality__max_too_late_ratio="1")
        self.other = history.pipeline(table, watermark__out_of_orderness="1 hour")
        lake = Lake(str(folder / "first"), "readings")
        runs = [publish(spark, self.pipeline, lake, Interval(), arrived_to=cut) for cut in CUTS]
        runs.append(publish(spark, self.other, lake, SECOND, restate=True))
        runs.append(Runner(spark, self.pipeline, lake).rollback(runs[1]).run_id)
        self.runs = runs
        runner = Runner(spark, self.pipeline, lake)
        planned, _ = runner.plan(Interval(history.START, history.START + HOUR), restate=True)
        runner.step("replay", planned.run)
        self.dead = planned.run.run_id

    def copy(self, name: str) -> WornLake:
        """One of one's own."""
        shutil.copytree(self._folder / "first", self._folder / name)
        return WornLake(
            self._spark, Lake(str(self._folder / name), "readings"), self.pipeline, self.other, self.runs, self.dead
        )
