"""Coverage: keys that lack windows between their first and the last of all."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from expectations import Check, check
from tests.support.generated_run import CORRECT, COUNTS, PIPELINE, Rows, frames, result
from tests.support.generated_run import at as moment

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


def coverage_checks(
    spark: SparkSession, rows: Rows, min_coverage: float | None, counts: Mapping[str, int] = COUNTS
) -> list[Check]:
    """Return the checks of coverage of a run."""
    pipeline = replace(PIPELINE, quality=replace(PIPELINE.quality, min_coverage=min_coverage))
    return [result for result in check(frames(spark, rows), pipeline, counts) if result.suite == "coverage"]


def test_a_key_lacks_windows_from_its_first_to_the_last_of_all(spark: SparkSession) -> None:
    # Windows at 0, 10 and 20: AA has the first two, the key null the first and the last.
    (coverage,) = coverage_checks(spark, CORRECT, 0.7)
    assert (coverage.success, coverage.unexpected_count, coverage.observed) == (False, 2, "2 of 2 rows")
    details = [json.loads(line) for line in coverage.details.splitlines()]
    lacking = sorted((row["key"].get("carrier", "none"), row["windows"], row["expected"]) for row in details)
    assert lacking == [("AA", 2, 3), ("none", 2, 3)]
    (coverage,) = coverage_checks(spark, CORRECT, 0.66)
    assert coverage.success


@pytest.mark.soak
def test_a_key_that_is_new_lacks_none_before(spark: SparkSession) -> None:
    rows = copy.deepcopy(CORRECT)
    rows["window_results"].append(result("ZZ", 20, 1, 1, moment(40)))
    (coverage,) = coverage_checks(spark, rows, 1.0)
    assert "ZZ" not in coverage.details
    assert coverage.observed == "2 of 3 rows"


@pytest.mark.soak
def test_a_pipeline_without_a_share_has_no_check_and_a_run_without_rows_passes(spark: SparkSession) -> None:
    assert coverage_checks(spark, CORRECT, None) == []
    no_rows: Rows = {table: [] for table in CORRECT}
    (coverage,) = coverage_checks(spark, no_rows, 1.0, {"rows_read": 0, "filtered": 0})
    assert coverage.success
