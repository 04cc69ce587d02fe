"""Pictures: each chart as sentences and as a small table, for readers who cannot see it, or print it.

A summary has the extent, the extremes, and the omissions of the chart; a table has a few of the chart's numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from spark_jobs.report import charts
from spark_jobs.report.data import (
    Combined,
    LateMarks,
    PartitionLine,
    PartitionLines,
    ReportData,
    Results,
    Series,
    WatermarkLine,
)
from spark_jobs.report.text import NOTHING, counted, duration, excerpt, extent, instant, number, share

_Point = TypeVar("_Point")

_TABLE_ROWS = 12
_OVERLAPPING = "Windows overlap: a row that came late for several is counted once for each that took it late."
_MANNER = {
    Combined.SUM: "sum over all keys",
    Combined.MEAN: "mean over all keys",
    Combined.SMALLEST: "smallest over all keys",
    Combined.LARGEST: "largest over all keys",
}


@dataclass(frozen=True)
class Sign:
    """One sign of a chart: its shape (line, dashed, thick, circle, cross, bar, hatched), its role, and its meaning."""

    shape: str
    role: str
    label: str


@dataclass(frozen=True)
class Picture:
    """A chart on the page: its id, its signs, its summary, and a table of it.

    `name` and `manner` are those of a result column, and `same_as` other columns with its values. Other charts are
    named by their headings.
    """

    id: str
    signs: tuple[Sign, ...]
    summary: tuple[str, ...]
    table_title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    name: str | None = None
    manner: str = ""
    same_as: tuple[str, ...] = ()


def watermark(data: ReportData) -> Picture:
    """Return the picture of the watermark against arrival time."""
    same = "The same line and marks in event time: over a long range a diagonal."
    if data.allowed_lateness_ms:
        same += " Late rows lie below the line, too late ones below the dashed line as well."
    return Picture(charts.WATERMARK, _signs(data, edge=data.allowed_lateness_ms > 0), (same,), *_line_table(data))


def distance(data: ReportData) -> Picture:
    """Return the picture of the distances of the watermark and of late rows behind arrival."""
    behind = _behind(data)
    summary = []
    if behind:
        reach = extent(duration(min(behind)), duration(max(behind)))
        summary.append(f"The watermark stood {reach} behind the arrival clock.")
    summary += [*_line_summary(data), *_marks_summary(data)]
    return Picture(charts.DISTANCE, _signs(data, edge=False), tuple(summary), *_line_table(data))


def lateness(data: ReportData) -> Picture:
    """Return the histogram of lateness."""
    bins = data.lateness
    late, too_late = sum(bins.late), sum(bins.too_late)
    allowed, longest = duration(data.allowed_lateness_ms), duration(bins.longest_ms)
    accepted = "rows were taken" if data.late_rows_fire else "firings stand for the late rows that were taken"
    summary = [
        f"The solid line at 0 is the watermark{_held_behind(data)}: what comes before it is on time.",
        f"{number(late)} late {accepted}, {number(too_late)} came too late; the longest lateness is {longest}.",
        f"The dashed line is the allowed lateness, {allowed}: from it on a row is too late."
        if data.closes
        else "No row is too late: a window takes all that come.",
    ]
    if data.overlapping:
        summary.append(_OVERLAPPING)
    if bins.open_ended:
        summary.append(f"The last bar holds everything from {duration(bins.edges_ms[-2])} on.")
    rows = []
    edges = zip(bins.edges_ms[:-1], bins.edges_ms[1:], strict=True)
    for i, ((start, end), accepted_rows, missed_rows) in enumerate(zip(edges, bins.late, bins.too_late, strict=True)):
        last = bins.open_ended and i == len(bins.late) - 1
        if accepted_rows or missed_rows:
            until = "and more" if last else duration(end)
            rows.append((duration(start), until, number(accepted_rows), number(missed_rows)))
    head = ("from", "to, exclusive", "late rows" if data.late_rows_fire else "late firings", "too late rows")
    bars = (Sign("bar", "late", "late, taken"), Sign("hatched", "too-late", "too late"))
    edge = (Sign("dashed", "ink", "allowed lateness"),) if data.closes else ()
    signs = (Sign("line", "watermark", "watermark"), *bars, *edge)
    return Picture(charts.LATENESS, signs, tuple(summary), "Rows by lateness", head, tuple(rows))


def _held_behind(data: ReportData) -> str:
    """Return the part of the sentence on the out-of-orderness bound, if there is one."""
    if not data.bounds_ms:
        return ""
    bounds = " or ".join(duration(bound) for bound in data.bounds_ms)
    return f", which the bound of {bounds} holds behind the newest rows"


def measures(data: ReportData) -> tuple[tuple[str, str], ...]:
    """Return the measures of late rows, each with its definition."""
    behind = (
        "Distance behind the watermark",
        "The watermark when the row came, less the row's event time. The tables below and late_by_ms use it.",
    )
    if data.join is not None and not data.join.by_window:
        return (("Lateness", "How far the watermark already stood past the event time of a row when the row came."),)
    longer = "" if data.merging else " It is longer than the lateness, by at most the size of the window."
    lateness = "How far the watermark already stood past the last millisecond of a row's window when the row came."
    return (("Lateness", f"{lateness} The allowed lateness is compared with it."), (behind[0], behind[1] + longer))


def partitions(data: ReportData) -> Picture:
    """Return the picture of the watermarks of source partitions, each by its name."""
    partition_lines = data.partitions
    drawn, total = number(len(partition_lines.lines)), number(partition_lines.partitions)
    words = [
        (
            "The broad line, the watermark of all, is that of the slowest partition that is not idle. A partition "
            "above it holds nothing back, and is marked as idle."
        ),
        f"All {total} partitions are drawn."
        if len(partition_lines.lines) == partition_lines.partitions
        else f"{drawn} of {total} partitions are drawn, those farthest behind on average.",
    ]
    if partition_lines.emissions > len(partition_lines.fires_at_ms):
        points, emissions = number(len(partition_lines.fires_at_ms)), number(partition_lines.emissions)
        words.append(f"They are drawn at {points} of the {emissions} emissions that fired windows.")
    rows = tuple(_partition(partition_lines, line, i) for i, line in enumerate(partition_lines.lines, start=1))
    head = ("number", "partition", "newest watermark (UTC)", "farthest behind arrival", "emissions while idle")
    idle = any(any(line.idle) for line in partition_lines.lines)
    signs = (
        Sign("thick", "watermark", "watermark of all"),
        *(Sign(*charts.partition_sign(i), excerpt(line.name, 40)) for i, line in enumerate(partition_lines.lines)),
        *([Sign("circle", "late", "idle")] if idle else []),
    )
    return Picture(charts.PARTITIONS, signs, tuple(words), "Partitions", head, rows)


def _partition(lines: PartitionLines, line: PartitionLine, index: int) -> tuple[str, ...]:
    marks = zip(lines.fires_at_ms, line.watermark_ms, strict=True)
    points = [(fires, mark) for fires, mark in marks if mark is not None]
    newest = instant(points[-1][1]) if points else "none yet"
    farthest = duration(max(fires - mark for fires, mark in points)) if points else NOTHING
    idle = f"{number(sum(line.idle))} of {number(len(line.idle))}"
    return number(index), excerpt(line.name, 80), newest, farthest, idle


def completeness(data: ReportData) -> Picture:
    """Return the picture of the share of rows in results over time."""
    rows_over_time = data.completeness
    in_results = sum(rows_over_time.taken)
    all_rows = in_results + sum(rows_over_time.missed)
    words = [f"Of {counted(all_rows, 'row')} that belong to a window, {share(in_results, all_rows)} are in its result."]
    numbers = (rows_over_time.taken, rows_over_time.missed)
    points = list(zip(rows_over_time.starts_ms, rows_over_time.ends_ms, *numbers, strict=True))
    lacking = [point for point in points if point[3]]
    if lacking:
        start, end, has, lacks = min(lacking, key=lambda point: point[2] / (point[2] + point[3]))
        words.append(f"Least complete is {instant(start)} to {instant(end)}: {share(has, has + lacks)}.")
    if data.overlapping:
        words.append("Windows overlap: a row counts in each that holds it.")
    head = ("from (UTC)", "to, exclusive", "rows taken", "rows too late", "share taken")
    rows = tuple(
        (instant(s), instant(e), number(has), number(lacks), share(has, has + lacks))
        for s, e, has, lacks in _spread(points)
    )
    signs = (Sign("line", "result", "share of rows taken"),)
    return Picture(charts.COMPLETENESS, signs, tuple(words), "Points of the line", head, rows)


def results(data: ReportData) -> tuple[Picture, ...]:
    """Return a picture for each result column over time."""
    return tuple(_series(data.results, series, i) for i, series in enumerate(data.results.series))


def thinning(data: ReportData) -> str:
    """Return a sentence on the meaning of a point of the results."""
    results = data.results
    if not results.starts_ms:
        return ""
    if data.join is not None and not data.join.by_window:
        each = duration(results.ends_ms[0] - results.starts_ms[0])
        ends = f"from {instant(results.starts_ms[0])} to {instant(results.ends_ms[-1])}"
        time = f"that of the row of {data.join.names[0]}" if data.join.is_as_of else "the greater of both rows'"
        return f"Pairs {ends} by their event time, {time}; a point is {each}."
    ends = f"from {instant(results.starts_ms[0])} to {instant(results.ends_ms[-1])}"
    summary = f"{counted(results.windows, 'window')} {ends}"
    if results.windows_per_point == 1:
        return summary + "."
    points = number(len(results.starts_ms))
    each = f"{number(results.windows_per_point)} neighbouring windows"
    if results.stretch_ms:
        each = f"the windows that begin within {duration(results.stretch_ms)}"
    return f"{summary}, drawn as {points} points; a point is {each}. No window is left out."


def _signs(data: ReportData, *, edge: bool) -> tuple[Sign, ...]:
    closed = (Sign("dashed", "watermark", "watermark less allowed lateness"),) if edge else ()
    late = (Sign("circle", "late", "late row" if data.late_rows_fire else "late firing"),) if data.late.sample else ()
    too_late = (Sign("cross", "too-late", "row too late"),) if data.too_late.sample else ()
    return (Sign("line", "watermark", "watermark"), *closed, *late, *too_late)


def _line_summary(data: ReportData) -> list[str]:
    line = data.watermark
    summary = []
    if line.firings:
        rose = f"The watermark rose from {instant(line.watermark_ms[0])} to {instant(line.watermark_ms[-1])}"
        summary.append(f"{rose}, arrival from {instant(line.fires_at_ms[0])} to {instant(line.fires_at_ms[-1])}.")
        summary.append(_thinned(line))
    if line.at_end:
        summary.append(f"The end of the input fired {counted(line.at_end, 'more window')}; it is not on the line.")
    if line.still_open:
        summary.append(f"When the input ended, {counted(line.still_open, 'window')} had not fired.")
    return summary


def _thinned(line: WatermarkLine) -> str:
    drawn = len(line.fires_at_ms)
    emissions = f"It is known at the {counted(line.firings, 'emission')} that fired windows"
    if drawn == line.firings:
        return emissions + "."
    return f"{emissions}; {number(drawn)} are drawn: first, last and farthest behind of each group of neighbours."


def _marks_summary(data: ReportData) -> list[str]:
    if not data.late.rows and not data.too_late.rows:
        return ["No row came late."]
    mark = "late row, at its arrival" if data.late_rows_fire else "late firing or a row too late, at its moment"
    has_windows = data.join is None or data.join.by_window
    height = "its window's last millisecond" if has_windows else "its event time"
    summary = [f"A mark is a {mark} and {height}; rows at one place share a mark."]
    if data.overlapping:
        summary.append(_OVERLAPPING)
    for name, marks in (("late", data.late), ("too late", data.too_late)):
        if marks.rows:
            of = "rows" if data.late_rows_fire or name == "too late" else "firings"
            summary.append(_sampled(f"{name} {of}", marks))
    return summary


def _sampled(name: str, marks: LateMarks) -> str:
    summary, drawn = f"{number(marks.rows)} {name}: {counted(marks.marks, 'mark')}", len(marks.sample)
    return f"{summary}, of which an even sample of {number(drawn)} is drawn." if drawn < marks.marks else f"{summary}."


def _behind(data: ReportData) -> list[int]:
    return [f - w for f, w in zip(data.watermark.fires_at_ms, data.watermark.watermark_ms, strict=True)]


def _line_table(data: ReportData) -> tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]:
    points = list(zip(data.watermark.fires_at_ms, data.watermark.watermark_ms, _behind(data), strict=True))
    rows = tuple((instant(f), instant(w), duration(b)) for f, w, b in _spread(points))
    return "Points of the line", ("arrival time (UTC)", "watermark (UTC)", "behind arrival"), rows


def _series(results: Results, series: Series, index: int) -> Picture:
    points_with_value = [(v, i) for i, v in enumerate(series.values) if v is not None and not math.isnan(v)]
    manner = _MANNER[series.combined] + (" and windows of a point" if results.windows_per_point > 1 else "")
    if series.combined is Combined.MEAN:
        manner += ", each result counted once"
    summary = ["There is no value to draw."]
    if points_with_value:
        (low, at_low), (high, at_high) = min(points_with_value), max(points_with_value)
        smallest = f"Smallest {number(low)}, at {instant(results.starts_ms[at_low])}"
        summary = [f"{smallest}; largest {number(high)}, at {instant(results.starts_ms[at_high])}."]
        if len(points_with_value) == 1:
            summary = [f"{number(high)}, at {instant(results.starts_ms[at_high])}."]
    points = list(zip(results.starts_ms, results.ends_ms, series.values, strict=True))
    rows = tuple((instant(s), instant(e), number(v)) for s, e, v in _spread(points))
    head = ("from (UTC)", "to, exclusive", "value")
    chart = charts.results_chart(index)
    return Picture(chart, (), tuple(summary), "Points of the line", head, rows, series.name, manner, series.same_as)


def _spread(points: Sequence[_Point]) -> list[_Point]:
    """Return a few points, including the first and the last."""
    if len(points) <= _TABLE_ROWS:
        return list(points)
    return [points[round(i * (len(points) - 1) / (_TABLE_ROWS - 1))] for i in range(_TABLE_ROWS)]
