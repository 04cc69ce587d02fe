"""If the native engine fails in a step, Spark alone takes the step, and publishes what it would have."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline
from spark_jobs.runtime.native_engine import COMET_ENABLED
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.support import history

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.usefixtures("comet")]

# The bytes of a text in Latin-1, which are no UTF-8.
NO_UTF8 = "cast(X'4DFC6C6C' as string)"


def published(spark: SparkSession, lake: Lake) -> list[str]:
    """Return the published results, with the bytes of the keys."""
    results = read_published(spark, lake, "window_results").drop("run_id")
    hexadecimal = results.withColumn("device", F.hex(F.col("device").cast("binary")))
    return sorted(map(str, hexadecimal.collect()))


def published_alike(spark: SparkSession, pipeline: Pipeline, folder: Path) -> tuple[str, list[str]]:
    """Run a pipeline by Spark alone and then with Comet, which gives up once; return its line and the equal rows."""
    alone, comet = (Lake(str(folder / name), "readings") for name in ("alone", "comet"))
    spark.conf.set(COMET_ENABLED, "false")
    Runner(spark, pipeline, alone).run(Interval())
    spark.conf.set(COMET_ENABLED, "true")
    lines: list[str] = []
    try:
        results = Runner(spark, pipeline, comet, progress=lambda step, text: lines.append(text)).run(Interval())
    finally:
        spark.conf.set(COMET_ENABLED, "true")
    assert [result.state for result in results] == ["done"] * 5
    (line,) = [line for line in lines if "Comet" in line]
    rows = published(spark, alone)
    assert published(spark, comet) == rows
    return line, rows


def test_text_that_is_no_utf_8_is_read_by_spark_alone(spark: SparkSession, tmp_path: Path) -> None:
    from_history = history.land(spark, history.events(400), tmp_path / "history")
    table = str(tmp_path / "rows")
    rows = spark.read.format("delta").load(from_history)
    spark.conf.set(COMET_ENABLED, "false")
    odd = rows.withColumn("device", F.when(F.col("id") % 3 == 0, F.expr(NO_UTF8)).otherwise(F.col("device")))
    odd.coalesce(1).write.format("delta").save(table)
    pipeline = history.pipeline(table)

    line, rows_alone = published_alike(spark, pipeline, tmp_path)
    assert line.endswith("Spark alone takes the step again")
    assert any("4DFC6C6C" in row for row in rows_alone)


def test_values_that_only_comet_computes_or_decodes_are_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    from_history = history.land(spark, history.events(400), tmp_path / "history")
    table = str(tmp_path / "rows")
    spark.conf.set(COMET_ENABLED, "false")
    codes = "case id % 3 when 0 then X'4DFC6C6C' when 1 then X'4DFD6C6C' else cast(device as binary) end"
    columns = {"code": F.expr(codes), "of": F.col("id") % 2}
    rows = spark.read.format("delta").load(from_history).withColumns(columns)
    rows.drop("device").coalesce(1).write.format("delta").save(table)
    pipeline = history.pipeline(
        table,
        source__columns='{"device": "cast(code as string)"}',
        source__where="of = 0 or (of <> 0 and id / of >= 0)",
    )
    _, rows_alone = published_alike(spark, pipeline, tmp_path)
    assert all(any(key in row for row in rows_alone) for key in ("4DFC6C6C", "4DFD6C6C"))
