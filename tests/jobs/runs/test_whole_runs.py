"""A run's steps: what they stage, what they publish, and that doing it again changes nothing."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import BlockedError, InputError
from spark_jobs.jobs.publish import publish as publishing
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline.published_tables import RESULT_TABLES
from spark_jobs.semantics import reference
from spark_jobs.tables import delta_log, ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import NothingPublishedError, read_published
from tests.support import history
from tests.support.runs import STRATEGIES, publish, published
from tests.support.whole_run import assert_published

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


def test_published_tables_are_what_the_reference_gives(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = history.pipeline(table)
    run_id = publish(spark, pipeline, lake, Interval())
    expected = reference.replay(history.events(), pipeline)
    tables = published(spark, lake)
    for name in RESULT_TABLES:
        expected_rows = sorted((sorted(row.items()) for row in getattr(expected, name)), key=str)
        assert tables[name] == expected_rows, name
    counts = ledger.find(spark, lake, run_id).counts  # type: ignore[union-attr]
    assert counts["rows_read"] == 3000
    assert counts["invalid"] == 3
    assert min(counts["late"], counts["too_late"], counts["filtered"]) > 0
    assert counts["rows_read"] == sum(counts[n] for n in ("invalid", "filtered", "on_time", "late", "too_late"))


class DiedError(Exception):
    """Stands for the death of a process."""


@pytest.mark.soak
@pytest.mark.parametrize(("first", "then"), [(3, 1), (2, 3)])
def test_second_cut_finishes_the_slices_of_the_first(
    spark: SparkSession, table: str, lake: Lake, first: int, then: int
) -> None:
    pipeline = history.pipeline(table)

    def dying(step: str, text: str) -> None:
        if text.startswith(f"slice 1 of {first} staged"):
            raise DiedError

    with pytest.raises(DiedError):
        Runner(spark, pipeline, lake, slices=first, progress=dying).run(Interval())
    messages: list[str] = []
    runner = Runner(spark, pipeline, lake, slices=then, progress=lambda _, text: messages.append(text))
    planned, _ = runner.plan(Interval())
    for step in ("replay", "audit", "publish"):
        assert runner.step(step, runner.find(planned.run.run_id)).state == "done"
    assert f"in {first} slices as an earlier attempt has begun, not in {then}" in messages
    assert_published(spark, lake, reference.replay(history.events(), pipeline))


@pytest.mark.soak
def test_slices_publish_what_one_pass_publishes(spark: SparkSession, table: str, lake: Lake, tmp_path: Path) -> None:
    publish(spark, history.pipeline(table), lake, Interval())
    sliced = Lake(str(tmp_path / "sliced"), "readings")
    publish(spark, history.pipeline(table), sliced, Interval(), slices=4)
    assert published(spark, sliced) == published(spark, lake)


def test_running_again_changes_nothing(spark: SparkSession, table: str, lake: Lake) -> None:
    run_id = publish(spark, history.pipeline(table), lake, Interval())
    versions = ledger.find(spark, lake, run_id).versions  # type: ignore[union-attr]
    runner = Runner(spark, history.pipeline(table), lake)
    planned, outcome = runner.plan(Interval())
    assert (planned.run.run_id, outcome.state) == (run_id, "unchanged")
    assert runner.step("replay", planned.run).state == "unchanged"
    assert publishing.publish(spark, lake, planned.run) == versions


@pytest.mark.soak
def test_a_range_replaces_only_its_windows(spark: SparkSession, table: str, lake: Lake) -> None:
    publish(spark, history.pipeline(table), lake, Interval())
    before = published(spark, lake)
    start = history.START + timedelta(hours=1)
    interval = Interval(start, start + timedelta(hours=1))
    lenient = history.pipeline(table, watermark__out_of_orderness="1 hour")
    differing = r"other settings \(watermark.out_of_orderness: 10 seconds -> 1 hour\)\. .* or give --restate"
    with pytest.raises(InputError, match=differing):
        publish(spark, lenient, lake, interval)
    publish(spark, lenient, lake, interval, restate=True)
    expected = reference.replay(history.events(), lenient)
    after = published(spark, lake)
    for name in ("panes", "window_results", "late_events", "watermarks"):
        inside = [r for r in map(dict, after[name]) if start <= r["window_start"] < start + timedelta(hours=1)]
        expected_rows = [r for r in getattr(expected, name) if start <= r["window_start"] < start + timedelta(hours=1)]
        assert sorted(map(str, (sorted(r.items()) for r in inside))) == sorted(
            map(str, (sorted(r.items()) for r in expected_rows))
        )
        other_rows = [r for r in before[name] if not start <= dict(r)["window_start"] < start + timedelta(hours=1)]
        assert [
            r for r in after[name] if not start <= dict(r)["window_start"] < start + timedelta(hours=1)
        ] == other_rows
    assert after["invalid_events"] == before["invalid_events"]


@pytest.mark.soak
def test_a_range_of_the_same_pipeline_changes_nothing(spark: SparkSession, table: str, lake: Lake) -> None:
    publish(spark, history.pipeline(table), lake, Interval())
    before = published(spark, lake)
    start = history.START + timedelta(minutes=50)
    publish(spark, history.pipeline(table), lake, Interval(start, start + timedelta(minutes=20)), slices=2)
    assert published(spark, lake) == before


def test_staged_rows_are_not_visible(spark: SparkSession, table: str, lake: Lake) -> None:
    runner = Runner(spark, history.pipeline(table), lake)
    planned, _ = runner.plan(Interval())
    runner.step("replay", planned.run)
    with pytest.raises(NothingPublishedError):
        read_published(spark, lake, "panes")
    assert not delta_log.exists(spark, lake.path("panes"))


def test_failed_check_blocks_publishing_with_the_reason(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = history.pipeline(table, quality__max_too_late_ratio="0.0001")
    runner = Runner(spark, pipeline, lake)
    with pytest.raises(BlockedError, match=r"too.late") as blocked:
        runner.run(Interval())
    assert not blocked.value.needs_approval
    assert not delta_log.exists(spark, lake.path("panes"))
    run = ledger.runs(spark, lake)[-1]
    assert run.state == "blocked"
    assert "checks failed" in str(run.error)
    with pytest.raises(InputError, match="only a run that passed its audit"):
        runner.step("publish", run)
    assert spark.read.format("delta").load(lake.path("quality")).where("not success").count() == 1


def write_times(lake: Lake) -> dict[str, int]:
    """When each file of rows was written."""
    return {str(path): path.stat().st_mtime_ns for path in Path(lake.home).rglob("*.parquet")}


@pytest.mark.soak
def test_approved_run_is_published_without_a_second_computation(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = history.pipeline(table, quality__max_too_late_ratio="0.0001", quality__on_failure="ask")
    runner = Runner(spark, pipeline, lake)
    with pytest.raises(BlockedError) as blocked:
        runner.run(Interval())
    assert blocked.value.needs_approval
    (run,) = ledger.runs(spark, lake)
    with pytest.raises(InputError, match="no reason"):
        runner.accept(run, " ")
    staged = write_times(lake)
    accepted = runner.accept(run, "ada: the outage of May")
    assert (accepted.state, accepted.accepted) == ("accepted", "ada: the outage of May")
    runner.step("publish", accepted)
    assert_published(spark, lake, reference.replay(history.events(), pipeline))
    assert staged.items() <= write_times(lake).items()
    report = runner.step("report", runner.find(run.run_id)).report
    assert "ada: the outage of May" in Path(str(report)).read_text(encoding="utf-8")
    # Once is enough, and what is not blocked needs nobody.
    assert runner.accept(runner.find(run.run_id), "again").accepted == "ada: the outage of May"
    planned, _ = runner.plan(Interval(history.START, history.START + timedelta(hours=1)))
    with pytest.raises(InputError, match="is planned; only a blocked run can be accepted"):
        runner.accept(planned.run, "ada: why not")


def test_a_whole_run_publishes_with_its_checks_and_report(spark: SparkSession, table: str, lake: Lake) -> None:
    outcomes = Runner(spark, history.pipeline(table), lake).run(Interval())
    assert [o.state for o in outcomes] == ["done"] * 5
    assert Path(str(outcomes[-1].report)).stat().st_size > 10_000
    quality = spark.read.format("delta").load(lake.path("quality"))
    assert quality.where("success").count() == quality.count() > 10
    again = Runner(spark, history.pipeline(table), lake).run(Interval())
    assert [o.state for o in again] == ["unchanged"] * 4 + ["done"]


@pytest.mark.soak
@pytest.mark.parametrize("name", STRATEGIES)
def test_slices_under_any_strategy_publish_what_the_reference_gives(
    spark: SparkSession, table: str, lake: Lake, name: str
) -> None:
    pipeline = history.pipeline(table, **STRATEGIES[name])
    publish(spark, pipeline, lake, Interval(), slices=3)
    expected = reference.replay(history.events(), pipeline)
    tables = published(spark, lake)
    for result in RESULT_TABLES:
        expected_rows = sorted((sorted(row.items()) for row in getattr(expected, result)), key=str)
        assert tables[result] == expected_rows, result


@pytest.mark.soak
def test_a_whole_run_with_silence_passes_its_checks(spark: SparkSession, table: str, lake: Lake) -> None:
    outcomes = Runner(spark, history.pipeline(table, **STRATEGIES["silence"]), lake).run(Interval())
    assert [o.state for o in outcomes] == ["done"] * 5


BAD_INPUT = {
    "a missing table": ({"source__table": "/nowhere/at/all"}, "source.table: .*/nowhere/at/all.*is not a Delta table"),
    "a missing column": (
        {"source__event_time": "hapened_at"},
        "source.event_time: .*hapened_at.*did you mean 'happened_at'",
    ),
    "a mistyped key": ({"windows__key": "[devise]"}, "windows.key: .*devise.*did you mean 'device'"),
    "a number without its unit": ({"source__event_time": "id"}, "source.event_time: 'id' is BIGINT.*unit: s"),
    "a condition that is none": ({"source__where": "reading + 1"}, "source.where: .* is of type .*, not a condition"),
    "marks that are no condition": (
        {"watermark": "{strategy: punctuated, when: reading + 1}"},
        "watermark.when: .* is of type .*, not a condition",
    ),
    "a mark without its unit": (
        {"watermark": "{strategy: punctuated, when: reading > 1, value: id}"},
        "watermark.value: 'id' is BIGINT.*unit: s",
    ),
    "an aggregate without its bracket": (
        {"windows__aggregates": "{x: 'avg(reading'}"},
        r"aggregates.x: \[PARSE_SYNTAX",
    ),
    "an aggregate that is none": (
        {"windows__aggregates": "{x: reading}"},
        r"aggregates.x: 'reading' is no aggregate: write one, such as max\(reading\)",
    ),
    "a pattern of weeks": (
        {"source__event_time": "{column: cast(happened_at as string), format: DD.MM.YYYY}"},
        r"event_time.format: 'DD.MM.YYYY' is no datetime pattern .*write yyyy for the year; .*write dd",
    ),
    "SQL that reaches out": ({"source__where": "(select true)"}, r"source.where: "),
    "an aggregate of a missing column": (
        {"windows__aggregates": "{x: sum(raeding)}"},
        "aggregates.x: .*raeding.*'reading'",
    ),
}


@pytest.mark.parametrize(("overrides", "message"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_one_clear_error(
    spark: SparkSession, table: str, lake: Lake, overrides: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Runner(spark, history.pipeline(table, **overrides), lake).plan(Interval())
    assert not Path(lake.home).exists()


def test_event_times_in_the_wrong_unit_are_refused(spark: SparkSession, table: str, lake: Lake) -> None:
    unit = {"source__event_time": "{column: unix_millis(happened_at), unit: s}"}
    runner = Runner(spark, history.pipeline(table, **unit), lake)
    planned, _ = runner.plan(Interval())
    with pytest.raises(InputError, match=r"source.event_time: .* in s, found 2,998 of .*year 5\d,\d{3}.*finer"):
        runner.step("replay", planned.run)
    assert ledger.runs(spark, lake)[-1].state == "failed"
    assert not delta_log.exists(spark, lake.path("panes"))


def test_a_cut_through_a_window_is_refused(spark: SparkSession, table: str, lake: Lake) -> None:
    with pytest.raises(InputError, match=r"--from: .*cuts a window in two; windows begin at .*23:00.* and .*23:10"):
        Runner(spark, history.pipeline(table), lake).plan(Interval(history.START + timedelta(minutes=65), None))
