"""Runs with the user's watermark generator: planned by name, staged with a timeline, published as by the reference."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support.pipelines import detecting
from tests.support.whole_run import assert_publishes_the_references

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

SESSIONS = {"windows__kind": "session", "windows__gap": "25 seconds", "windows__size": "null"}
EVERY_N = {"watermark__emit": "{every_n: 50}", "windows__kind": "sliding", "windows__slide": "4 minutes"}


@pytest.mark.parametrize(
    ("overrides", "slices"),
    [
        pytest.param({}, 3, id="tumbling", marks=pytest.mark.soak),
        pytest.param(SESSIONS, 1, id="session", marks=pytest.mark.soak),
        pytest.param(EVERY_N, 2, id="sliding", marks=pytest.mark.soak),
    ],
)
def test_slices_publish_what_the_reference_gives(
    spark: SparkSession, table: str, lake: Lake, overrides: dict[str, str], slices: int
) -> None:
    pipeline = detecting(table, **overrides)
    run, _ = assert_publishes_the_references(spark, pipeline, lake, slices=slices)
    assert min(run.counts["late"], run.counts["too_late"]) > 0


def test_plan_refuses_an_unknown_class(spark: SparkSession, table: str, lake: Lake) -> None:
    runner = Runner(spark, detecting(table, watermark__class="spark_jobs.semantics.detected_bound:Detected"), lake)
    with pytest.raises(InputError, match=r"watermark\.class: .* defines DetectedBound"):
        runner.plan(Interval())


def test_error_of_a_class_has_no_traceback(spark: SparkSession, table: str, lake: Lake) -> None:
    names = {"watermark__class": "tests.custom_watermarks:Marked", "watermark__arguments": "{}"}
    runner = Runner(spark, detecting(table, **names), lake)
    planned, _ = runner.plan(Interval())
    with pytest.raises(InputError, match=r"^watermark\.class: .*Marked' failed in on_event: KeyError: 'mark'$"):
        runner.step("replay", planned.run)
    [step] = ledger.runs(spark, lake)[-1].steps[1:]
    assert step.state == "failed"
    assert str(step.error).endswith("Marked' failed in on_event: KeyError: 'mark'")
