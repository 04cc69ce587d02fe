"""A pipeline that becomes one of another kind under its name: tables come, go, and come back."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.support import history, whole_run
from tests.support.join_histories import published, readings, split

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.mark.soak
def test_windows_may_become_a_join_and_windows_again(spark: SparkSession, tmp_path: Path, lake: Lake) -> None:
    table = history.land(spark, readings(), tmp_path / "readings")
    strict, lenient = (history.pipeline(table, watermark__out_of_orderness=b) for b in ("10s", "1 hour"))
    first, _ = whole_run.assert_publishes_the_references(spark, strict, lake, rows=readings())
    before = whole_run.published(spark, lake)
    joined = split({"readings": table})
    second = whole_run.run_steps(spark, joined, lake)
    assert [outcome.state for outcome in second] == ["done"] * 4
    pairs = published(spark, lake)
    with pytest.raises(ValueError, match="has invalid_events, late_events, pairs"):
        read_published(spark, lake, "panes")
    runner = Runner(spark, joined, lake)
    assert runner.rollback(first.run_id).state == "done"
    assert whole_run.published(spark, lake) == before
    assert runner.rollback(second[0].run_id).state == "done"
    assert published(spark, lake) == pairs
    # Versions of other tables count from elsewhere: what was published last is still the last.
    assert [run.kind for run in ledger.published(spark, lake)] == ["full", "full", "rollback", "rollback"]
    hour = Interval(history.START, history.START + timedelta(hours=1))
    with pytest.raises(
        InputError, match=r"published results \(run r.*\) are those of a join, the pipeline defines windows"
    ):
        whole_run.run_steps(spark, strict, lake, hour, restate=True)
    whole_run.assert_publishes_the_references(spark, lenient, lake, rows=readings())


@pytest.mark.soak
def test_run_is_repeated_if_others_have_replaced_it(spark: SparkSession, tmp_path: Path, lake: Lake) -> None:
    table = history.land(spark, readings(), tmp_path / "readings")
    strict, lenient = (history.pipeline(table, watermark__out_of_orderness=b) for b in ("10s", "1 hour"))

    def states(pipeline: Pipeline, interval: Interval | None = None) -> set[str]:
        return {outcome.state for outcome in whole_run.run_steps(spark, pipeline, lake, interval, restate=True)}

    assert states(strict) == {"done"}
    before = whole_run.published(spark, lake)
    assert states(lenient) == {"done"}
    assert (states(strict), states(strict)) == ({"done"}, {"unchanged"})
    assert whole_run.published(spark, lake) == before
    hour = Interval(history.START, history.START + timedelta(hours=1))
    assert states(strict, hour) == {"done"}
    assert states(strict) == {"unchanged"}, "the hour is as it was"
    assert states(lenient, hour) == {"done"}
    assert (states(strict), states(strict)) == ({"done"}, {"unchanged"})
    assert whole_run.published(spark, lake) == before
    Runner(spark, lenient, lake).rollback(ledger.published(spark, lake)[1].run_id)
    assert states(strict) == {"done"}
    assert whole_run.published(spark, lake) == before
