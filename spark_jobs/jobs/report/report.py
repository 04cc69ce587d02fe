"""The report step: reduce a run's tables to a page of figures, in a few small jobs for tables of any size.

A second report of the same tables has the same figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from expectations import Answer
from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import StepName
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.report import join_report, run_facts, series
from spark_jobs.jobs.report.alternatives import alternatives
from spark_jobs.pipeline.description import describe
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import COMPLETE_TABLE, QUALITY
from spark_jobs.pipeline.settings import settings
from spark_jobs.replay.panes import complete_results, per_epoch, retractions, triggers
from spark_jobs.report import data as d
from spark_jobs.report import incomplete_windows, reduced, results_over_time
from spark_jobs.report.bins import bins
from spark_jobs.report.data import Setting
from spark_jobs.report.page import render
from spark_jobs.tables import commit_files, delta_log, ledger, staging
from spark_jobs.tables.delta_rs import read_table
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake, report_name, result_tables
from spark_jobs.tables.ledger import Run
from spark_jobs.tables.objects import Objects

#: The largest number of result columns with a chart.
_CHARTED = 12


def report(spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run) -> str:
    """Write the report of a replayed run, published or not; returns its path or URI.

    Raises InputError for a run that has not been replayed, or whose staged tables maintenance has removed.
    """
    if run.finished_step(StepName.REPLAY) is None:
        raise InputError(
            f"report: run {run.run_id} is {run.state}; take its step replay before its report",
            code=ErrorCode.RUN_STATE_WRONG,
        )
    if not can_be_made(pipeline, lake, run):
        raise InputError(
            f"report: maintenance has removed the staged tables of run {run.run_id}", code=ErrorCode.FILES_REMOVED
        )
    tables = staging.read_by_size(spark, lake, run.run_id, result_tables(pipeline))
    with ThreadPoolExecutor(max_workers=1) as pool:
        weighed = pool.submit(alternatives, spark, pipeline, lake, run)
        data = collect(spark, pipeline, lake, run, tables, checks_of(spark, lake, run))
        other_settings = tuple(run_facts.alternative(entry, pipeline) for entry in weighed.result())
    earlier = run_facts.earlier(run, ledger.published(spark, lake))
    page = render(replace(data, alternatives=other_settings, earlier=earlier))
    lake.objects.write(report_name(run.run_id), page.encode())
    return lake.report_path(run.run_id)


def can_be_made(pipeline: Pipeline, lake: Lake, run: Run) -> bool:
    """Return whether all staged tables of the run exist."""
    return all(commit_files.exist(Objects(lake.staged(table, run.run_id))) for table in result_tables(pipeline))


def collect(
    spark: SparkSession,
    pipeline: Pipeline,
    lake: Lake,
    run: Run,
    tables: Mapping[str, DataFrame],
    checks: Sequence[Answer],
) -> d.ReportData:
    """Reduce a run to the data of its report, without alternatives and the run before it.

    `tables` are the run's result tables by name, with the columns of the contract.
    """
    if pipeline.join is not None:
        tables = join_report.as_windows(spark, pipeline.join, tables)
    # Small, and read several times: as many partitions as cores, not as many as a shuffle makes.
    tables = {**tables, "panes": retractions.left_out(tables["panes"], pipeline)}
    cores = spark.sparkContext.defaultParallelism
    marks = reduced.marks(tables["panes"], tables["late_events"]).coalesce(cores).persist()
    charted = results_over_time.drawable(tables["window_results"], pipeline)[:_CHARTED]
    windows = results_over_time.of_windows(tables["window_results"], charted).coalesce(cores).persist()
    try:
        stretch_ms = results_over_time.stretch(windows, pipeline)
        with ThreadPoolExecutor(max_workers=4) as pool:
            line = pool.submit(series.line, _emissions(tables, pipeline))
            partitions = pool.submit(series.partitions, tables["watermarks"])
            completeness = pool.submit(series.completeness, windows, tables["late_events"], pipeline, stretch_ms)
            results = pool.submit(_results, windows, charted, pipeline, stretch_ms)
            heaviest = pool.submit(_too_late_windows, tables["late_events"])
            late_rows = pool.submit(_late_rows, tables["late_events"], pipeline)
            keys = pool.submit(_too_late_keys, tables["late_events"], pipeline)
            cost = pool.submit(_cost, tables.get(COMPLETE_TABLE), pipeline)
            reasons = pool.submit(reduced.reasons(tables["invalid_events"]).collect)
            closes = not pipeline.windows.updates
            allowed_ms = pipeline.windows.allowed_lateness_ms if closes else 0
            late = _Late(marks, allowed_ms)
            return d.ReportData(
                pipeline=pipeline.name,
                run=run_facts.facts(spark, pipeline, lake, run),
                description=describe(pipeline, _number_of_partitions(partitions.result(), pipeline)),
                file=pipeline.path,
                counts=run.counts,
                allowed_lateness_ms=allowed_ms,
                bounds_ms=bounds_ms(pipeline),
                merging=pipeline.windows.is_session,
                overlapping=pipeline.windows.is_sliding,
                waits=pipeline.windows.trigger.is_default,
                late_rows_fire=triggers.late_rows_fire(pipeline)
                and not per_epoch.gathers(pipeline)
                and (pipeline.join is None or not pipeline.join.by_window),
                closes=closes,
                keeps_late=not pipeline.windows.drops_late,
                join=None if pipeline.join is None else join_report.facts(pipeline.join),
                key=pipeline.windows.key,
                settings=tuple(Setting(name, value) for name, value in settings(pipeline).items()),
                watermark=line.result(),
                partitions=partitions.result(),
                completeness=completeness.result(),
                late=late.marks(too_late=False),
                too_late=late.marks(too_late=True),
                lateness=late.histogram(),
                results=results.result() if pipeline.join is None else join_report.of_pairs(results.result()),
                checks=tuple(
                    d.CheckResult(
                        c.suite, c.expectation, c.success, c.observed, c.unexpected_count, tuple(c.details.splitlines())
                    )
                    for c in checks
                ),
                too_late_windows=heaviest.result(),
                too_late_keys=keys.result(),
                late_rows=late_rows.result(),
                invalid_reasons={row.reason: row.rows for row in reasons.result()},
                cost=cost.result(),
            )
    finally:
        marks.unpersist()
        windows.unpersist()


def checks_of(spark: SparkSession, lake: Lake, run: Run) -> list[Any]:
    """Return the checks of the run's last audit, as rows of the table `quality`.

    Spark reads the table where delta-rs cannot.
    """
    with suppress(LakeError):
        return _checks(lake, run.run_id)
    path = lake.path("quality")
    if not delta_log.exists(spark, path):
        return []
    rows = spark.read.format("delta").load(path).where(F.col("run_id") == run.run_id)
    return rows.orderBy("suite", "expectation").collect()


def _checks(lake: Lake, run_id: str) -> list[Row]:
    columns = ", ".join(column.name for column in QUALITY.own_columns)
    query = f"SELECT {columns} FROM t WHERE run_id = '{run_id}' ORDER BY suite, expectation"  # noqa: S608  a checked id
    rows = read_table(lake, QUALITY.name, ("report", run_id), lambda table: table.select(query), opens_anew=True)
    return [Row(**row) for row in rows or ()]


def _emissions(tables: Mapping[str, DataFrame], pipeline: Pipeline) -> DataFrame:
    """Return the emissions that fired windows: from the calendar, or for sessions from their on-time panes."""
    if not pipeline.windows.is_session:
        return tables["watermarks"]
    on_time = tables["panes"].where("timing = 'on_time'")
    return on_time.select(F.col("fired_at").alias("fires_at"), F.col("watermark").alias("watermark_at_fire"))


class _Late:
    """The late rows of a run; their numbers by magnitude of lateness are computed once."""

    def __init__(self, marks: DataFrame, allowed_ms: int) -> None:
        self._marks, self._allowed_ms = marks, allowed_ms
        self._magnitudes = reduced.by_magnitude(marks).collect()

    def marks(self, *, too_late: bool) -> d.LateMarks:
        counted = [row for row in self._magnitudes if row.too_late == too_late]
        if not counted:
            return d.LateMarks()
        return d.LateMarks(
            rows=sum(row.rows for row in counted),
            marks=sum(row.marks for row in counted),
            sample=tuple(
                d.LateMark(row.arrived_ms, row.start_ms, row.end_ms, row.watermark_ms, row.rows)
                for row in reduced.even_sample(self._marks, too_late=too_late).collect()
            ),
        )

    def histogram(self) -> d.Lateness:
        if not self._magnitudes:
            return d.Lateness()
        by_magnitude: dict[int, int] = {}
        for row in self._magnitudes:
            by_magnitude[row.magnitude] = by_magnitude.get(row.magnitude, 0) + row.rows
        longest = max(row.longest_ms for row in self._magnitudes)
        chosen = bins(by_magnitude, longest, self._allowed_ms)
        counted = reduced.by_lateness(self._marks, chosen).collect()
        rows = {(row.too_late, row.bin): row.rows for row in counted}
        return d.Lateness(
            edges_ms=chosen.edges_ms,
            late=tuple(rows.get((False, i), 0) for i in chosen.numbers),
            too_late=tuple(rows.get((True, i), 0) for i in chosen.numbers),
            longest_ms=longest,
            open_ended=longest >= chosen.edges_ms[-1],
        )


def bounds_ms(pipeline: Pipeline) -> tuple[int, ...]:
    """Return the distinct bounds of the sources' watermarks, in ms; empty if a source has no bound."""
    if not all(watermark.has_bound for watermark in pipeline.watermarks):
        return ()
    return tuple(sorted({watermark.bound_ms for watermark in pipeline.watermarks}))


