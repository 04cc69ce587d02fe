"""Coverage: keys that lack windows between their first and the last of all."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from expectations import Check, check
from spark_jobs.pipeline.model import Pipeline
from tests.support.generated_run import CORRECT, COUNTS, PIPELINE, Rows, frames, interpreted, result
from tests.support.generated_run import at as moment

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


def covered(spark: SparkSession, rows: Rows, least: float | None, pipeline: Pipeline = PIPELINE) -> list[Check]:
    asked = replace(pipeline, quality=replace(pipeline.quality, min_coverage=least))
    return [c for c in check(frames(spark, rows), asked, COUNTS) if c.suite == "coverage"]


def test_a_key_lacks_windows_from_its_first_to_the_last_of_all(spark: SparkSession) -> None:
    # Windows at 0, 10 and 20: AA has the first two, the key null the first and the last.
    (found,) = covered(spark, CORRECT, 0.7)
    assert (found.success, found.unexpected_count, found.observed) == (False, 2, "2 of 2 rows")
    told = [json.loads(line) for line in found.details.splitlines()]
    lacking = sorted((row["key"].get("carrier", "none"), row["windows"], row["expected"]) for row in told)
    assert lacking == [("AA", 2, 3), ("none", 2, 3)]
    (found,) = covered(spark, CORRECT, 0.66)
    assert found.success


@pytest.mark.soak
def test_a_key_that_is_new_lacks_none_before(spark: SparkSession) -> None:
    rows = copy.deepcopy(CORRECT)
    rows["window_results"].append(result("ZZ", 20, 1, 1, moment(40)))
    (found,) = covered(spark, rows, 1.0)
    assert "ZZ" not in found.details
    assert found.observed == "2 of 3 rows"


def test_nothing_is_asked_where_no_share_is_set(spark: SparkSession) -> None:
    assert covered(spark, CORRECT, None) == []
    nothing: Rows = {table: [] for table in CORRECT}
    (found,) = check_of_nothing(spark, nothing)
    assert found.success


def check_of_nothing(spark: SparkSession, nothing: Rows) -> list[Check]:
    asked = replace(PIPELINE, quality=replace(PIPELINE.quality, min_coverage=1.0))
    found = check(frames(spark, nothing), asked, {"rows_read": 0, "filtered": 0})
    return [c for c in found if c.suite == "coverage"]
