"""A report has the checks of its run's last audit, whatever reads and writes the table `quality`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from pyspark.sql import SparkSession

from expectations import Check
from spark_jobs.jobs.audit import audit
from spark_jobs.jobs.report import report
from spark_jobs.tables import delta_rs_writes
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run
from tests.support.fake_lake import run_id

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

Record = Callable[[SparkSession, Lake, str, Sequence[Check]], None]


def check(expectation: str, *, success: bool) -> Check:
    return Check("panes", expectation, "as expected", success, "0 of 3 rows", 0, "", blocks=True, table="panes")


@pytest.mark.parametrize(
    "writers",
    [(audit.record, audit.record_by_spark), (audit.record_by_spark, audit.record)],
    ids=["delta-rs first", "Spark first"],
)
def test_the_checks_are_those_of_the_last_audit_in_order(
    spark: SparkSession, lake: Lake, writers: tuple[Record, Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = writers
    run = Run(run_id(1), "readings", "f", "full", 0, None, None)
    assert report.checks_of(spark, lake, run) == []
    first(spark, lake, run.run_id, [check("of_an_earlier_audit", success=False)])
    second(spark, lake, run_id(2), [check("of_another_run", success=False)])
    second(spark, lake, run.run_id, [check("b", success=True), check("a", success=True)])
    table = spark.read.format("delta").load(lake.path(audit.TABLE))
    assert [(f.name, f.dataType) for f in table.schema] == [(f.name, f.dataType) for f in audit.SCHEMA]
    assert table.count() == 3
    by_delta_rs = report.checks_of(spark, lake, run)
    monkeypatch.setattr(Lake, "folder", None)
    for checks in (by_delta_rs, report.checks_of(spark, lake, run)):
        assert [(c.suite, c.expectation, c.success, c.observed, c.unexpected_count, c.details) for c in checks] == [
            ("panes", name, True, "0 of 3 rows", 0, "") for name in ("a", "b")
        ]


def test_spark_records_what_delta_rs_cannot(spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise LakeError("another writer was first")

    monkeypatch.setattr(delta_rs_writes, "replace", fail)
    run = Run(run_id(1), "readings", "f", "full", 0, None, None)
    audit.record(spark, lake, run.run_id, [check("a", success=False)])
    assert [c.expectation for c in report.checks_of(spark, lake, run)] == ["a"]
