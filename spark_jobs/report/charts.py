"""The charts: Bokeh figures of a report's numbers.

Law: a chart contains only numbers from data. Names and values are on the page around it, where they are escaped. A text
in a figure could contain markup, or mathematics that is fetched from a network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.models import BasicTicker, ColumnDataSource, DataRange1d, NumeralTickFormatter, Range1d
from bokeh.models.annotations import Span
from bokeh.plotting import figure

from spark_jobs.report.data import Completeness, LateMarks, Lateness, PartitionLines, ReportData, Results
from spark_jobs.report.figures import FEW, add_hover, give_role, new_figure
from spark_jobs.report.palette import PARTITION_ROLES
from spark_jobs.report.text import unit_for

_INSTANT = "{%F %T}"

WATERMARK = "watermark-chart"
DISTANCE = "distance-chart"
LATENESS = "lateness-chart"
PARTITIONS = "partitions-chart"
COMPLETENESS = "completeness-chart"


def results_chart(index: int) -> str:
    """Return the id of the chart of a result column."""
    return f"results-chart-{index}"


def partition_sign(index: int) -> tuple[str, str]:
    """Return the shape of line, `line` or `dashed`, and the role of the partition with this index, from 0."""
    return "dashed" if index // len(PARTITION_ROLES) % 2 else "line", PARTITION_ROLES[index % len(PARTITION_ROLES)]


def charts(data: ReportData) -> dict[str, figure]:
    """Return the figures by the id of their place in the page; without those of fewer than two points."""
    drawn: dict[str, figure] = {}
    if len(data.watermark.fires_at_ms) > 1 or data.late.sample or data.too_late.sample:
        drawn.update(_watermark(data))
    if any(data.lateness.late) or any(data.lateness.too_late):
        drawn[LATENESS] = _lateness(data.lateness, data.allowed_lateness_ms if data.closes else None)
    if data.partitions.lines and len(data.partitions.fires_at_ms) > 1:
        drawn[PARTITIONS] = _partitions(data.partitions)
    if len(data.completeness.starts_ms) > 1:
        drawn[COMPLETENESS] = _completeness(data.completeness)
    if len(data.results.starts_ms) > 1:
        drawn.update(_results(data.results))
    return drawn


def _partitions(partitions: PartitionLines) -> figure:
    """Draw the distance of each partition behind arrival over the line of all; a ring marks an idle partition."""
    fires = np.array(partitions.fires_at_ms, dtype=np.float64)
    marks = [_finite(line.watermark_ms) for line in partitions.lines]
    distances = [fires - mark for mark in (np.array(partitions.watermark_ms, dtype=np.float64), *marks)]
    finite = [d[np.isfinite(d)] for d in distances]
    unit_ms, unit = unit_for(int(max((d.max() for d in finite if len(d)), default=0)))
    fig = new_figure(
        "Arrival time (UTC)", f"Behind arrival ({unit})", height=340, x_axis_type="datetime", x_range=DataRange1d()
    )
    whole = ColumnDataSource({"fires": fires, "behind": distances[0] / unit_ms})
    below = fig.step("fires", "behind", source=whole, mode="after", line_width=5, line_alpha=0.45)
    give_role(below.glyph, "watermark")
    for index, (line, own) in enumerate(zip(partitions.lines, distances[1:], strict=True)):
        columns: dict[str, Any] = {"fires": fires, "behind": own / unit_ms, "number": np.full(len(fires), index + 1)}
        shape, role = partition_sign(index)
        dash = [6, 3] if shape == "dashed" else []
        source = ColumnDataSource(columns)
        drawn = fig.step("fires", "behind", source=source, mode="after", line_width=1.5, line_dash=dash)
        give_role(drawn.glyph, role)
        add_hover(fig, [drawn], [("partition", "@number"), ("arrival", f"@fires{_INSTANT}")], "@fires")
        idle = np.array(line.idle, dtype=bool) & np.isfinite(own)
        rings = fig.scatter("fires", "behind", source=ColumnDataSource(_some(columns, idle)), size=6, fill_alpha=0)
        give_role(rings.glyph, "late")
    return fig


def _some(columns: dict[str, Any], mask: np.ndarray[Any, np.dtype[np.bool_]]) -> dict[str, Any]:
    return {name: values[mask] for name, values in columns.items()}


def _completeness(completeness: Completeness) -> figure:
    in_results, too_late = (np.array(rows, dtype=np.float64) for rows in (completeness.taken, completeness.missed))
    share = 100 * in_results / np.maximum(in_results + too_late, 1)
    lowest = max(0.0, float(share.min()) - 1)
    fig = new_figure(
        "Window start (UTC)",
        "Rows taken (%)",
        height=240,
        x_axis_type="datetime",
        x_range=DataRange1d(),
        y_range=Range1d(start=lowest, end=100.2),
    )
    starts, ends = np.array(completeness.starts_ms), np.array(completeness.ends_ms)
    source = ColumnDataSource({"start": starts, "end": ends, "share": share, "missed": too_late})
    renderers: list[Any] = [fig.step("start", "share", source=source, mode="after", line_width=1.5)]
    if len(share) <= FEW:
        renderers = [*renderers, fig.scatter("start", "share", source=source, size=5)]
    for drawn in renderers:
        give_role(drawn.glyph, "result")
    tips = [("from", f"@start{_INSTANT}"), ("taken", "@share{0.[000]} %"), ("too late", "@missed{0,0} rows")]
    add_hover(fig, renderers[-1:], tips, "@start", mode="vline")
    return fig


def _watermark(data: ReportData) -> dict[str, figure]:
    """Draw the line and the marks in two figures: in event time, and as the distance behind the arrival clock."""
    fires = np.array(data.watermark.fires_at_ms, dtype=np.float64)
    reached = np.array(data.watermark.watermark_ms, dtype=np.float64)
    samples = {"late": _marks(data.late), "too-late": _marks(data.too_late)}
    distances = [fires - reached, *(m["arrived"] - m["last"] for m in samples.values())]
    unit_ms, unit = unit_for(int(max((d.max() for d in distances if len(d)), default=0)))
    in_time = {"x_axis_type": "datetime", "x_range": DataRange1d()}
    plain = new_figure("Arrival time (UTC)", "Event time (UTC)", height=360, y_axis_type="datetime", **in_time)
    behind = new_figure("Arrival time (UTC)", f"Behind arrival ({unit})", height=300, **in_time)
    source = ColumnDataSource(
        {
            "fires": fires,
            "reached": reached,
            "closed": reached - data.allowed_lateness_ms,
            "behind": (fires - reached) / unit_ms,
        }
    )
    if data.allowed_lateness_ms:
        edge = plain.step("fires", "closed", source=source, mode="after", line_width=1, line_dash=[6, 4])
        give_role(edge.glyph, "watermark")
    for fig, height in ((plain, "reached"), (behind, "behind")):
        drawn = fig.step("fires", height, source=source, mode="after", line_width=1.5, line_alpha=0.8)
        give_role(drawn.glyph, "watermark")
        # A line needs two points to be seen.
        if 0 < len(fires) <= FEW:
            give_role(fig.scatter("fires", height, source=source, size=5).glyph, "watermark")
        tips = [("arrival", f"@fires{_INSTANT}"), ("watermark", f"@reached{_INSTANT}")]
        add_hover(fig, [drawn], tips, "@fires", "@reached")
    for role, columns in samples.items():
        columns["behind"] = (columns["arrived"] - columns["last"]) / unit_ms
        _draw_marks([(plain, "last"), (behind, "behind")], ColumnDataSource(columns), role, len(columns["rows"]))
    return {WATERMARK: plain, DISTANCE: behind}


def _draw_marks(places: list[tuple[figure, str]], source: ColumnDataSource, role: str, count: int) -> None:
    """Draw one sample of late rows in both figures; the more marks, the smaller each is."""
    size = 8 if count <= FEW else 6 if count <= 500 else 4
    tips = [
        ("rows", "@rows{0,0}"),
        ("arrived", f"@arrived{_INSTANT}"),
        ("window", f"@start{_INSTANT} to @end{_INSTANT}"),
        ("watermark", f"@watermark{_INSTANT}"),
    ]
    for fig, height in places if count else ():
        marker = "circle" if role == "late" else "x"
        drawn = fig.scatter("arrived", height, source=source, marker=marker, size=size, fill_alpha=0.25, line_alpha=0.8)
        give_role(drawn.glyph, role)
        add_hover(fig, [drawn], tips, "@arrived", "@start", "@end", "@watermark")


def _marks(marks: LateMarks) -> dict[str, Any]:
    """Return the sample as columns; `last` is the last millisecond of the window, which decides lateness."""
    ends = np.array([m.window_end_ms for m in marks.sample], dtype=np.float64)
    return {
        "arrived": np.array([m.arrived_ms for m in marks.sample], dtype=np.float64),
        "start": np.array([m.window_start_ms for m in marks.sample], dtype=np.float64),
        "end": ends,
        "last": ends - 1,
        "watermark": np.array([m.watermark_ms for m in marks.sample], dtype=np.float64),
        "rows": np.array([m.rows for m in marks.sample], dtype=np.float64),
    }


def _lateness(lateness: Lateness, allowed_ms: int | None) -> figure:
    unit_ms, unit = unit_for(lateness.edges_ms[-1])
    edges = np.array(lateness.edges_ms, dtype=np.float64) / unit_ms
    # The axis begins a little before 0, where the watermark is drawn.
    ranges = {"x_range": Range1d(start=-float(edges[-1]) / 64, end=float(edges[-1])), "y_range": DataRange1d(start=0)}
    fig = new_figure(f"Watermark past window end ({unit})", "Rows", height=300, **ranges)
    fig.yaxis.ticker = BasicTicker(min_interval=1)
    fig.yaxis.formatter = NumeralTickFormatter(format="0,0")
    for role, counts, hatch in (("late", lateness.late, " "), ("too-late", lateness.too_late, "/")):
        rows = np.array(counts, dtype=np.float64)
        some = rows > 0
        source = ColumnDataSource({"left": edges[:-1][some], "right": edges[1:][some], "rows": rows[some]})
        bars = fig.quad("left", "right", "rows", 0, source=source, line_width=0.5, hatch_pattern=hatch, hatch_alpha=0.5)
        give_role(bars.glyph, role)
        add_hover(fig, [bars], [("rows", "@rows{0,0}"), (unit, "@left{0.[00]} to @right{0.[00]}")])
    _stand(fig, 0, "watermark", [])
    if allowed_ms is not None:
        _stand(fig, allowed_ms / unit_ms, "ink", [6, 4])
    return fig


def _stand(fig: figure, location: float, role: str, dash: list[int]) -> None:
    """Draw a vertical line over the whole height."""
    line = Span(location=location, dimension="height", line_width=2, line_dash=dash, level="overlay")
    give_role(line, role)
    fig.add_layout(line)


def _results(results: Results) -> dict[str, figure]:
    """Draw a chart for each series; the charts share the axis of time."""
    starts, breaks = np.array(results.starts_ms, dtype=np.float64), _breaks(results)
    shared: dict[str, Any] = {"x_range": DataRange1d()}
    figures = {}
    for index, series in enumerate(results.series):
        fig = new_figure("Window start (UTC)", series.combined.value, height=210, x_axis_type="datetime", **shared)
        ends = np.array(results.ends_ms, dtype=np.float64)
        source = ColumnDataSource(
            {
                "start": np.insert(starts, breaks, np.nan),
                "end": np.insert(ends, breaks, np.nan),
                "value": np.insert(_finite(series.values), breaks, np.nan),
            }
        )
        line = fig.line("start", "value", source=source, line_width=1.5)
        give_role(line.glyph, "result")
        renderers: list[Any] = [line]
        # A single point between two gaps has no line: while there are few points, each is marked.
        if len(starts) <= FEW or len(breaks) > len(starts) / 4:
            points = fig.scatter("start", "value", source=source, size=4)
            give_role(points.glyph, "result")
            renderers = [points]
        tips = [("from", f"@start{_INSTANT}"), ("to", f"@end{_INSTANT}"), ("value", "@value{0,0.[00]}")]
        add_hover(fig, renderers, tips, "@start", "@end", mode="vline")
        fig.yaxis.formatter = NumeralTickFormatter(format="0.[00]a")
        figures[results_chart(index)] = fig
    return figures


def _breaks(results: Results) -> list[int]:
    """Return the positions of gaps between points, where windows have no result and no line is drawn."""
    pairs = zip(results.ends_ms[:-1], results.starts_ms[1:], strict=True)
    return [i + 1 for i, (end, start) in enumerate(pairs) if start > end]


def _finite(values: Sequence[float | None]) -> np.ndarray[Any, np.dtype[np.float64]]:
    numbers = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)
