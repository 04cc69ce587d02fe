"""The same pipeline over the same rows publishes the same bits, however the rows lie and whatever computes them.

Runs differ in the files of the source, the order of rows in them, the partitions of a shuffle, slices, increments and
the engine. All tables are compared bit by bit, and with the reference.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.published_tables import RESULT_TABLES
from spark_jobs.runtime.native_engine import COMET_ENABLED
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.support import history
from tests.support.doubles import FAMILIES, bits
from tests.support.engine import frame_of, rows_of
from tests.support.runs import publish

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.usefixtures("as_of_many_rows")]

ROWS = 1_500
#: How long these rows keep coming.
LASTING = timedelta(seconds=5 * ROWS)
#: Behind all arrivals.
END = history.START + timedelta(days=1)
AGGREGATES = {
    "readings": "count(*)",
    "total": "sum(reading)",
    "mean": "avg(reading)",
    "most": "max(reading)",
    "spread": "stddev(reading)",
    "var": "var_pop(reading)",
    "all_readings": "collect_list(reading)",
    "first_reading": "first(reading)",
    "last_reading": "last(reading)",
}
#: Not in the reference: what is compared between runs alone.
MORE = {
    "half": "percentile_approx(reading, 0.5)",
    "quarter": "percentile(reading, 0.25)",
    "ratio": "sum(reading) / count(*)",
    "slope": "regr_slope(reading, id)",
    "sites": "collect_set(site)",
    "best": "max_by(site, reading)",
}
WINDOWS: Mapping[str, Mapping[str, str]] = {
    "tumbling": {},
    "sliding": {"windows__kind": "sliding", "windows__slide": "4 minutes"},
    "session": {"windows__kind": "session", "windows__gap": "25 seconds", "windows__size": "null"},
    "retracting": {"windows__accumulation": "retracting"},
    "discarding": {"windows__accumulation": "discarding"},
    "continuous": {"windows__trigger": "{continuous: 3 minutes}"},
}


@dataclass(frozen=True)
class Way:
    """One way to run: the order of rows in files, the number of files, and how the run is computed."""

    seed: int = 0
    files: int = 1
    partitions: int = 2
    slices: int = 1
    increments: int = 1
    has_comet: bool = True


WAYS = {
    "as they arrived": Way(partitions=1),
    "shuffled into three files": Way(seed=1, files=3, partitions=3),
    "shuffled into twelve files": Way(seed=2, files=12, partitions=8),
    "in slices": Way(seed=3, files=3, slices=4),
    "by Spark alone": Way(seed=4, files=3, partitions=3, has_comet=False),
    "in increments": Way(increments=4),
}


def rows_of_family(family: str) -> list[dict[str, Any]]:
    """Return the small history, with readings of a family of doubles."""
    draw = random.Random(family)
    return [
        {**row, "reading": None if row["reading"] is None else FAMILIES[family](draw)} for row in history.events(ROWS)
    ]


def pipeline_of(table: str, aggregates: Mapping[str, str], **settings: str) -> Pipeline:
    """Return a pipeline over all rows with these aggregates."""
    closing = {"replay__end_of_input": "keep_open", "quality__max_too_late_ratio": "1", "source__where": "id >= 0"}
    texts = {"windows__aggregates": json.dumps(dict(aggregates))}
    return history.pipeline(table, **{**closing, **settings, **texts})


def land(spark: SparkSession, rows: list[dict[str, Any]], way: Way, folder: Path) -> str:
    """Write the rows in the way's order and files; return the table."""
    shuffled = random.Random(way.seed).sample(rows, len(rows)) if way.seed else rows
    for part in range(way.files):
        history.land(spark, shuffled[part :: way.files], folder)
    return str(folder)


