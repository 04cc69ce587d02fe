"""A report has the checks of its run's last audit, whatever reads the table `quality`."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from expectations import Check
from spark_jobs.jobs.audit import audit
from spark_jobs.jobs.report import report
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run
from tests.support.fake_lake import run_id

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


def check(expectation: str, *, success: bool) -> Check:
    return Check("panes", expectation, "as expected", success, "0 of 3 rows", 0, "", blocks=True, table="panes")


@pytest.fixture(params=["delta-rs", "Spark"])
def _reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "Spark":
        monkeypatch.setattr(Lake, "folder", None)


@pytest.mark.usefixtures("_reader")
def test_the_checks_are_those_of_the_last_audit_in_order(spark: SparkSession, lake: Lake) -> None:
    run = Run(run_id(1), "readings", "f", "full", 0, None, None)
    assert report.checks_of(spark, lake, run) == []
    audit.record(spark, lake, run_id(2), [check("of_another_run", success=False)])
    audit.record(spark, lake, run.run_id, [check("of_an_earlier_audit", success=False)])
    audit.record(spark, lake, run.run_id, [check("b", success=True), check("a", success=True)])
    checks = report.checks_of(spark, lake, run)
    assert [(c.suite, c.expectation, c.success, c.observed, c.unexpected_count, c.details) for c in checks] == [
        ("panes", name, True, "0 of 3 rows", 0, "") for name in ("a", "b")
    ]
