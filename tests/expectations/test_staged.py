"""The audit step: it looks at what is staged, and its answers stand in the table `quality`, once a run."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.audit import audit
from spark_jobs.jobs.errors import InputError
from spark_jobs.pipeline.model import Expectation
from spark_jobs.tables import staging
from spark_jobs.tables.lake import Lake
from tests.support.generated_run import CORRECT, COUNTS, PIPELINE, Fault, all_of, change, frames, interpreted

pytestmark = [
    pytest.mark.spark,
    pytest.mark.usefixtures("session"),
    # Modules that Great Expectations imports.
    pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def quick(spark: SparkSession) -> Iterator[None]:
    with interpreted(spark):
        yield


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path), PIPELINE.name)


def stage(spark: SparkSession, lake: Lake, run_id: str, fault: Fault) -> None:
    rows = copy.deepcopy(CORRECT)
    fault(rows)
    for table, frame in frames(spark, rows).items():
        staging.stage(frame.drop("run_id"), lake, run_id, table, "all")


@pytest.mark.soak
def test_answers_stand_once_a_run_in_the_table_quality(spark: SparkSession, lake: Lake) -> None:
    stage(spark, lake, "r1", all_of())
    stage(spark, lake, "r2", change("window_results", 0, pane_count=4))
    right = audit.audit(spark, PIPELINE, lake, "r1", COUNTS)
    wrong = audit.audit(spark, PIPELINE, lake, "r2", COUNTS)
    for run_id, checks in (("r1", right), ("r2", wrong), ("r2", wrong)):
        audit.record(spark, lake, run_id, checks)
    quality = spark.read.format("delta").load(lake.path("quality"))
    assert quality.columns == [
        "run_id",
        "suite",
        "expectation",
        "success",
        "observed",
        "unexpected_count",
        "details",
    ]
    assert {(row.run_id, row["count"]) for row in quality.groupBy("run_id").count().collect()} == {
        ("r1", len(right)),
        ("r2", len(wrong)),
    }
    failed = [tuple(row)[:6] for row in quality.where("not success").collect()]
    invariant = "results_count_their_panes"
    assert failed == [("r2", "window_results", invariant, False, "1 of 5 rows", 1)]
    assert not audit.blocks(right, PIPELINE)
    assert audit.blocks(wrong, PIPELINE)


def test_an_unknown_expectation_is_wrong_input(spark: SparkSession, lake: Lake) -> None:
    stage(spark, lake, "r1", all_of())
    expectations = (Expectation("expect_column_to_exists", "panes", {"column": "flights"}),)
    mistaken = replace(PIPELINE, quality=replace(PIPELINE.quality, expectations=expectations))
    with pytest.raises(InputError, match="did you mean 'expect_column_to_exist'"):
        audit.audit(spark, mistaken, lake, "r1", COUNTS)
