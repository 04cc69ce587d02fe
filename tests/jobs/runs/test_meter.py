"""Spark's figures of each step: those of the jobs that began in it, which agree with each other, and none is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from time import monotonic

import pytest
from pyspark.sql import SparkSession

from spark_jobs import figures as f
from spark_jobs.job_protocol import StepName, StepResult
from spark_jobs.jobs.runs import meter
from spark_jobs.jobs.runs.meter import Meter
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.tables import exchange, ledger, run_history
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.faults.drivers import PIPELINE
from tests.support import history

pytestmark = pytest.mark.spark

NAMES = {figure.name for figure in f.FIGURES}
#: What a step of a session that was open before lacks.
SOMETIMES = {f.STARTUP_SECONDS.name, f.JOBS_NOT_MEASURED.name}


def run(spark: SparkSession, table: str, lake: Lake) -> dict[str, StepResult]:
    """Take all steps of a run; returns their results by name."""
    return {result.step: result for result in Runner(spark, history.pipeline(table), lake).run(Interval())}


def warned_of(text: str) -> None:
    raise AssertionError(text)


def test_each_step_of_a_run_has_figures_that_agree(
    spark: SparkSession, comet: None, table: str, lake: Lake, tmp_path: Path
) -> None:
    results = run(spark, table, lake)
    for step in ("replay", "audit", "publish", "report"):
        figures = results[step].figures
        assert set(figures) == NAMES - SOMETIMES, step
        assert figures["rows_per_second"] == figures["rows_read"] / figures["seconds"]
        assert 0 <= figures["native_share"] <= 1
        assert figures["skew"] >= 1
        assert figures["spark_jobs"] > 0
        assert 0 < figures["seconds"] <= results[step].seconds + 0.001
    replay = results["replay"].figures
    # The source is 3,000 rows; the census and the panes read it.
    assert replay["rows_read"] > 6000
    assert replay["bytes_read"] > 0
    assert replay["bytes_written"] > 0
    assert replay["shuffle_bytes_written"] > 0
    assert replay["shuffle_bytes_read"] > 0
    assert replay["native_share"] > 0
    assert replay["task_seconds"] <= replay["seconds"] * spark.sparkContext.defaultParallelism
    recorded = {step.step: step.figures for step in ledger.published(spark, lake)[-1].steps}
    assert recorded == {step: dict(results[step].figures) for step in ("plan", "replay", "audit", "publish")}
    assert {step.step: step.figures for step in run_history.every(lake)[-1].steps} == recorded


@pytest.mark.soak
def test_spark_alone_is_not_native(spark: SparkSession, spark_alone: None, table: str, lake: Lake) -> None:
    results = run(spark, table, lake)
    assert {step: results[step].figures["native_share"] for step in ("replay", "audit", "publish", "report")} == {
        "replay": 0,
        "audit": 0,
        "publish": 0,
        "report": 0,
    }


def test_a_step_that_was_done_has_no_figures(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = history.pipeline(table)
    runner = Runner(spark, pipeline, lake)
    planned, _ = runner.plan(Interval())
    runner.step(StepName.REPLAY, planned.run)
    again = runner.step(StepName.REPLAY, runner.find(planned.run.run_id))
    assert (again.state, again.figures) == ("unchanged", {})


def counted(spark: SparkSession, rows: int) -> None:
    """Run one job that writes a shuffle."""
    spark.range(rows).repartition(3).count()


def test_a_step_is_measured_from_its_beginning(spark: SparkSession) -> None:
    counted(spark, 1000)
    measured = Meter(spark, warned_of)
    counted(spark, 10)
    small = measured.end()
    measured.begin()
    counted(spark, 100_000)
    large = measured.end()
    for figures in (small, large):
        assert figures["rows_read"] == figures["bytes_read"] == 0
        assert "jobs_not_measured" not in figures
    assert small["spark_jobs"] == large["spark_jobs"] > 0
    assert large["shuffle_bytes_written"] > small["shuffle_bytes_written"] > 0
    measured.begin()
    assert {name for name, value in measured.end().items() if value} <= {"seconds"}


def test_skew_is_the_slowest_task_over_the_median_task_of_the_heaviest_stage(spark: SparkSession) -> None:
    measured = Meter(spark, warned_of)
    # The rows of one task take far longer than those of the others.
    rows = spark.range(0, 3_000_000, 1, 3).selectExpr("if(id < 1000000, sha2(cast(id as string), 512), '') as text")
    assert rows.selectExpr("max(text)").collect()
    figures = measured.end()
    heaviest = max(measured._stages.values(), key=lambda stage: stage["executorRunTime"])
    status = measured._status
    listed = status._context.statusStore().taskList(heaviest["stageId"], heaviest["attemptId"], 100)
    tasks = json.loads(status._mapper.writeValueAsString(listed))
    times = sorted(task["taskMetrics"]["executorRunTime"] for task in tasks)
    assert len(times) == 3
    assert figures["skew"] == pytest.approx(times[2] / times[1], abs=0.001)


def forget(spark: SparkSession, jobs_from: int) -> None:
    """Remove jobs and stages from Spark's status, as it does beyond its limits."""
    status = meter._Status(spark)
    for job in status.jobs(jobs_from):
        status._store.delete(status._java.java.lang.Class.forName(meter._JOBS), job["info"]["jobId"])


