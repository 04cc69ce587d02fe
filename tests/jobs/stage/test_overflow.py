"""A sum that does not fit its type ends the run as wrong input, with the aggregate and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.stage.overflow import explanation
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.whole_run import run_steps

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


def test_an_overflow_names_the_aggregates_that_sum(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    rows = [{**row, "id": 2**62} for row in history.events(60)]
    table = history.land(spark, rows, tmp_path / "rows")
    aggregates = {"windows__aggregates": "{n: count(*), total: sum(id)}"}
    with pytest.raises(InputError, match=r"windows\.aggregates\.total \('sum\(id\)'\): a sum is greater.*decimal"):
        run_steps(spark, history.pipeline(table, **aggregates), lake)


def test_other_failures_are_not_explained() -> None:
    pipeline = history.pipeline("rows")
    assert explanation(pipeline, ValueError("[DIVIDE_BY_ZERO]")) is None
    assert (
        explanation(history.pipeline("rows", windows__aggregates="{n: max(id)}"), ValueError("ARITHMETIC_OVERFLOW"))
        is None
    )
    assert "'sum(reading)'" in str(explanation(pipeline, ValueError("[ARITHMETIC_OVERFLOW] long overflow")))
