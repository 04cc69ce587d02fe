"""SQL of a pipeline file that reaches out of its rows is refused by `check`, by the plan, and again by the audit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from expectations import AuditError, check
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.check import checked
from spark_jobs.jobs.plan.check_source import check_source
from spark_jobs.pipeline.model import Aggregate, Drift, Expectation, Pipeline
from tests.support import history
from tests.support.engine import frame_of
from tests.support.generated_run import CORRECT, COUNTS, PIPELINE, frames

pytestmark = pytest.mark.spark

DELETE = Expectation("unexpected_rows_expectation", arguments={"unexpected_rows_query": "DELETE FROM x -- {batch}"})


def filtered_by(condition: str) -> Pipeline:
    plain = history.pipeline("/no/such/table")
    return replace(plain, source=replace(plain.source, where=condition))


def refused(spark: SparkSession, wrong: Pipeline) -> list[str]:
    """Return the lines of the refusal."""
    with pytest.raises(InputError) as error:
        checked(spark, wrong)
    return str(error.value).splitlines()


def test_every_text_is_judged_before_a_table_is_read(spark: SparkSession) -> None:
    plain = filtered_by("(select true)")
    quality = replace(plain.quality, expectations=(DELETE,), drift=Drift(0.5, measures=(Aggregate("m", "reflect(a)"),)))
    windows = replace(plain.windows, aggregates=(Aggregate("x", "max(rand())"),))
    lines = refused(spark, replace(plain, quality=quality, windows=windows))
    assert [line.removeprefix("<mapping>: ").partition(" in '")[0] for line in lines] == [
        "source.where: found a subquery",
        "windows.aggregates.x: found rand() (its value is another in every run)",
        "quality.drift.measures.m: found reflect() (it runs code)",
        "quality.expectations[0].unexpected_rows_query: found the operation DeleteFromTable",
    ]


def test_allowed_texts_lead_to_the_source(spark: SparkSession) -> None:
    (line,) = refused(spark, filtered_by("id > 5"))
    assert line.startswith("<mapping>: source.table: '/no/such/table' is not a Delta table")


def test_a_function_without_parentheses_is_found_by_the_columns_of_the_source(spark: SparkSession) -> None:
    by_moment = filtered_by("current_timestamp is not null")
    events = frame_of(spark, history.events(50), history.SCHEMA)
    with pytest.raises(InputError, match=r"source.where: found current_timestamp \(its value depends on the time"):
        check_source(events, by_moment)
    check_source(events.withColumn("current_timestamp", F.lit(1)), by_moment)


def test_the_audit_judges_again_what_the_plan_has_judged(spark: SparkSession) -> None:
    wrong = replace(PIPELINE, quality=replace(PIPELINE.quality, expectations=(DELETE,)))
    with pytest.raises(AuditError, match="found the operation DeleteFromTable"):
        check(frames(spark, CORRECT), wrong, COUNTS)
