"""A run's tables reduced to the figures of its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.report import report, run_facts
from spark_jobs.jobs.runs.runner import Runner
from spark_jobs.pipeline.model import Accumulation, Aggregate, Pipeline, Strategy, UnitedSource, Watermark
from spark_jobs.report import reduced, render, results_over_time
from spark_jobs.report.data import Combined, Completeness, LateMark, ReportData, TooLateKey, TooLateWindow
from spark_jobs.semantics.rows import carried_columns
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run, Step
from tests.support import generated_run, history

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

LAKE = Lake("/lake", "departures")
RUN = Run("r1", "departures", "f" * 16, "full", 0, None, None)

ROWS = [("row_count", Combined.SUM)]


def ms(seconds: float) -> int:
    return round(generated_run.at(seconds).timestamp() * 1000)


def collected(
    spark: SparkSession, tables: Mapping[str, DataFrame], pipeline: Pipeline = generated_run.PIPELINE, run: Run = RUN
) -> ReportData:
    return report.collect(spark, pipeline, LAKE, run, tables, [])


@pytest.fixture(name="drawn", scope="module")
def _drawn(spark: SparkSession) -> ReportData:
    """The run drawn by hand, reduced."""
    return collected(spark, generated_run.frames(spark, generated_run.CORRECT))


def test_the_line_holds_the_emissions_that_fired_windows_and_not_the_end_of_the_input(drawn: ReportData) -> None:
    assert drawn.watermark.fires_at_ms == (ms(12), ms(22))
    assert drawn.watermark.watermark_ms == (ms(10.999), ms(20.5))
    assert (drawn.watermark.firings, drawn.watermark.at_end, drawn.watermark.still_open) == (2, 1, 0)


def test_a_late_pane_is_a_late_row_and_rows_at_one_place_share_a_mark(drawn: ReportData) -> None:
    assert sorted(drawn.late.sample, key=lambda m: m.arrived_ms) == [
        LateMark(ms(13), ms(0), ms(10), ms(10.999), 2),
        LateMark(ms(14), ms(0), ms(10), ms(12), 1),
    ]
    assert (drawn.late.rows, drawn.late.marks) == (3, 2)
    assert (drawn.too_late.rows, drawn.too_late.marks) == (2, 2)


def test_a_row_that_arrived_at_no_known_time_is_counted_and_not_drawn(spark: SparkSession) -> None:
    rows = {**generated_run.CORRECT, "late_events": [dict(row) for row in generated_run.CORRECT["late_events"]]}
    rows["late_events"][0]["arrival_time"] = None
    too_late = collected(spark, generated_run.frames(spark, rows)).too_late
    assert (too_late.rows, [mark.arrived_ms for mark in too_late.sample]) == (2, [ms(21)])


def test_lateness_is_how_far_the_watermark_stood_past_the_last_millisecond_of_the_window(drawn: ReportData) -> None:
    edges = drawn.lateness.edges_ms
    late = {edges[i]: n for i, n in enumerate(drawn.lateness.late) if n}
    too_late = {edges[i]: n for i, n in enumerate(drawn.lateness.too_late) if n}
    assert late == {1000: 2, 2000: 1}
    assert too_late == {6000: 1, 9000: 1}
    assert drawn.lateness.longest_ms == 9001


def test_the_report_knows_the_bounds_of_all_sources(drawn: ReportData) -> None:
    def bounds(*watermarks: Watermark) -> tuple[int, ...]:
        sources = tuple(
            UnitedSource(f"s{i}", generated_run.PIPELINE.source, watermark) for i, watermark in enumerate(watermarks)
        )
        return report.bounds_ms(replace(generated_run.PIPELINE, sources=sources))

    minute, second = Watermark(out_of_orderness_ms=60_000), Watermark(out_of_orderness_ms=1_000)
    assert drawn.bounds_ms == bounds() == (generated_run.PIPELINE.watermark.out_of_orderness_ms,)
    assert bounds(minute, second, minute) == (1_000, 60_000)
    assert bounds(minute, Watermark(Strategy.MONOTONOUS)) == ()


def test_results_are_taken_together_over_keys_window_by_window(drawn: ReportData) -> None:
    assert drawn.results.starts_ms == (ms(0), ms(10), ms(20))
    assert drawn.results.ends_ms == (ms(10), ms(20), ms(30))
    (rows,) = drawn.results.series
    assert (rows.name, rows.combined, rows.values) == ("row_count", Combined.SUM, (6.0, 2.0, 4.0))
    assert rows.same_as == ("flights",), "the same values are drawn once"


def test_partitions_are_drawn_at_the_emissions_the_farthest_behind_first(drawn: ReportData) -> None:
    partitions = drawn.partitions
    assert (partitions.fires_at_ms, partitions.watermark_ms) == ((ms(12), ms(22)), (ms(10.999), ms(20.5)))
    assert [(line.name, line.watermark_ms, line.idle) for line in partitions.lines] == [
        ("0", (ms(10.999), ms(21)), (False, False)),
        ("1", (ms(11.5), ms(20.5)), (False, False)),
    ]
    assert (partitions.partitions, partitions.emissions) == (2, 2)


def test_a_partition_that_holds_nothing_back_while_it_stands_still_is_idle(spark: SparkSession) -> None:
    rows = {**generated_run.CORRECT, "watermarks": [dict(row) for row in generated_run.CORRECT["watermarks"]]}
    for row, times in zip(rows["watermarks"], ((5, None), (5, 20.5), ()), strict=True):
        marks = [None if time is None else generated_run.at(time) for time in times]
        row["partition_watermarks"] = [{"source_partition": str(i), "watermark": m} for i, m in enumerate(marks)]
    partitions = collected(spark, generated_run.frames(spark, rows)).partitions
    # One without a watermark stands behind all others.
    assert {line.name: (line.watermark_ms, line.idle) for line in partitions.lines} == {
        "0": ((ms(5), ms(5)), (True, True)),
        "1": ((None, ms(20.5)), (True, False)),
    }


def test_end_of_the_input_is_no_emission_even_if_one_fires_at_that_moment(spark: SparkSession) -> None:
    rows = {**generated_run.CORRECT, "watermarks": [dict(row) for row in generated_run.CORRECT["watermarks"]]}
    rows["watermarks"][2]["fires_at"] = generated_run.at(22)
    for ordered in (rows["watermarks"], rows["watermarks"][::-1]):
        partitions = collected(spark, generated_run.frames(spark, {**rows, "watermarks": ordered})).partitions
        assert [line.watermark_ms[1] for line in partitions.lines] == [ms(21), ms(20.5)]


def test_completeness_counts_rows_that_are_in_no_result(drawn: ReportData) -> None:
    completeness = drawn.completeness
    assert (completeness.starts_ms, completeness.ends_ms) == ((ms(0), ms(10), ms(20)), (ms(10), ms(20), ms(30)))
    # Two rows came too late for the first window, one of them for a key that has no result in that window.
    assert (completeness.taken, completeness.missed) == ((6, 2, 4), (2, 0, 0))


def test_completeness_is_empty_if_results_do_not_hold_all_rows(spark: SparkSession) -> None:
    discarding = replace(generated_run.PIPELINE.windows, accumulation=Accumulation.DISCARDING)
    pipeline = replace(generated_run.PIPELINE, windows=discarding)
    data = collected(spark, generated_run.frames(spark, generated_run.CORRECT), pipeline)
    assert data.completeness == Completeness()


def test_windows_and_keys_are_listed_by_their_too_late_rows(drawn: ReportData) -> None:
    assert drawn.too_late_windows == (TooLateWindow(ms(0), ms(10), 2, 13_000, ms(19), ms(20), ms(21)),)
    assert drawn.too_late_keys == (TooLateKey((None,), 1, 11_000), TooLateKey(("BB",), 1, 13_000))


def test_some_too_late_rows_come_with_key_and_times(drawn: ReportData) -> None:
    first, second = drawn.late_rows
    assert [(row.key, row.behind_ms) for row in (first, second)] == [(("BB",), 13_000), ((None,), 11_000)]
    assert [row.lateness_ms for row in (first, second)] == [9_001, 6_001]


def test_the_run_before_covers_the_same_time_and_was_published_earlier() -> None:
    at = datetime(2026, 1, 5, tzinfo=UTC)

    def run(name: str, version: int, kind: str = "full") -> Run:
        steps = (
            Step("replay", "done", at, at, {"rows_read": version}),
            Step("publish", "done", at, at, {}, {"late_events": version}),
        )
        return replace(RUN, run_id=name, kind=kind, steps=steps)

    runs = [
        run("a", 1),
        run("b", 2),
        run("part", 3, "backfill"),
        run("c", 4),
        run("d", 5),
    ]
    before = run_facts.earlier(runs[3], runs)
    assert before is not None
    assert (before.run_id, before.counts["rows_read"], before.published_at) == ("b", 2, at)
    staged = run_facts.earlier(replace(RUN, run_id="new"), runs)
    assert staged is not None
    assert staged.run_id == "d"
    assert run_facts.earlier(runs[0], runs) is None


def test_the_alternative_with_the_settings_of_the_pipeline_is_marked() -> None:
    pipeline = generated_run.PIPELINE
    own = {"out_of_orderness": pipeline.watermark.bound_ms, "allowed_lateness": pipeline.windows.allowed_lateness_ms}
    entry = {**own, "on_time": 1, "late": 2, "too_late": 3}
    assert run_facts.alternative(entry, pipeline).is_used
    assert not run_facts.alternative({**entry, "allowed_lateness": 1}, pipeline).is_used


def test_invalid_rows_are_counted_by_reason(drawn: ReportData) -> None:
    reasons = ("event_time_missing", "event_time_after_range", "event_time_in_future")
    assert drawn.invalid_reasons == dict.fromkeys(reasons, 1)


def test_of_the_source_only_the_key_comes_into_a_report(drawn: ReportData) -> None:
    assert "Lovelace" not in render(drawn)


def test_empty_tables_make_an_empty_report(spark: SparkSession) -> None:
    data = collected(spark, generated_run.frames(spark, {table: [] for table in generated_run.SCHEMAS}))
    assert (data.watermark.firings, data.late.rows, data.lateness.edges_ms, data.results.windows) == (0, 0, (), 0)
    assert "no window has fired" in render(data)


def test_report_does_not_contain_its_own_step(spark: SparkSession) -> None:
    at = datetime(2026, 1, 5, tzinfo=UTC)
    replayed = replace(RUN, steps=(Step("replay", "done", at, at, {"rows_read": 18}),))
    reported = replace(replayed, steps=(*replayed.steps, Step("report", "failed", at, at.replace(hour=1), error="x")))
    tables = generated_run.frames(spark, generated_run.CORRECT)
    assert collected(spark, tables, run=reported) == collected(spark, tables, run=replayed)


def test_result_columns_that_are_no_numbers_are_named_and_not_drawn(spark: SparkSession) -> None:
    tables = generated_run.frames(spark, generated_run.CORRECT)
    results = tables["window_results"]
    tables["window_results"] = results.withColumns(
        {"names": F.array(F.lit("x")), "price": F.col("row_count").cast("decimal(20,3)"), "on": F.lit(True)}
    )
    windows = generated_run.PIPELINE.windows
    aggregates = (Aggregate("names", "collect_set(x)"), Aggregate("price", "min(p)"), Aggregate("on", "any(o)"))
    data = collected(spark, tables, replace(generated_run.PIPELINE, windows=replace(windows, aggregates=aggregates)))
    assert [series.name for series in data.results.series] == ["row_count", "price"]
    assert data.results.series[1].values == (1.0, 2.0, 4.0)
    assert data.results.not_drawn == ("names", "on")


def test_a_key_whose_name_late_events_needs_for_itself_is_found_under_its_other_name(spark: SparkSession) -> None:
    rows_of_source = spark.createDataFrame([("a", 5), ("a", 7), ("b", 9)], "value string, late_by_ms bigint")
    carried = F.col("value").alias("source_late_by_ms", metadata={carried_columns.ORIGIN: "late_by_ms"})
    late_events = rows_of_source.select(carried, "late_by_ms")
    pipeline = replace(generated_run.PIPELINE, windows=replace(generated_run.PIPELINE.windows, key=("late_by_ms",)))
    rows = [(row.k0, row.rows, row.late_by_ms) for row in reduced.heaviest_keys(late_events, pipeline).collect()]
    assert rows == [("a", 2, 7), ("b", 1, 9)]


def test_many_windows_are_taken_together_and_none_is_left_out(spark: SparkSession) -> None:
    n = 4500
    results = spark.range(2 * n).select(
        F.timestamp_millis(F.col("id") % n * 1000).alias("window_start"),
        F.timestamp_millis(F.col("id") % n * 1000 + 1000).alias("window_end"),
        F.lit(2).cast("long").alias("row_count"),
        F.when(F.col("id") < n, F.col("id")).alias("delay"),
    )
    manners = [("row_count", Combined.SUM), *(("delay", manner) for manner in Combined if manner is not Combined.SUM)]
    windows = results_over_time.of_windows(results, manners)
    assert windows.count() == n
    points = results_over_time.over_time(windows, manners).orderBy("start_ms").collect()
    assert len(points) == 500
    assert {row.windows for row in points} == {9}
    assert sum(row.v0 for row in points) == 2 * 2 * n
    assert [(r.start_ms, r.end_ms, r.v0, r.v1, r.v2, r.v3) for r in points[:2]] == [
        (0, 9000, 36.0, 4.0, 0.0, 8.0),
        (9000, 18000, 36.0, 13.0, 9.0, 17.0),
    ]


def test_a_window_of_another_decade_takes_no_room_from_the_others(spark: SparkSession) -> None:
    starts = F.when(F.col("id") == 0, F.lit(-(10**12))).otherwise(F.col("id") * 1000)
    results = spark.range(500).select(
        F.timestamp_millis(starts).alias("window_start"),
        F.timestamp_millis(starts + 1000).alias("window_end"),
        F.lit(1).cast("long").alias("row_count"),
    )
    windows = results_over_time.of_windows(results, ROWS)
    assert results_over_time.over_time(windows, ROWS).count() == 500


def test_hours_of_many_days_are_combined_by_day(spark: SparkSession) -> None:
    hour, day = 3_600_000, 86_400_000
    results = spark.range(600).select(
        F.timestamp_millis(F.col("id") * hour).alias("window_start"),
        F.timestamp_millis((F.col("id") + 1) * hour).alias("window_end"),
        F.lit(1).cast("long").alias("row_count"),
        F.lit(2).cast("long").alias("too_late_count"),
    )
    windows = results_over_time.of_windows(results, ROWS)
    pipeline = replace(generated_run.PIPELINE, windows=replace(generated_run.PIPELINE.windows, size_ms=hour))
    stretch_ms = results_over_time.stretch(windows, pipeline)
    assert stretch_ms == day
    assert results_over_time.stretch(windows.limit(500), pipeline) == 0
    points = results_over_time.over_time(windows, ROWS, stretch_ms).orderBy("start_ms").collect()
    assert [tuple(point) for point in points[:2]] == [(0, day, 24, 24.0), (day, 2 * day, 24, 24.0)]
    completeness = reduced.completeness(windows, results.limit(0), stretch_ms).orderBy("start_ms")
    assert [tuple(point) for point in completeness.take(1)] == [(0, day, 24, 48)]


def test_a_thinned_line_keeps_its_ends_and_its_peaks(spark: SparkSession) -> None:
    # The watermark stands 10 ms behind, but at one emission of 50,000 it hangs 5 s behind.
    stuck = 31_234
    reached = F.when(F.col("id") == stuck, F.col("id") * 100 - 5000).otherwise(F.col("id") * 100 - 10)
    firings = spark.range(50_000).select((F.col("id") * 100).alias("fires_ms"), reached.alias("watermark_ms"))
    groups = reduced.line(firings).collect()
    points = sorted({tuple(p) for row in groups for p in (row.first, row.last, row.farthest)})
    assert len(groups) <= reduced.LINE_GROUPS
    assert sum(row.firings for row in groups) == 50_000
    assert points[0] == (0, -10)
    assert points[-1] == (4_999_900, 4_999_890)
    assert (stuck * 100, stuck * 100 - 5000) in points


def test_a_sample_of_marks_is_even_and_always_the_same(spark: SparkSession) -> None:
    marks = spark.range(40_000).select(
        (F.col("id") % 2 == 0).alias("too_late"),
        F.col("id").alias("arrived_ms"),
        F.lit(0).cast("long").alias("start_ms"),
        F.lit(10).cast("long").alias("end_ms"),
        F.lit(20).cast("long").alias("watermark_ms"),
        F.lit(1).cast("long").alias("rows"),
    )
    arrived = [row.arrived_ms for row in reduced.even_sample(marks, too_late=True).collect()]
    again = [row.arrived_ms for row in reduced.even_sample(marks.repartition(7), too_late=True).collect()]
    assert arrived == again
    assert len(arrived) == len(set(arrived)) == reduced.MARKS
    assert all(a % 2 == 0 for a in arrived)
    by_quarter = [sum(10_000 * q <= a < 10_000 * (q + 1) for a in arrived) for q in range(4)]
    assert min(by_quarter) > 500


@pytest.mark.soak
def test_the_report_of_a_real_run_shows_its_counts(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = history.pipeline(history.land(spark, history.events(), tmp_path / "readings"))
    lake = Lake(str(tmp_path / "lake"), pipeline.name)
    runner = Runner(spark, pipeline, lake)
    planned, _ = runner.plan(Interval())
    with pytest.raises(InputError, match="take its step replay before its report"):
        report.report(spark, pipeline, lake, planned.run)
    counts = runner.step("replay", planned.run).counts
    reports: list[ReportData] = []

    def keep(data: ReportData) -> str:
        reports.append(data)
        return render(data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "render", keep)
        path = report.report(spark, pipeline, lake, runner.find(planned.run.run_id))
    (data,) = reports
    assert path == lake.report_path(planned.run.run_id)
    assert Path(path).read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert data.counts == counts
    assert data.run.state == "staged"
    totals: dict[str, Any] = {"late": sum(data.lateness.late), "too_late": sum(data.lateness.too_late)}
    assert totals == {name: counts[name] for name in ("late", "too_late")}
    assert (data.late.rows, data.too_late.rows) == (counts["late"], counts["too_late"])
    allowed = pipeline.windows.allowed_lateness_ms
    edges = data.lateness.edges_ms
    assert not any(n for start, n in zip(edges, data.lateness.late, strict=False) if start >= allowed)
    assert not any(n for end, n in zip(edges[1:], data.lateness.too_late, strict=False) if end <= allowed)
    assert sum(data.invalid_reasons.values()) == counts["invalid"]
