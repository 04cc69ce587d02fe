"""Runs over several tables pin, stage in slices, check and publish the results of the reference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.pipeline.model import Strategy, Watermark
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.whole_run import assert_publishes_the_references

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


def of_site(row: dict[str, Any]) -> str:
    return "coast" if row["site"] == "east" else "inland"


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> dict[str, str]:
    """The history in two tables, one of them in two commits."""
    rows = history.events()
    for name in ("inland", "coast"):
        history.land(spark, [row for row in rows[:-50] if of_site(row) == name], tmp_path / name)
    history.land(spark, [row for row in rows[-50:] if of_site(row) == "coast"], tmp_path / "coast")
    history.land(spark, [row for row in rows[-50:] if of_site(row) == "inland"], tmp_path / "inland")
    history.land(spark, [{**rows[-1], "reading": 50.0, "id": 5000}], tmp_path / "coast")
    return {name: str(tmp_path / name) for name in ("inland", "coast")}


def united(tables: dict[str, str], **overrides: str) -> Pipeline:
    times = {"event_time": "happened_at", "arrival_time": "stored_at", "tie_break": ["id"]}
    return from_mapping(
        {
            "name": "readings",
            "sources": [
                {
                    "name": "inland",
                    "table": tables["inland"],
                    **times,
                    "source_partition": ["site"],
                    "watermark": {"out_of_orderness": "10 seconds"},
                },
                {
                    "name": "coast",
                    "table": tables["coast"],
                    **times,
                    "where": "reading <= 40",
                    "watermark": {"out_of_orderness": "4 minutes"},
                },
            ],
            "watermark": {"emit": {"every": "30 seconds"}},
            "windows": {
                "size": "10 minutes",
                "key": ["source"],
                "allowed_lateness": "20 minutes",
                "aggregates": {"readings": "count(*)", "total": "sum(reading)"},
            },
        },
        overrides={key.replace("__", "."): value for key, value in overrides.items()},
    )


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["tumbling", "session"])
def test_a_sliced_run_over_two_tables_publishes_what_the_reference_gives(
    spark: SparkSession, tables: dict[str, str], lake: Lake, kind: str
) -> None:
    sessions = {"windows__kind": "session", "windows__gap": "25 seconds", "windows__size": "null"}
    pipeline = united(tables, **(sessions if kind == "session" else {}))
    rows = [{**row, "source": of_site(row)} for row in history.events()]
    rows.append({**rows[-1], "source": "coast", "reading": 50.0, "id": 5000})
    run, _ = assert_publishes_the_references(spark, pipeline, lake, slices=3, rows=rows)
    assert min(run.counts["late"], run.counts["too_late"], run.counts["filtered"]) > 0
    assert run.pinned == {"inland": 1, "coast": 2}


@pytest.mark.soak
def test_a_sliced_run_over_sources_that_may_be_idle_publishes_what_the_reference_gives(
    spark: SparkSession, tables: dict[str, str], lake: Lake
) -> None:
    pipeline = united(tables)
    inland, coast = pipeline.sources
    silent = replace(inland, watermark=replace(inland.watermark, idle_timeout_ms=60_000))
    custom = Watermark(
        Strategy.CUSTOM,
        generator="tests.custom_watermarks:Bounded",
        arguments={"bound_ms": 20_000},
        idle_timeout_ms=90_000,
    )
    pipeline = replace(pipeline, sources=(silent, replace(coast, watermark=custom)))
    rows = [{**row, "source": of_site(row)} for row in history.events()]
    rows.append({**rows[-1], "source": "coast", "reading": 50.0, "id": 5000})
    run, _ = assert_publishes_the_references(spark, pipeline, lake, slices=3, rows=rows)
    assert min(run.counts["late"], run.counts["too_late"], run.counts["filtered"]) > 0


def test_a_table_that_names_its_own_source_is_refused(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    spark.read.format("delta").load(tables["coast"]).withColumnRenamed("site", "Source").write.format("delta").mode(
        "overwrite"
    ).option("overwriteSchema", "true").save(tables["coast"])
    with pytest.raises(InputError, match=r"sources\[1\].table: found a column 'source'"):
        Runner(spark, united(tables), lake).plan(Interval())