def _results(
    windows: DataFrame, charted: Sequence[tuple[str, d.Combined]], pipeline: Pipeline, stretch_ms: int
) -> d.Results:
    points = sorted(results_over_time.over_time(windows, charted, stretch_ms).collect(), key=lambda row: row.start_ms)
    names = {name for name, _ in charted}
    drawn = [d.Series(name, manner, tuple(row[f"v{i}"] for row in points)) for i, (name, manner) in enumerate(charted)]
    return d.Results(
        starts_ms=tuple(row.start_ms for row in points),
        ends_ms=tuple(row.end_ms for row in points),
        windows=sum(row.windows for row in points),
        windows_per_point=max((row.windows for row in points), default=1),
        stretch_ms=stretch_ms,
        series=results_over_time.without_duplicates(drawn),
        not_drawn=tuple(a.name for a in pipeline.windows.aggregates if a.name not in names),
    )


def _number_of_partitions(lines: d.PartitionLines, pipeline: Pipeline) -> int | None:
    """Return the number of source partitions, as far as the calendar has their watermarks."""
    return None if pipeline.is_united else lines.partitions or None


def _late_rows(late_events: DataFrame, pipeline: Pipeline) -> tuple[d.LateRow, ...]:
    rows = reduced.late_rows(late_events, pipeline).collect()
    keys = range(0 if pipeline.join is not None else len(pipeline.windows.key))
    return tuple(
        d.LateRow(tuple(row[f"k{i}"] for i in keys), row.event_ms, row.arrived_ms, row.end_ms, row.watermark_ms)
        for row in rows
    )