@contextmanager
def computing(spark: SparkSession, way: Way) -> Iterator[None]:
    """Let Spark compute in the way's partitions, by its engine."""
    settings = {"spark.sql.shuffle.partitions": str(way.partitions)}
    if not way.has_comet:
        settings[COMET_ENABLED] = "false"
    before = {name: str(spark.conf.get(name, "false")) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def run(spark: SparkSession, pipeline: Pipeline, way: Way, lake: Lake, lasting: timedelta = LASTING) -> None:
    """Publish all rows that have arrived until `END`, in increments of arrival if the way has them."""
    for number in range(1, way.increments):
        until = history.START + number * lasting / way.increments
        publish(spark, pipeline, lake, Interval(), way.slices, arrived_to=until)
    publish(spark, pipeline, lake, Interval(), way.slices, arrived_to=END)


def tables(spark: SparkSession, lake: Lake) -> dict[str, list[Any]]:
    """Return the bits of all published rows, without the run that made them, in one order."""
    versions = ledger.published(spark, lake)[-1].versions
    return {name: in_bits(rows_of(read_published(spark, lake, name).drop("run_id"))) for name in versions}


def in_bits(rows: list[dict[str, Any]]) -> list[Any]:
    return sorted((tuple((name, bits(value)) for name, value in sorted(row.items())) for row in rows), key=str)


def published(spark: SparkSession, pipeline: Pipeline, way: Way, lake: Lake) -> dict[str, list[Any]]:
    with computing(spark, way):
        run(spark, pipeline, way, lake)
    return tables(spark, lake)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("windows", WINDOWS)
def test_no_way_of_running_changes_a_bit(spark: SparkSession, tmp_path: Path, windows: str, family: str) -> None:
    rows, settings = rows_of_family(family), dict(WINDOWS[windows])
    by_way: dict[str, dict[str, list[Any]]] = {}
    for name, way in WAYS.items():
        table = land(spark, rows, way, tmp_path / name / "events")
        pipeline = pipeline_of(table, {**AGGREGATES, **MORE}, **settings)
        by_way[name] = published(spark, pipeline, way, Lake(str(tmp_path / name / "lake"), "readings"))
    first = by_way.pop("as they arrived")
    assert min(len(first[name]) for name in ("panes", "window_results")) > 0
    for name, of_way in by_way.items():
        assert {table: of_way[table] for table in RESULT_TABLES} == {t: first[t] for t in RESULT_TABLES}, name


@pytest.mark.parametrize("floats", ["exact", "arrival_order"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("windows", WINDOWS)
def test_the_bits_are_those_of_the_reference(
    spark: SparkSession, tmp_path: Path, windows: str, family: str, floats: str
) -> None:
    rows, settings = rows_of_family(family), {**WINDOWS[windows], "windows__floats": floats}
    way = Way(seed=5, files=3, partitions=3)
    pipeline = pipeline_of(land(spark, rows, way, tmp_path / "events"), AGGREGATES, **settings)
    tables_of_run = published(spark, pipeline, way, Lake(str(tmp_path / "lake"), "readings"))
    expected = reference.replay(rows, pipeline, until=END)
    for name in ("panes", "window_results", "late_events"):
        assert tables_of_run[name] == in_bits(getattr(expected, name)), name


def test_sums_that_are_continued_are_exact(spark: SparkSession, tmp_path: Path) -> None:
    """Late panes continue sums from the parts that on-time panes keep."""
    rows, way = rows_of_family("prices"), Way(seed=6, files=2)
    aggregates = {name: AGGREGATES[name] for name in ("readings", "total", "mean", "most")}
    for windows in ("tumbling", "sliding", "continuous"):
        table = land(spark, rows, way, tmp_path / windows / "events")
        pipeline = pipeline_of(table, aggregates, **WINDOWS[windows])
        tables_of_run = published(spark, pipeline, way, Lake(str(tmp_path / windows / "lake"), "readings"))
        expected = reference.replay(rows, pipeline, until=END)
        assert tables_of_run["panes"] == in_bits(expected.panes)
        assert sum(row["timing"] == "late" for row in expected.panes) > 20


def test_complete_results_are_exact(spark: SparkSession, tmp_path: Path) -> None:
    rows, way = rows_of_family("prices"), Way(seed=7, files=3)
    for windows in ("tumbling", "sliding", "session"):
        table = land(spark, rows, way, tmp_path / windows / "events")
        pipeline = pipeline_of(table, AGGREGATES, replay__mode="complete", **WINDOWS[windows])
        tables_of_run = published(spark, pipeline, way, Lake(str(tmp_path / windows / "lake"), "readings"))
        own = ("total", "mean", "spread", "all_readings", "window_start", "device")
        complete = reference.replay(rows, pipeline, until=END).complete_results
        expected = [{name: row[name] for name in own} for row in complete]
        assert len(tables_of_run["complete_results"]) == len(expected) > 0
        results = rows_of(read_published(spark, Lake(str(tmp_path / windows / "lake"), "readings"), "complete_results"))
        assert in_bits([{name: row[name] for name in own} for row in results]) == in_bits(expected)


MILLION = 1_000_000
LASTING_OF_MILLION = timedelta(milliseconds=3 * MILLION)


def million_rows() -> list[dict[str, Any]]:
    """Return a million random doubles, in panes of one to a hundred thousand rows."""
    draw = random.Random(23)
    keys = ["big", *(f"k{n}" for n in range(3_000))]
    return [
        {
            "id": i,
            "site": "north",
            "device": draw.choice(keys) if draw.random() < 0.4 else "big",
            "happened_at": history.START + timedelta(milliseconds=3 * i + draw.randrange(9_000)),
            "stored_at": history.START + timedelta(milliseconds=3 * i + 9_000),
            "reading": FAMILIES["small"](draw),
        }
        for i in range(MILLION)
    ]


def land_frame(rows: DataFrame, way: Way, table: Path) -> str:
    """Write a frame in the way's order and number of files; return the table."""
    order = F.xxhash64("id", F.lit(way.seed)) if way.seed else F.col("id")
    parts = rows.repartitionByRange(way.files, order).sortWithinPartitions(order)
    parts.write.format("delta").save(str(table))
    assert len(list(table.glob("*.parquet"))) == way.files
    return str(table)


def test_no_way_of_running_changes_a_bit_of_a_million_doubles(spark: SparkSession, tmp_path: Path) -> None:
    rows = million_rows()
    frame_of(spark, rows, history.SCHEMA).write.parquet(str(tmp_path / "rows"))
    frame = spark.read.parquet(str(tmp_path / "rows"))
    of_reference = {name: AGGREGATES[name] for name in ("readings", "total", "mean", "most", "first_reading")}
    aggregates = {**of_reference, **{name: {**AGGREGATES, **MORE}[name] for name in ("spread", "quarter", "half")}}
    by_way: dict[str, list[Any]] = {}
    for name, way in WAYS.items():
        table = land_frame(frame, way, tmp_path / name / "events")
        pipeline, lake = pipeline_of(table, aggregates), Lake(str(tmp_path / name / "lake"), "readings")
        with computing(spark, way):
            run(spark, pipeline, way, lake, LASTING_OF_MILLION)
        by_way[name] = rows_of(read_published(spark, lake, "window_results").drop("run_id"))
    first, *later = map(in_bits, by_way.values())
    for name, other in zip([*by_way][1:], later, strict=True):
        assert other == first, name
    pipeline = pipeline_of("events", of_reference)
    expected = in_bits(reference.replay(rows, pipeline, until=END).window_results)
    compared = {name for name, _ in expected[0]}
    results = [{name: row[name] for name in compared} for row in by_way["as they arrived"]]
    assert in_bits(results) == expected
    assert max(row["readings"] for row in results) > 100_000
    assert len(expected) > 10_000


def test_a_million_doubles_of_all_magnitudes_have_one_sum(spark: SparkSession, tmp_path: Path) -> None:
    """A million random doubles of any bits, in groups of one to a hundred thousand rows."""
    draw = random.Random(23)
    keys = ["big", *(f"k{n}" for n in range(3_000))]
    groups = [draw.choice(keys) if draw.random() < 0.9 else "big" for _ in range(1_000_000)]
    rows = [
        {
            "id": i,
            "site": "north",
            "device": group,
            "happened_at": history.START + timedelta(milliseconds=i),
            "stored_at": history.START + timedelta(milliseconds=i + 1),
            "reading": FAMILIES["any bits"](draw),
        }
        for i, group in enumerate(groups)
    ]
    frame_of(spark, rows, history.SCHEMA).repartition(5).write.format("delta").save(str(tmp_path / "events"))
    aggregates = {name: AGGREGATES[name] for name in ("readings", "total", "mean")}
    pipeline = pipeline_of(str(tmp_path / "events"), aggregates, windows__size="1 day", replay__end_of_input="close")
    lake = Lake(str(tmp_path / "lake"), "readings")
    with computing(spark, Way(partitions=8)):
        publish(spark, pipeline, lake, Interval())
    expected = reference.replay(rows, pipeline)
    assert len(expected.window_results) == len(set(groups))
    assert tables(spark, lake)["window_results"] == in_bits(expected.window_results)