def test_jobs_that_spark_has_forgotten_are_counted(spark: SparkSession) -> None:
    measured = Meter(spark, warned_of)
    first = measured._first_job
    counted(spark, 10)
    before = meter._Status(spark).next_job
    forget(spark, first)
    counted(spark, 10)
    figures = measured.end()
    assert figures["jobs_not_measured"] == before - first
    assert figures["spark_jobs"] == 2 * (before - first)


def forget_skipped_stages(measured: Meter) -> int:
    """Remove skipped stages from Spark's status, as it does first; returns how many these were."""
    status = measured._status
    skipped = [
        (stage["stageId"], stage["attemptId"])
        for stage in (entry["info"] for entry in status.stages(measured._first_stage))
        if stage["status"] == "SKIPPED"
    ]
    for place in skipped:
        key = status._gateway.new_array(status._java.int, 2)
        key[0], key[1] = place
        status._store.delete(status._java.java.lang.Class.forName(meter._STAGES), key)
    return len(skipped)


def test_a_forgotten_stage_that_was_skipped_is_no_loss(spark: SparkSession) -> None:
    measured = Meter(spark, warned_of)
    rows = spark.range(1000).repartition(3)._jdf.javaRDD()
    # The second job finds the shuffle of the first.
    assert rows.count() == rows.count() == 1000
    measured._status.jobs(0)
    assert forget_skipped_stages(measured) == 1
    assert "jobs_not_measured" not in measured.end()


def test_a_forgotten_stage_that_two_jobs_skipped_at_once_is_no_loss(spark: SparkSession) -> None:
    measured = Meter(spark, warned_of)
    # The rows after the shuffle take long enough that the third job begins before the second ends.
    shuffled = spark.range(300_000).repartition(3)
    rows = shuffled.where("sha2(sha2(cast(id as string), 512), 512) > ''")._jdf.javaRDD()
    assert rows.count() == 300_000
    assert [job.get() for job in (rows.countAsync(), rows.countAsync())] == [300_000, 300_000]
    jobs = [job["info"] for job in measured._status.jobs(measured._first_job)]
    assert sorted(job["numSkippedStages"] for job in jobs[-2:]) == [0, 1]
    assert forget_skipped_stages(measured) == 1
    assert "jobs_not_measured" not in measured.end()


def test_a_long_step_is_read_before_spark_forgets(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "_KEEP_UP", 1)
    measured = Meter(spark, warned_of)
    first = measured._first_job
    totals: Mapping[str, float] = {}
    for _ in range(4):
        counted(spark, 1000)
        measured.keep_up()
        forget(spark, first)
    totals = measured.end()
    assert "jobs_not_measured" not in totals
    assert totals["spark_jobs"] == meter._Status(spark).next_job - first
    assert totals["shuffle_bytes_written"] > 0


def test_a_step_does_not_fail_for_its_figures(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    measured = Meter(spark, warnings.append)
    monkeypatch.setattr(meter, "_JOBS", "org.apache.spark.status.Unknown")
    assert measured.end() == {}
    (warning,) = warnings
    assert warning.startswith("Spark's figures of the step are missing: ")
    assert "org.apache.spark.status.Unknown" in warning


@pytest.mark.soak
def test_the_first_step_of_an_application_has_its_start_up(table: str, tmp_path: Path) -> None:
    file, result = tmp_path / "readings.yaml", tmp_path / "result.json"
    file.write_text(PIPELINE.format(table=table), encoding="utf-8")
    own = {"TIDEMARK_LAKE": str(tmp_path / "lake"), "TIDEMARK_ENGINE": "spark", "TIDEMARK_SPARK_MASTER": "local[2]"}
    command = [sys.executable, "-m", "spark_jobs.jobs.step", "plan", str(file), "--then", "replay"]
    began = monotonic()
    subprocess.run([*command, "--result", str(result)], env={**os.environ, **own}, check=True)
    took = monotonic() - began
    planned = exchange.read_answer(str(result))
    assert planned is not None
    (replayed,) = planned.following
    # Plan reads the log without Spark: the first job is the replay's.
    assert planned.figures["spark_jobs"] == 0
    assert not {"startup_seconds", "native_share"} & set(planned.figures)
    assert 0 < replayed.figures["startup_seconds"] < took
    assert replayed.figures["native_share"] == 0
    assert replayed.figures["rows_read"] > 6000
