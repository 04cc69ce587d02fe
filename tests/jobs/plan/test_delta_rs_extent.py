"""The extent of a run that delta-rs counts is the extent that Spark counts, or it needs Spark for a reason."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan import delta_rs_extent, dry_run
from spark_jobs.jobs.plan.delta_rs_source import NeedsSparkError
from spark_jobs.jobs.plan.delta_rs_tables import DeltaRsTables
from spark_jobs.jobs.plan.estimate import extent
from spark_jobs.jobs.plan.extent import Extent
from spark_jobs.jobs.plan.plan import plan
from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from tests.support import history
from tests.support.engine import frame_of
from tests.support.slicing_streams import drawn_settings

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

ROWS = history.events(600)
HOUR = timedelta(hours=1)


@pytest.fixture(name="source", scope="module")
def _source(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("source") / "rows"
    for part in (ROWS[:200], ROWS[200:450], ROWS[450:]):
        history.land(spark, part, path)
    return str(path)


def extents(
    spark: SparkSession,
    pipeline: Pipeline,
    lake: Lake,
    interval: Interval = Interval(),  # noqa: B008
    until: datetime | None = None,
) -> tuple[Extent, Extent]:
    """Return the extent of a first run by delta-rs and by Spark."""
    tables = DeltaRsTables(pipeline, lake, lambda columns: True)
    planned = plan(tables, interval, until)
    return delta_rs_extent.extent(tables, planned), extent(spark, pipeline, lake, planned)


@pytest.mark.parametrize("number", range(6))
def test_the_extent_is_that_of_spark(spark: SparkSession, source: str, lake: Lake, number: int) -> None:
    draw = random.Random(number)
    settings = drawn_settings(draw)
    if number % 2:
        settings["source__future_guard"] = draw.choice(["none", "2 minutes"])
    if settings.get("windows__kind") == "sliding":
        settings["windows__slide"] = "1 minute"
    pipeline = history.pipeline(source, **settings)
    until = history.START + timedelta(seconds=draw.choice([0, 700, 1200, 9000])) if draw.random() < 0.6 else None
    by_delta_rs, by_spark = extents(spark, pipeline, lake, until=until)
    assert by_delta_rs == by_spark


@pytest.mark.parametrize("settings", [{}, {"windows__kind": "sliding", "windows__slide": "2 minutes"}])
def test_a_part_of_time_has_the_windows_of_its_rows(
    spark: SparkSession, source: str, lake: Lake, settings: dict[str, str]
) -> None:
    pipeline = history.pipeline(source, **settings)
    for first, last in ((None, HOUR / 6), (HOUR / 6, HOUR / 2), (HOUR / 2, None), (50 * HOUR, 60 * HOUR)):
        bounds = [None if offset is None else history.START + offset for offset in (first, last)]
        by_delta_rs, by_spark = extents(spark, pipeline, lake, Interval(*bounds))
        assert by_delta_rs == by_spark, bounds


def test_several_sources_are_counted_together(spark: SparkSession, source: str, tmp_path: Path, lake: Lake) -> None:
    other = history.land(spark, history.events(90, seed=3), tmp_path / "other")
    times = {"event_time": "happened_at", "arrival_time": "stored_at", "tie_break": ["id"]}
    settings: dict[str, Any] = {
        "name": "readings",
        "sources": [
            {"name": name, "table": table, **times, "watermark": {"out_of_orderness": "10 seconds"}}
            for name, table in (("a", source), ("b", other))
        ],
    }
    windows = {"size": "10 minutes", "key": ["source"], "aggregates": {"readings": "count(*)"}}
    by_delta_rs, by_spark = extents(spark, from_mapping({**settings, "windows": windows}), lake)
    assert by_delta_rs == by_spark
    assert by_delta_rs.source_rows == 690


def needs(spark: SparkSession, pipeline: Pipeline, lake: Lake) -> str:
    """Return the reason for which the extent needs Spark."""
    with pytest.raises(NeedsSparkError) as raised:
        extents(spark, pipeline, lake)
    return str(raised.value)


def test_what_only_spark_counts_needs_spark(
    spark: SparkSession, source: str, tmp_path: Path, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = history.pipeline(source, source__event_time="happened_at + interval 1 second")
    assert needs(spark, computed, lake) == "a time is no plain TIMESTAMP column"
    gaps = history.pipeline(source, windows__kind="sliding", windows__slide="25 minutes")
    assert "with gaps between them" in needs(spark, gaps, lake)
    local = history.pipeline(source, windows__size="1 day", windows__timezone="Europe/Berlin")
    assert "by the clock of a zone" in needs(spark, local, lake)
    early = history.land(spark, [{**ROWS[0], "happened_at": datetime(1582, 10, 4)}], tmp_path / "early")
    assert "times out of the usual range" in needs(spark, history.pipeline(early), lake)
    bare = str(tmp_path / "bare")
    statistics = "spark.databricks.delta.stats.collect"
    spark.conf.set(statistics, "false")
    frame_of(spark, ROWS[:5], history.SCHEMA).write.format("delta").save(bare)
    spark.conf.unset(statistics)
    assert "lack statistics" in needs(spark, history.pipeline(bare), lake)
    deleted = history.land(spark, ROWS[:9], tmp_path / "deleted")
    spark.sql(f"ALTER TABLE delta.`{deleted}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = true)")
    DeltaTable.forPath(spark, deleted).delete(F.col("id") == 3)
    assert "deletion vectors" in needs(spark, history.pipeline(deleted), lake)
    monkeypatch.setattr(delta_rs_extent, "MOST_ROWS", 599)
    assert needs(spark, history.pipeline(source), lake) == "more than 599 rows are read"


def test_a_dry_run_is_the_same_without_spark(spark: SparkSession, source: str, lake: Lake) -> None:
    pipeline = history.pipeline(source)
    with pytest.raises(NeedsSparkError, match="the pipeline has no ledger yet"):
        dry_run.foreseen_without_spark(pipeline, lake, Interval())
    named = history.pipeline(source, publish_to="main.readings")
    with pytest.raises(NeedsSparkError, match="the catalog of publish_to is checked"):
        dry_run.foreseen_without_spark(named, lake, Interval())
    with pytest.raises(InputError, match="--changed: cannot be combined"):
        dry_run.foreseen_without_spark(pipeline, lake, Interval(history.START, None), changed=True)
