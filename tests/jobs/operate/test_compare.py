"""Comparing the published results of two runs: what is the same, changed, added and gone, to the window."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.operate.compare import Change, compare
from spark_jobs.tables import ledger
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run, Step
from spark_jobs.tables.published import create_views
from tests.faults.drivers import PIPELINE
from tests.support import history
from tests.support.engine import frame_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

START, WINDOW = history.START, timedelta(minutes=10)
FIRST, SECOND, THIRD = (f"r{n * 15}" for n in "123")
RESULTS = pa.schema(
    [
        ("device", pa.string()),
        ("window_start", pa.timestamp("us", tz="UTC")),
        ("readings", pa.int64()),
        ("mean", pa.float64()),
        ("row_count", pa.int64()),
        ("last_fired_at", pa.timestamp("us", tz="UTC")),
    ]
)


def result(device: str | None, window: int, readings: int, mean: float | None, fired: int = 0) -> dict[str, Any]:
    start = START + window * WINDOW
    columns = {"device": device, "window_start": start, "readings": readings, "mean": mean, "row_count": readings}
    return {**columns, "last_fired_at": start + timedelta(minutes=fired)}


BEFORE = [
    result("a", 0, 5, 1.0),
    result("a", 1, 5, 1.0),
    result("a", 2, 100, 2.0),
    result(None, 0, 3, None),
    result(None, 1, 3, None),
    result("b", 0, 7, 7.0),
]
AFTER = [
    result("a", 0, 5, 1.0, fired=3),
    result("a", 1, 5, 1.5),
    result("a", 2, 101, 2.0),
    result(None, 0, 3, None),
    result(None, 1, 4, 0.0),
    result("c", 3, 1, 0.0),
]


@pytest.fixture(name="lake", scope="module")
def _lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two runs, each with a version of the results, and a third that changed none."""
    lake = Lake(str(tmp_path_factory.mktemp("lake")), "readings")
    for rows in (BEFORE, AFTER):
        frame_of(spark, rows, RESULTS).write.format("delta").mode("overwrite").save(lake.path("window_results"))
    for number, (name, version) in enumerate(((FIRST, 0), (SECOND, 1), (THIRD, 1))):
        run = Run(name, "readings", "f", "full", 0, None, None)
        at = START + timedelta(days=number)
        versions = {"window_results": version, "late_events": number}
        ledger.record(spark, lake, run, Step("publish", "done", at, at, versions=versions))
    return lake


def test_results_are_same_changed_added_or_gone(spark: SparkSession, lake: Lake) -> None:
    comparison = compare(spark, history.pipeline("unused"), lake, FIRST, SECOND)
    assert (comparison.same, comparison.changed, comparison.added, comparison.gone) == (2, 3, 1, 1)
    assert comparison.values == {"readings": 2, "mean": 2, "row_count": 2}
    assert (comparison.first_window, comparison.last_window) == (START, START + 3 * WINDOW)
    removed, new, by_a_third, by_a_quarter, by_a_hundredth = comparison.largest
    b = {"readings": 7, "mean": 7.0, "row_count": 7}
    assert removed == Change({"device": "b"}, START, b, None)
    assert (new.key, new.before) == ({"device": "c"}, None)
    assert (by_a_third.key, by_a_third.window_start) == ({"device": "a"}, START + WINDOW)
    assert by_a_quarter.before == {"readings": 3, "mean": None, "row_count": 3}
    assert by_a_quarter.after == {"readings": 4, "mean": 0.0, "row_count": 4}
    assert by_a_hundredth.window_start == START + 2 * WINDOW
    assert len(compare(spark, history.pipeline("unused"), lake, FIRST, SECOND, largest=2).largest) == 2


