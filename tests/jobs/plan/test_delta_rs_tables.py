"""A plan by delta-rs is the plan by Spark, or needs Spark for a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan import delta_rs_extent
from spark_jobs.jobs.plan.check import fits
from spark_jobs.jobs.plan.delta_rs_source import NeedsSparkError
from spark_jobs.jobs.plan.delta_rs_tables import DeltaRsTables
from spark_jobs.jobs.plan.estimate import extent
from spark_jobs.jobs.plan.plan import plan
from spark_jobs.jobs.plan.plan_request import Plan
from spark_jobs.jobs.plan.spark_tables import SparkTables
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.replay.continuation.resume import Resumption
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.arrivals import CUTS

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

ROWS = history.events(900)
EARLIER = [row for row in ROWS if row["stored_at"] is not None and row["stored_at"] < CUTS[1]]
LATER = [row for row in ROWS if row["stored_at"] is not None and row["stored_at"] >= CUTS[1]]
PART = Interval(history.START, history.START + timedelta(minutes=20))


@pytest.fixture(name="source")
def _source(spark: SparkSession, tmp_path: Path) -> Path:
    history.land(spark, EARLIER, tmp_path / "rows")
    return tmp_path / "rows"


@dataclass(frozen=True)
class Published:
    """A folder with a source and a lake after a run over the earlier arrivals, and a copy of both."""

    folder: Path
    copy: Path

    def restore(self, spark: SparkSession) -> None:
        """Bring back the state after the run."""
        rmtree(self.folder, ignore_errors=True)
        copytree(self.copy, self.folder)
        spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]


@pytest.fixture(name="run_once", scope="module")
def _run_once(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Published:
    once = Published(tmp_path_factory.mktemp("published"), tmp_path_factory.mktemp("copies") / "copy")
    history.land(spark, EARLIER, once.folder / "rows")
    pipeline, lake = history.pipeline(str(once.folder / "rows")), Lake(str(once.folder / "lake"), "readings")
    Runner(spark, pipeline, lake).run(Interval(), CUTS[1])
    copytree(once.folder, once.copy)
    return once


@pytest.fixture(name="after_a_run")
def _after_a_run(spark: SparkSession, run_once: Published) -> tuple[Path, Lake]:
    """The source and the lake after a run over the earlier arrivals."""
    run_once.restore(spark)
    return run_once.folder / "rows", Lake(str(run_once.folder / "lake"), "readings")


@pytest.fixture(name="plan_twice")
def _plan_twice(spark: SparkSession, after_a_run: tuple[Path, Lake]) -> Callable[..., Plan]:
    """Return a plan that both make, after a run over the earlier arrivals."""
    source, lake = after_a_run
    pipeline = history.pipeline(str(source))

    def plan_twice(interval: Interval = Interval(), arrived_to: datetime | None = None, **more: Any) -> Plan:  # noqa: B008
        planned = plan(SparkTables(spark, pipeline, lake), interval, arrived_to, **more)
        tables = DeltaRsTables(pipeline, lake)
        assert plan(tables, interval, arrived_to, **more) == planned
        assert delta_rs_extent.extent(tables, planned) == extent(spark, pipeline, lake, planned)
        return planned

    return plan_twice


def reason(source: Path, lake: Lake, pipeline: Pipeline | None = None) -> str:
    """Return the reason for which a plan over later arrivals needs Spark."""
    with pytest.raises(NeedsSparkError) as raised:
        plan(DeltaRsTables(pipeline or history.pipeline(str(source)), lake), Interval(), CUTS[2])
    return str(raised.value)


def test_plans_of_each_kind_are_those_of_spark(
    spark: SparkSession, after_a_run: tuple[Path, Lake], plan_twice: Callable[..., Plan]
) -> None:
    source, _ = after_a_run
    assert plan_twice(arrived_to=CUTS[0]).run.versions, "it is covered"
    history.land(spark, LATER, source)
    resumed = plan_twice(arrived_to=CUTS[2])
    assert resumed.run.arrived_from == CUTS[1]
    assert resumed.interval.start is not None
    assert plan_twice().run.kind == "full"
    part = plan_twice(PART)
    assert (part.run.kind, part.run.arrived_to) == ("backfill", CUTS[1])
    assert "1 files were added and 0 removed or rewritten" in part.note
    DeltaTable.forPath(spark, str(source)).optimize().executeCompaction()
    assert plan_twice(arrived_to=CUTS[2]).note == "", "compaction is no change"


def test_the_plan_over_a_mended_past_needs_spark(spark: SparkSession, after_a_run: tuple[Path, Lake]) -> None:
    source, lake = after_a_run
    history.land(spark, LATER, source)
    DeltaTable.forPath(spark, str(source)).delete("id = 5")
    assert "rows of changed files are compared" in reason(source, lake)


def test_emissions_that_list_no_partitions_mean_no_resumption(
    spark: SparkSession, after_a_run: tuple[Path, Lake]
) -> None:
    source, lake = after_a_run
    pipeline = history.pipeline(str(source))
    published = DeltaRsTables(pipeline, lake).runs()[-1]
    emissions = DeltaTable.forPath(spark, lake.path("advances"))

    def resumptions() -> list[Resumption | None]:
        version = emissions.history(1).collect()[0].version
        newest = {**published.versions, "advances": version}
        steps = [replace(step, versions=newest) if step.versions else step for step in published.steps]
        last = replace(published, steps=tuple(steps))
        by = (SparkTables(spark, pipeline, lake), DeltaRsTables(pipeline, lake))
        return [tables.resumption(last, micros(CUTS[1])) for tables in by]

    by_spark, by_delta_rs = resumptions()
    assert by_spark is not None
    assert by_spark == by_delta_rs
    kind = emissions.toDF().schema["partition_watermarks"].dataType
    emissions.update(set={"partition_watermarks": F.lit(None).cast(kind)})
    assert resumptions() == [None, None]


def test_a_first_plan_needs_spark(source: Path, lake: Lake) -> None:
    assert reason(source, lake) == "the pipeline has no ledger yet"


def test_with_the_check_of_spark_a_first_plan_opens_no_table(spark: SparkSession, source: Path, lake: Lake) -> None:
    pipeline = history.pipeline(str(source))
    tables = DeltaRsTables(pipeline, lake, partial(fits, spark, pipeline))
    assert plan(tables, Interval()) == plan(SparkTables(spark, pipeline, lake), Interval())
    # The check is remembered.
    assert plan(replace(tables, fits=lambda columns: False), Interval()).run.kind == "full"


def test_a_pipeline_that_does_not_fit_has_the_error_of_spark(spark: SparkSession, source: Path, lake: Lake) -> None:
    for settings in ({"windows__key": ["nothing"]}, {"source__where": "reading + 1"}):
        pipeline = history.pipeline(str(source), **settings)
        with pytest.raises(NeedsSparkError):
            plan(DeltaRsTables(pipeline, lake, partial(fits, spark, pipeline)), Interval())
        with pytest.raises(InputError, match="checked with version 0 of"):
            Runner(spark, pipeline, lake).plan(Interval())


def test_what_only_spark_knows_needs_spark(spark: SparkSession, after_a_run: tuple[Path, Lake]) -> None:
    source, lake = after_a_run
    other = history.pipeline(str(source), windows__size="20 minutes")
    assert reason(source, lake, other) == "the pipeline was not checked with these columns yet"
    checked_anew = history.pipeline(str(source), quality__max_too_late_ratio="0.25")
    assert reason(source, lake, checked_anew) == "the pipeline was not checked with these columns yet"
    history.land(spark, ROWS[:5], source)
    assert reason(source, lake) == "rows may have come later than they arrived"
    rows = spark.read.format("delta").load(str(source)).limit(0).withColumn("unit", F.lit("m"))
    rows.write.format("delta").mode("append").option("mergeSchema", value=True).save(str(source))
    assert reason(source, lake) == "the pipeline was not checked with these columns yet"


def test_what_spark_refuses_is_refused(spark: SparkSession, after_a_run: tuple[Path, Lake]) -> None:
    source, lake = after_a_run
    other = history.pipeline(str(source), windows__allowed_lateness="0s")
    tables = (SparkTables(spark, other, lake), DeltaRsTables(other, lake))
    problems = []
    for reader in tables:
        with pytest.raises(InputError) as refused:
            plan(reader, PART)
        problems.append(str(refused.value))
    assert problems[0] == problems[1]
    assert "has published results of other settings" in problems[0]
