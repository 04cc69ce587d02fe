"""What the charts draw."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from bokeh.models import HoverTool

from spark_jobs.report import charts
from spark_jobs.report.data import (
    Completeness,
    LateMarks,
    PartitionLines,
    ReportData,
    Results,
    RunFacts,
    WatermarkLine,
)
from tests.support.sample_report_runs import HOUR, START


def figures(data: ReportData) -> Mapping[str, Any]:
    """Return the figures by chart, as Any: Bokeh types their parts by base classes without the drawn properties."""
    return charts.charts(data)


def drawn(fig: Any, role: str) -> list[dict[str, Any]]:
    return [dict(r.data_source.data) for r in fig.renderers if r.glyph.tags == [role]]


def test_the_line_is_a_step_that_holds_until_the_next_emission(run: ReportData) -> None:
    fig = figures(run)[charts.WATERMARK]
    step = next(r for r in fig.renderers if type(r.glyph).__name__ == "Step")
    assert step.glyph.mode == "after"
    assert list(step.data_source.data["fires"]) == [START + 8 * HOUR, START + 11 * HOUR]
    assert list(step.data_source.data["reached"]) == [START + HOUR, START + 4 * HOUR]
    assert list(step.data_source.data["closed"]) == [START - HOUR, START + 2 * HOUR]


def test_late_rows_lie_between_the_watermark_and_the_watermark_less_lateness_too_late_ones_below(
    run: ReportData,
) -> None:
    fig = figures(run)[charts.WATERMARK]
    (late,), (too_late,) = drawn(fig, "late"), drawn(fig, "too-late")
    assert late["watermark"] - 2 * HOUR < late["last"] <= late["watermark"]
    assert too_late["last"] <= too_late["watermark"] - 2 * HOUR


def test_a_chart_without_allowed_lateness_has_no_second_line(run: ReportData) -> None:
    fig = figures(replace(run, allowed_lateness_ms=0))[charts.WATERMARK]
    assert sum(type(r.glyph).__name__ == "Step" for r in fig.renderers) == 1


def test_late_and_too_late_differ_in_shape_and_not_in_colour_alone(run: ReportData) -> None:
    run_figures = figures(run)
    marks = {
        r.glyph.tags[0]: r.glyph.marker for r in run_figures[charts.WATERMARK].renderers if hasattr(r.glyph, "marker")
    }
    assert marks["late"] != marks["too-late"]
    hatches = {r.glyph.tags[0]: r.glyph.hatch_pattern for r in run_figures[charts.LATENESS].renderers}
    assert hatches["late"] != hatches["too-late"]


def spans(fig: Any) -> dict[str, Any]:
    """What stands from bottom to top, by its role."""
    return {model.tags[0]: model for model in fig.center if type(model).__name__ == "Span"}


def test_the_histogram_shows_where_the_bound_ends(run: ReportData) -> None:
    fig = figures(run)[charts.LATENESS]
    assert spans(fig)["watermark"].location == 0
    assert fig.x_range.start < 0


def test_a_few_rows_are_not_counted_in_halves(run: ReportData) -> None:
    assert figures(run)[charts.LATENESS].yaxis[0].ticker.min_interval == 1


def test_the_allowed_lateness_is_drawn_into_the_histogram_in_its_unit(run: ReportData) -> None:
    fig = figures(run)[charts.LATENESS]
    span = spans(fig)["ink"]
    bars = {r.glyph.tags[0]: dict(r.data_source.data) for r in fig.renderers}
    assert span.location == 2
    assert list(bars["late"]["right"]) == [1]
    assert list(bars["too-late"]["left"]) == [3]


def test_a_line_does_not_reach_over_windows_without_results(run: ReportData) -> None:
    fig = figures(run)[charts.results_chart(0)]
    (first, *_) = drawn(fig, "result")
    assert [None if np.isnan(v) else v for v in first["value"]] == [9.0, 4.0, None, 2.0]


def test_what_is_no_finite_number_is_a_gap(run: ReportData) -> None:
    series = replace(run.results.series[0], values=(float("inf"), None, 3.0))
    fig = figures(replace(run, results=replace(run.results, series=(series,))))[charts.results_chart(0)]
    assert np.isnan(drawn(fig, "result")[0]["value"]).tolist() == [True, True, True, False]


def test_charts_of_results_move_together(run: ReportData) -> None:
    run_figures = figures(run)
    assert run_figures[charts.results_chart(0)].x_range is run_figures[charts.results_chart(1)].x_range
    assert run_figures[charts.WATERMARK].x_range is run_figures[charts.DISTANCE].x_range


def test_a_chart_with_nothing_in_it_is_not_drawn(facts: RunFacts, run: ReportData) -> None:
    assert figures(ReportData("empty", facts)) == {}
    nothing: dict[str, Any] = {"partitions": PartitionLines(), "completeness": Completeness(), "results": Results()}
    on_time = replace(run, late=LateMarks(), too_late=LateMarks(), lateness=run.lateness.__class__(), **nothing)
    assert set(figures(on_time)) == {charts.WATERMARK, charts.DISTANCE}
    assert figures(replace(on_time, watermark=WatermarkLine(at_end=3))) == {}


def test_a_tool_writes_instants_as_such_and_everything_else_as_numbers(run: ReportData) -> None:
    for fig in figures(run).values():
        for tool in fig.toolbar.tools:
            if isinstance(tool, HoverTool):
                assert {*tool.formatters.values()} <= {"datetime"}


def test_partitions_are_drawn_behind_arrival_with_rings_where_they_are_idle(run: ReportData) -> None:
    fig = figures(run)[charts.PARTITIONS]
    steps = [r for r in fig.renderers if type(r.glyph).__name__ == "Step"]
    # The watermark of all below two partitions, numbered as in the table.
    hours = [[None if math.isnan(v) else v for v in step.data_source.data["behind"]] for step in steps]
    assert hours == [[7.0, 7.0], [8.0, 11.0], [None, 7.0]]
    assert steps[0].glyph.line_width > 2 * steps[1].glyph.line_width
    assert len({(tuple(step.glyph.tags), str(step.glyph.line_dash)) for step in steps}) == 3
    rings = [r.data_source.data["behind"].tolist() for r in fig.renderers if type(r.glyph).__name__ == "Scatter"]
    assert rings == [[8.0, 11.0], []]


def test_completeness_is_the_share_of_rows_that_windows_have_taken(run: ReportData) -> None:
    fig = figures(run)[charts.COMPLETENESS]
    (step,) = [r for r in fig.renderers if type(r.glyph).__name__ == "Step"]
    assert step.data_source.data["share"].round(2).tolist() == [81.82, 100.0, 100.0]
    assert fig.y_range.start < 81
    assert fig.y_range.end > 100


def test_partitions_differ_in_colour_or_dashes() -> None:
    signs = [charts.partition_sign(index) for index in range(8)]
    assert len(set(signs)) == 8


def test_a_chart_with_a_single_point_is_not_drawn(run: ReportData) -> None:
    one_point = Results(run.results.starts_ms[:1], run.results.ends_ms[:1], 1, series=run.results.series)
    once = replace(run, results=one_point, completeness=Completeness((0,), (HOUR,), (4,), (1,)))
    assert not {charts.COMPLETENESS, charts.results_chart(0)} & set(figures(once))