@pytest.mark.soak
def test_values_without_an_equality_are_compared(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"), "readings")
    columns = {
        "a_map": "map('k', window_start)",
        "a_variant": "parse_json('[1, null]')",
        "a_struct": "struct(window_start AS at)",
        "moved": "map('k', window_start + make_interval(0, 0, 0, 0, 0, 0, {number} * 0.000001))",
        "other": "parse_json('[{number}]')",
    }
    for number, name in enumerate((FIRST, SECOND)):
        sql = {column: F.expr(text.format(number=number)) for column, text in columns.items()}
        results = frame_of(spark, BEFORE[:2], RESULTS).withColumns(sql)
        results.write.format("delta").mode("overwrite").save(lake.path("window_results"))
        run, at = Run(name, "readings", "f", "full", 0, None, None), START + timedelta(days=number)
        ledger.record(
            spark, lake, run, Step("publish", "done", at, at, versions={"window_results": number, "late_events": 0})
        )
    comparison = compare(spark, history.pipeline("unused"), lake)
    assert (comparison.same, comparison.changed) == (0, 2)
    assert {name: count for name, count in comparison.values.items() if count} == {"moved": 2, "other": 2}
    first = min(comparison.largest, key=lambda change: change.window_start)
    assert first.before is not None
    values = {name: first.before[name] for name in ("a_map", "a_variant", "a_struct")}
    assert values == {"a_map": {"k": START}, "a_variant": [1, None], "a_struct": {"at": START}}


def test_without_names_the_last_two_are_compared(spark: SparkSession, lake: Lake) -> None:
    pipeline = history.pipeline("unused")
    comparison = compare(spark, pipeline, lake)
    assert (comparison.before, comparison.after, comparison.changed + comparison.added + comparison.gone) == (
        SECOND,
        THIRD,
        0,
    )
    comparison = compare(spark, pipeline, lake, after=SECOND)
    assert (comparison.before, comparison.after, comparison.changed) == (FIRST, SECOND, 3)
    with pytest.raises(InputError, match=f"no run was published before {FIRST}"):
        compare(spark, pipeline, lake, after=FIRST)
    with pytest.raises(InputError, match=f"--before: r0 is not published. Published runs: {FIRST}, {SECOND}"):
        compare(spark, pipeline, lake, before="r0")
    with pytest.raises(InputError, match="have no column site"):
        compare(spark, history.pipeline("unused", windows__key="[site]"), lake)
    with pytest.raises(InputError, match="two published runs are needed, found 0"):
        compare(spark, pipeline, Lake(lake.root, "other"))


@pytest.mark.soak
def test_views_show_the_tables_of_one_run(spark: SparkSession, lake: Lake) -> None:
    frame_of(spark, BEFORE[:1], RESULTS).write.format("delta").mode("append").save(lake.path("late_events"))
    for _ in range(2):
        frame_of(spark, BEFORE[:1], RESULTS).write.format("delta").mode("append").save(lake.path("late_events"))
    assert sorted(create_views(spark, lake)) == ["late_events", "window_results"]
    assert sorted(create_views(spark, lake, run_id=FIRST, prefix="first_")) == [
        "first_late_events",
        "first_window_results",
    ]
    query = "SELECT sum(readings) FROM {}window_results UNION ALL SELECT count(*) FROM {}late_events"
    assert [row[0] for row in spark.sql(query.format("", "")).collect()] == [sum(r["readings"] for r in AFTER), 3]
    assert [row[0] for row in spark.sql(query.format(*["first_"] * 2)).collect()] == [123, 1]


def test_the_command_prints_what_differs(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_LAKE", lake.root)
    file = tmp_path / "readings.yaml"
    file.write_text(PIPELINE.format(table="unused"))
    arguments = ["compare", str(file), "--before", FIRST]
    printed = CliRunner().invoke(app, arguments)
    assert printed.exit_code == 0, printed.output
    for line in ("readings: differs in 2", "device b: gone, readings 7", "device a: mean 1 -> 1.5"):
        assert line in printed.output
    comparison = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert (comparison["changed"], len(comparison["largest"])) == (3, 5)