def _too_late_windows(late_events: DataFrame) -> tuple[d.TooLateWindow, ...]:
    rows = reduced.heaviest_windows(late_events).collect()
    return tuple(
        d.TooLateWindow(row.start_ms, row.end_ms, row.rows, row.late_by_ms, row.watermark_ms, row.first_ms, row.last_ms)
        for row in rows
    )


def _too_late_keys(late_events: DataFrame, pipeline: Pipeline) -> tuple[d.TooLateKey, ...]:
    if not pipeline.windows.key:
        return ()
    keys = range(len(pipeline.windows.key))
    rows = reduced.heaviest_keys(late_events, pipeline).collect()
    return tuple(d.TooLateKey(tuple(row[f"k{i}"] for i in keys), row.rows, row.late_by_ms) for row in rows)


def _cost(complete: DataFrame | None, pipeline: Pipeline) -> d.Cost | None:
    if complete is None:
        return None
    total = complete_results.totals(complete).collect()[0]
    keys = range(len(pipeline.windows.key))
    worst = tuple(
        d.LackingWindow(
            tuple(row[f"k{i}"] for i in keys), row.start_ms, row.end_ms, row.row_count, row.missed_rows, row.is_shown
        )
        for row in incomplete_windows.worst(complete, pipeline).collect()
    )
    return d.Cost(total.windows, total.lacking, total.not_shown, total.missed, worst)
