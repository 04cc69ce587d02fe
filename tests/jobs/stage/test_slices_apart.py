"""Slices staged apart, in any order and side by side: what is published is what one run publishes."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.job_protocol import StepName
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.semantics import reference
from spark_jobs.tables import leases, ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.faults.drivers import PIPELINE, command, started
from tests.support import history
from tests.support.pipelines import SHAPES
from tests.support.runs import STRATEGIES
from tests.support.trigger_pipelines import CONTINUOUS, COUNT, DISCARDING, OPEN, SESSION, SLIDING
from tests.support.whole_run import assert_published, published

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

SLICES = 3
OVERLAPPING = {"windows__kind": "sliding", **SHAPES["overlapping"]}
CASES = {
    "tumbling": {},
    "sliding complete": {**OVERLAPPING, "replay__mode": "complete"},
    "sliding with gaps": {"windows__kind": "sliding", **SHAPES["with gaps"]},
    "retracting": {"windows__accumulation": "retracting"},
    "gathered": {"windows__late_panes": "per_epoch", "watermark__emit": "{every: 2 minutes}"},
    "continuous": {**CONTINUOUS, **DISCARDING, **OPEN},
    "count sliding": {**COUNT, **SLIDING},
    "silence": STRATEGIES["silence"],
    "marks": STRATEGIES["marks"],
    "per event": {"watermark__emit": "per_event"},
}


def cut(spark: SparkSession, pipeline: Pipeline, lake: Lake, interval: Interval) -> tuple[str, list[str]]:
    """Plan a run and cut it; gives its id and the names of its slices."""
    runner = Runner(spark, pipeline, lake, slices=SLICES)
    run_id = runner.plan(interval)[0].run.run_id
    outcome = runner.step(StepName.WATERMARKS, runner.find(run_id))
    assert outcome.state == "done"
    return run_id, list(outcome.slices)


def finished(spark: SparkSession, pipeline: Pipeline, lake: Lake, run_id: str) -> None:
    """Take the steps behind the slices."""
    runner = Runner(spark, pipeline, lake, slices=SLICES)
    for step in ("replay", "audit", "publish"):
        assert runner.step(step, runner.find(run_id)).state == "done"


@pytest.mark.soak
@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_slices_apart_publish_what_the_reference_gives(
    spark: SparkSession, table: str, lake: Lake, settings: dict[str, str]
) -> None:
    pipeline = history.pipeline(table, **settings)
    run_id, slices = cut(spark, pipeline, lake, Interval())
    assert len(slices) == SLICES
    random.Random(str(settings)).shuffle(slices)

    def staged(name: str) -> str:
        runner = Runner(spark, pipeline, lake)
        return runner.stage_slice(runner.find(run_id), name).state

    with ThreadPoolExecutor(max_workers=2) as pool:
        assert list(pool.map(staged, slices)) == ["done"] * SLICES
    finished(spark, pipeline, lake, run_id)
    expected = reference.replay(history.events(), pipeline)
    assert_published(spark, lake, expected)
    run = ledger.find(spark, lake, run_id)
    assert run is not None
    assert {name: run.counts[name] for name in expected.counts} == expected.counts


@pytest.mark.soak
def test_slices_of_a_part_of_time_apart_change_nothing(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = history.pipeline(table)
    Runner(spark, pipeline, lake).run(Interval())
    before = published(spark, lake)
    start = history.START + timedelta(minutes=30)
    run_id, slices = cut(spark, pipeline, lake, Interval(start, start + timedelta(hours=1)))
    for name in slices:
        runner = Runner(spark, pipeline, lake)
        runner.stage_slice(runner.find(run_id), name)
    finished(spark, pipeline, lake, run_id)
    assert published(spark, lake) == before


def test_run_with_a_single_slice_is_not_cut(spark: SparkSession, table: str, lake: Lake) -> None:
    assert cut(spark, history.pipeline(table, **SESSION), lake, Interval())[1] == []
    runner = Runner(spark, history.pipeline(table), lake, slices=1)
    assert runner.step(StepName.WATERMARKS, runner.plan(Interval())[0].run).slices == []


def test_unknown_slice_is_refused(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = history.pipeline(table)
    runner = Runner(spark, pipeline, lake)
    run = runner.plan(Interval())[0].run
    with pytest.raises(InputError, match=r"slice-1-of-3 of run r.*, found none: take the step watermarks before"):
        runner.stage_slice(run, "slice-1-of-3")
    cut(spark, pipeline, lake, Interval())
    with pytest.raises(InputError, match=r"slice-1-of-2 of run r.*, found slice-0-of-3, slice-1-of-3, slice-2-of-3"):
        runner.stage_slice(run, "slice-1-of-2")


def test_a_slice_holds_its_own_windows(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = history.pipeline(table)
    run_id, slices = cut(spark, pipeline, lake, Interval())
    runner = Runner(spark, pipeline, lake)
    run = runner.find(run_id)
    with leases.acquire(lake, "r000000000000001", Interval(None, history.START + timedelta(minutes=1))):
        with pytest.raises(leases.LockedError, match="r000000000000001"):
            runner.stage_slice(run, slices[0])
        assert runner.stage_slice(run, slices[-1]).state == "done"


@pytest.mark.soak
def test_processes_stage_slices_side_by_side(spark: SparkSession, table: str, tmp_path: Path) -> None:
    file = tmp_path / "readings.yaml"
    file.write_text(PIPELINE.format(table=table), encoding="utf-8")
    lake, pipeline = Lake(str(tmp_path / "lake"), "readings"), history.pipeline(table)
    run_id, slices = cut(spark, pipeline, lake, Interval())
    results = [tmp_path / f"{name}.json" for name in slices]
    commands = [
        command(StepName.SLICE, file, "--run-id", run_id, "--slice", name, "--result", str(result))
        for name, result in zip(slices, results, strict=True)
    ]
    assert [process.wait() for process in [started(lake, arguments) for arguments in commands]] == [0] * SLICES
    assert [json.loads(result.read_text(encoding="utf-8"))["state"] for result in results] == ["done"] * SLICES
    finished(spark, pipeline, lake, run_id)
    assert_published(spark, lake, reference.replay(history.events(), pipeline))
