"""Runs of joins check, stage, audit and publish the results of the reference, whole and over parts of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.estimate import extent
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.replay import UnsupportedPipelineError, replay
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger, staging
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.support import history
from tests.support.engine import in_order
from tests.support.join_histories import ROWS, land_tables, orders, payments, published, readings, split
from tests.support.joined_tables import JoinedTables
from tests.support.result_columns import assert_derives_the_published_columns
from tests.support.whole_run import run_steps

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return land_tables(spark, tmp_path_factory.mktemp("joined"))


def two(tables: Mapping[str, str], **rest: Any) -> Pipeline:
    """Orders of one site joined with payments, whose table calls its columns otherwise."""
    mapping: dict[str, Any] = {
        "name": "readings",
        "sources": [
            {
                "name": "orders",
                "table": tables["orders"],
                "event_time": "happened_at",
                "arrival_time": "stored_at",
                "tie_break": ["id"],
                "where": "reading is null or reading <= 40",
                "watermark": {"out_of_orderness": "10 seconds"},
            },
            {
                "name": "payments",
                "table": tables["payments"],
                "event_time": "paid_at",
                "arrival_time": "stored_at",
                "tie_break": ["id"],
                "watermark": {"out_of_orderness": "4 minutes"},
            },
        ],
        "watermark": {"emit": {"every": "30 seconds"}},
        "join": {"key": {"orders": ["device"], "payments": ["gadget"]}, "between": ["-30 seconds", "1 minute"]},
        "quality": {
            "max_too_late_ratio": 0.5,
            "expectations": [{"type": "expect_rows_to_satisfy", "condition": "orders.device <=> payments.gadget"}],
        },
    }
    return from_mapping({**mapping, **rest})


KEYED = {"join": {"key": {"orders": ["device"], "payments": ["gadget"]}}}


def as_of(tables: Mapping[str, str], kind: str, **rest: Any) -> Pipeline:
    """Orders of one site, each with the payment of its device that was the newest at its time."""
    return two(tables, join={**KEYED["join"], "as_of": kind}, quality={"max_too_late_ratio": 0.5}, **rest)


def by_window(tables: Mapping[str, str], **windows: Any) -> Pipeline:
    grid = {} if windows.get("kind") == "session" else {"size": "3 minutes", "offset": "30 seconds"}
    return two(tables, **KEYED, windows={**grid, "allowed_lateness": "10 minutes", **windows})


START = history.START.replace(minute=30, second=30)
HALF_AN_HOUR = Interval(START, START + timedelta(minutes=30))


def assert_publishes(spark: SparkSession, pipeline: Pipeline, lake: Lake, expected: JoinedTables) -> ledger.Run:
    """Run a pipeline whole: what is published and counted is the reference's answer."""
    outcomes = run_steps(spark, pipeline, lake, slices=3)
    assert [outcome.state for outcome in outcomes] == ["done"] * 4
    tables = published(spark, lake)
    for name, rows in expected.tables():
        assert tables[name] == in_order(rows), name
    run = ledger.find(spark, lake, outcomes[0].run_id)
    assert run is not None
    assert {name: run.counts.get(name) for name in expected.counts} == dict(expected.counts)
    assert_derives_the_published_columns(spark, pipeline, lake, run)
    return run


def assert_stays(spark: SparkSession, pipeline: Pipeline, lake: Lake) -> None:
    """Run a pipeline again, then over a part of time: what is published stays the same."""
    before = published(spark, lake)
    assert [outcome.state for outcome in run_steps(spark, pipeline, lake, slices=3)] == ["unchanged"] * 4
    part = run_steps(spark, pipeline, lake, HALF_AN_HOUR, slices=3)
    assert [outcome.state for outcome in part] == ["done"] * 4
    assert 0 < part[1].counts["pairs"] < len(before["pairs"])
    assert 0 < part[1].counts["too_late"] < len(before["late_events"])
    assert published(spark, lake) == before
    replaced = read_published(spark, lake, "pairs").where("run_id = '" + part[0].run_id + "'")
    assert replaced.count() == part[1].counts["pairs"]


@pytest.mark.soak
def test_two_tables_joined_by_interval(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    pipeline = two(tables)
    run = assert_publishes(spark, pipeline, lake, JoinedTables(pipeline, orders(), payments()))
    assert min(run.counts[n] for n in ("pairs", "too_late_of_orders", "too_late_of_payments", "filtered_of_orders")) > 0
    assert run.pinned == {"orders": 0, "payments": 0}
    page = Path(str(Runner(spark, pipeline, lake).step("report", run).report)).read_text()
    for text in ("Rows of orders and payments of one key that lie -30 seconds to 1 minute apart.", "Rows by input"):
        assert text in page


@pytest.mark.soak
def test_a_part_of_time_replaces_the_same_pairs(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    pipeline = two(tables)
    assert_publishes(spark, pipeline, lake, JoinedTables(pipeline, orders(), payments()))
    assert_stays(spark, pipeline, lake)


def test_two_tables_joined_as_of_a_time(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    pipeline = as_of(tables, "left_outer")
    expected = JoinedTables(pipeline, orders(), payments())
    run = assert_publishes(spark, pipeline, lake, expected)
    assert {pair["payments"] is None for pair in expected.pairs} == {True, False}
    assert {row["verdict"] for row in expected.late_events} == {"joined", "unmatched", "kept"}
    assert run.counts["pairs"] == run.counts["on_time_of_orders"] + run.counts["too_late_of_orders"]
    page = Path(str(Runner(spark, pipeline, lake).step("report", run).report)).read_text()
    for text in (
        "Rows of orders with the version of payments at their event time, or null without one.",
        "Rows by input",
    ):
        assert text in page


@pytest.mark.soak
@pytest.mark.parametrize("end", ["close", "keep_open"])
@pytest.mark.parametrize("kind", ["inner", "left_outer"])
def test_as_of_joins_of_each_kind(spark: SparkSession, tables: dict[str, str], lake: Lake, kind: str, end: str) -> None:
    pipeline = as_of(tables, kind, replay={"end_of_input": end})
    assert_publishes(spark, pipeline, lake, JoinedTables(pipeline, orders(), payments()))
    assert_stays(spark, pipeline, lake)


@pytest.mark.soak
def test_one_table_split_by_a_condition_and_joined_as_of_a_time(
    spark: SparkSession, tables: dict[str, str], lake: Lake
) -> None:
    pipeline = split(tables, join={"key": ["device"], "second_when": "site = 'east'", "as_of": "left_outer"})
    expected = JoinedTables(pipeline, readings(), is_second=lambda row: row["site"] == "east")
    run = assert_publishes(spark, pipeline, lake, expected)
    assert min(run.counts[n] for n in ("pairs", "too_late_of_left", "too_late_of_right")) > 0


@pytest.mark.soak
def test_all_rows_have_one_version_where_the_key_is_empty(
    spark: SparkSession, tables: dict[str, str], lake: Lake
) -> None:
    pipeline = two(tables, join={"key": [], "as_of": "inner"}, quality={})
    assert_publishes(spark, pipeline, lake, JoinedTables(pipeline, orders(), payments()))


@pytest.mark.soak
def test_two_tables_joined_by_window(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    pipeline = by_window(tables)
    expected = JoinedTables(pipeline, orders(), payments())
    run = assert_publishes(spark, pipeline, lake, expected)
    assert {pair["timing"] for pair in expected.pairs} == {"on_time", "late"}
    assert min(run.counts[n] for n in ("late", "too_late_of_orders", "too_late_of_payments", "filtered_of_orders")) > 0


OVERLAPPING = {"kind": "sliding", "slide": "1 minute"}
WITH_GAPS = {"kind": "sliding", "slide": "5 minutes"}
SESSIONS = {"kind": "session", "gap": "25 seconds"}


@pytest.mark.soak
@pytest.mark.parametrize(
    "windows",
    [
        {},
        {"accumulation": "discarding"},
        {"late_data": "update"},
        {"late_data": "drop"},
        OVERLAPPING,
        {**OVERLAPPING, "accumulation": "discarding"},
        WITH_GAPS,
        {**WITH_GAPS, "late_data": "drop"},
        SESSIONS,
        {**SESSIONS, "accumulation": "discarding"},
        {**SESSIONS, "late_data": "update"},
        {**SESSIONS, "late_data": "drop"},
    ],
    ids=str,
)
def test_window_joins_of_each_kind(
    spark: SparkSession, tables: dict[str, str], lake: Lake, windows: dict[str, str]
) -> None:
    pipeline = by_window(tables, **windows)
    expected = JoinedTables(pipeline, orders(), payments())
    if windows.get("late_data") == "drop":
        expected.late_events.clear()
    run = assert_publishes(spark, pipeline, lake, expected)
    assert run.counts["pairs"] > 0
    assert run.counts["late"] > 0
    assert (run.counts["unassigned"] > 0) is (windows.get("slide") == "5 minutes")
    assert Path(str(Runner(spark, pipeline, lake).step("report", run).report)).exists()
    if windows.get("late_data") is None:
        assert_stays(spark, pipeline, lake)


@pytest.mark.soak
def test_sessions_of_both_inputs(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    pipeline = by_window(tables, **SESSIONS)
    run = assert_publishes(spark, pipeline, lake, JoinedTables(pipeline, orders(), payments()))
    assert min(run.counts[n] for n in ("pairs", "late", "too_late_of_orders", "too_late_of_payments")) > 0
    assert_stays(spark, pipeline, lake)


@pytest.mark.soak
def test_an_input_that_falls_idle_holds_no_window_back(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    always = by_window(tables)
    marks = [replace(united, watermark=replace(united.watermark, idle_timeout_ms=9000)) for united in always.sources]
    ticks = replace(always.watermark, emit=replace(always.watermark.emit, interval_ms=3000))
    patient, idle = replace(always, watermark=ticks), replace(always, watermark=ticks, sources=tuple(marks))
    expected = JoinedTables(idle, orders(), payments())
    assert expected.counts["too_late"] > JoinedTables(patient, orders(), payments()).counts["too_late"]
    assert_publishes(spark, idle, lake, expected)


@pytest.mark.soak
def test_one_table_split_by_a_condition(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    pipeline = split(tables)
    expected = JoinedTables(pipeline, readings(), is_second=lambda row: row["site"] == "east")
    run = assert_publishes(spark, pipeline, lake, expected)
    assert min(run.counts[n] for n in ("pairs", "too_late_of_left", "too_late_of_right", "invalid_of_left")) > 0
    assert_stays(spark, pipeline, lake)


@pytest.mark.soak
def test_one_table_split_by_a_condition_and_joined_by_window(
    spark: SparkSession, tables: dict[str, str], lake: Lake
) -> None:
    joined = {"key": ["device"], "names": ["other", "east"], "second_when": "site = 'east'"}
    pipeline = split(tables, join=joined, windows={"size": "3 minutes", "allowed_lateness": "10 minutes"})
    expected = JoinedTables(pipeline, readings(), is_second=lambda row: row["site"] == "east")
    run = assert_publishes(spark, pipeline, lake, expected)
    assert min(run.counts[n] for n in ("pairs", "late", "too_late_of_east")) > 0
    page = Path(str(Runner(spark, pipeline, lake).step("report", run).report)).read_text()
    assert "Rows of other and east of one key that share a window." in page


@pytest.mark.soak
def test_all_rows_join_where_the_key_is_empty(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    pipeline = two(tables, join={"key": [], "between": ["0s", "5 seconds"]}, quality={})
    assert_publishes(spark, pipeline, lake, JoinedTables(pipeline, orders(), payments()))


@pytest.mark.soak
def test_no_row_is_late_in_event_time_order(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    pipeline = two(tables, replay={"order": "event_time"})
    run = assert_publishes(spark, pipeline, lake, JoinedTables(pipeline, orders(), payments()))
    assert run.counts["too_late"] == 0 < run.counts["pairs"]
    Runner(spark, pipeline, lake).step("report", run)


@pytest.mark.soak
def test_windows_that_stay_open_have_no_pairs_yet(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    pipeline = two(
        tables,
        replay={"end_of_input": "keep_open"},
        **KEYED,
        windows={"size": "3 minutes"},
    )
    expected = JoinedTables(pipeline, orders(), payments())
    closed = JoinedTables(two(tables, **KEYED, windows={"size": "3 minutes"}), orders(), payments())
    assert len(expected.pairs) < len(closed.pairs)
    assert_publishes(spark, pipeline, lake, expected)


@pytest.mark.soak
def test_a_step_that_broke_off_is_finished_by_the_same_command(
    spark: SparkSession, tables: dict[str, str], lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = two(tables)
    stage = staging.stage

    def breaks(rows: DataFrame, lake: Lake, run_id: str, table: str, part: str) -> None:
        stage(rows, lake, run_id, table, part)
        if table == "pairs":
            raise OSError("the machine went away")

    with monkeypatch.context() as broken:
        broken.setattr(staging, "stage", breaks)
        with pytest.raises(OSError, match="went away"):
            run_steps(spark, pipeline, lake, slices=3)
    outcomes = run_steps(spark, pipeline, lake, slices=3)
    assert [outcome.state for outcome in outcomes] == ["unchanged", "done", "done", "done"]
    for name, rows in JoinedTables(pipeline, orders(), payments()).tables():
        assert published(spark, lake)[name] == in_order(rows), name


def test_error_of_a_class_has_no_traceback(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    custom = {"strategy": "custom", "class": "tests.custom_watermarks:Marked"}
    runner = Runner(spark, split(tables, watermark=custom), lake)
    planned, _ = runner.plan(Interval())
    with pytest.raises(InputError, match=r"^watermark\.class: .*Marked' failed in on_event: KeyError: 'mark'$"):
        runner.step("replay", planned.run)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"key": {"orders": ["device", "devise"], "payments": ["gadget", "id"]}},
            r"join.key: .*orders has no column 'devise'; did you mean 'device'\?",
        ),
        (
            {"key": {"orders": ["id"], "payments": ["gadget"]}},
            r"join.key: cannot compare 'id' of orders \(bigint\) with 'gadget' of payments \(string\)",
        ),
    ],
)
def test_keys_that_cannot_be_compared_are_refused(
    spark: SparkSession, tables: dict[str, str], lake: Lake, change: dict[str, Any], message: str
) -> None:
    pipeline = two(tables, join={"between": ["0s", "1s"], **change})
    with pytest.raises(InputError, match=message):
        Runner(spark, pipeline, lake).plan(Interval())


def test_a_condition_that_is_none_is_refused(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    for condition, message in (
        ("site", "join.second_when: 'site' is of type string, not a condition"),
        ("town = 'x'", "join.second_when: the source has no column 'town'"),
    ):
        pipeline = split(tables, join={"key": [], "between": ["0s", "1s"], "second_when": condition})
        with pytest.raises(InputError, match=message):
            Runner(spark, pipeline, lake).plan(Interval())


def test_unknown_class_is_refused(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    pipeline = split(tables, watermark={"strategy": "custom", "class": "tests.custom_watermarks:Nothing"})
    with pytest.raises(InputError, match=r"watermark\.class: found no .* defines Bounded, Marked, Moody"):
        Runner(spark, pipeline, lake).plan(Interval())


def test_a_bound_that_cuts_a_window_or_a_millisecond_is_refused(
    spark: SparkSession, tables: dict[str, str], lake: Lake
) -> None:
    runner = Runner(spark, by_window(tables), lake)
    with pytest.raises(InputError, match=r"cuts a window in two; windows begin at .*22:30:30.* and .*22:33:30"):
        runner.plan(Interval(START + timedelta(minutes=1)))
    with pytest.raises(InputError, match="cuts a millisecond in two"):
        Runner(spark, two(tables), lake).plan(Interval(START + timedelta(microseconds=1)))


def test_plan_counts_rows_and_windows(spark: SparkSession, tables: dict[str, str], lake: Lake) -> None:
    for pipeline, first in ((two(tables), False), (by_window(tables), True)):
        planned, _ = Runner(spark, pipeline, lake).plan(Interval())
        planned_extent = extent(spark, pipeline, lake, planned)
        assert (planned_extent.source_rows, planned_extent.source_files) == (ROWS, 2)
        assert (planned_extent.first_window is not None) is first


def test_the_command_takes_a_join(tables: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "joined.yaml"
    file.write_text(COMMAND.format(table=tables["readings"]))

    def answer(*arguments: str) -> str:
        result = CliRunner().invoke(app, [*arguments, str(file)], env={"TIDEMARK_LAKE": str(tmp_path / "lake")})
        assert result.exit_code == 0, result.output
        return " ".join(result.stdout.split())

    assert "valid, and fits version 0 of" in answer("check")
    assert "reads 1,500 rows" in answer("plan")
    assert "by device, right 0s to 40 seconds after left; bound 2 minutes no run yet" in answer("status")


COMMAND = """
name: readings
source: {{table: {table}, event_time: happened_at, arrival_time: stored_at}}
watermark: {{out_of_orderness: 2 minutes}}
join: {{key: [device], between: [0s, 40 seconds], second_when: "site = 'east'"}}
"""


def test_a_join_is_no_replay_of_windows(spark: SparkSession, tables: dict[str, str]) -> None:
    pipeline = split(tables)
    with pytest.raises(UnsupportedPipelineError, match="defines a join, not windows"):
        replay(spark.read.format("delta").load(tables["readings"]), pipeline)
    with pytest.raises(ValueError, match="found a join, expected windows"):
        reference.replay([], pipeline)
