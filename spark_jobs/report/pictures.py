"""What each chart says in words and in a small table, for those who do not see it, or see it on paper.

A summary tells extent, extremes, and what the chart leaves out; a table holds a few rows of the chart's own numbers.
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
from spark_jobs.report.text import NOTHING, duration, instant, number, share, shown

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
    """One sign of a chart: its shape (line, dashed, circle, cross, bar, hatched), its role, and what it stands for."""

    shape: str
    role: str
    label: str


@dataclass(frozen=True)
class Picture:
    """A chart's place in the page: its id, its signs, what it says, and a table of it.

    `name` and `manner` are those of a result column; other charts are named by their headings.
    """

    id: str
    signs: tuple[Sign, ...]
    summary: tuple[str, ...]
    table_title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    name: str | None = None
    manner: str = ""


def watermark(data: ReportData) -> Picture:
    """Tell the watermark against arrival time."""
    return Picture(
        charts.WATERMARK,
        _signs(data, edge=data.allowed_lateness_ms > 0),
        (*_line_told(data), *_marks_told(data)),
        *_line_table(data),
    )


def distance(data: ReportData) -> Picture:
    """Tell how far the watermark and the late rows stood behind arrival."""
    behind = _behind(data)
    told = ["The same line and marks as distances behind the arrival clock, which shows what a long diagonal hides."]
    if behind:
        told.append(f"The watermark stood from {duration(min(behind))} to {duration(max(behind))} behind arrival.")
    return Picture(charts.DISTANCE, _signs(data, edge=False), tuple(told), *_line_table(data))


def lateness(data: ReportData) -> Picture:
    """Tell the histogram of lateness."""
    bins = data.lateness
    late, too_late = sum(bins.late), sum(bins.too_late)
    allowed, longest = duration(data.allowed_lateness_ms), duration(bins.longest_ms)
    what = "rows were taken" if data.late_rows_fire else "firings stand for the late rows that were taken"
    told = [
        f"How far the watermark already stood past {_judged_by(data)} when the row came.",
        f"The solid line at 0 is the watermark{_held_behind(data)}: what comes before it is on time.",
        f"{number(late)} late {what}, {number(too_late)} were too late; the longest lateness is {longest}.",
        f"The dashed line is the allowed lateness, {allowed}: from there on a row is too late."
        if data.closes
        else "No row is too late: a window takes all that come.",
    ]
    if data.overlapping:
        told.append(_OVERLAPPING)
    if bins.open_ended:
        told.append(f"The last bar holds everything from {duration(bins.edges_ms[-2])} on.")
    rows = []
    edges = zip(bins.edges_ms[:-1], bins.edges_ms[1:], strict=True)
    for i, ((start, end), taken, missed) in enumerate(zip(edges, bins.late, bins.too_late, strict=True)):
        last = bins.open_ended and i == len(bins.late) - 1
        if taken or missed:
            rows.append((duration(start), "and more" if last else duration(end), number(taken), number(missed)))
    head = ("from", "to, exclusive", "late rows" if data.late_rows_fire else "late firings", "too late rows")
    bars = (Sign("bar", "late", "late, taken"), Sign("hatched", "too-late", "too late"))
    edge = (Sign("dashed", "ink", "allowed lateness"),) if data.closes else ()
    signs = (Sign("line", "watermark", "watermark"), *bars, *edge)
    return Picture(charts.LATENESS, signs, tuple(told), "Rows by lateness", head, tuple(rows))


def _held_behind(data: ReportData) -> str:
    """What holds the watermark back, where that is a bound."""
    if not data.bounds_ms:
        return ""
    bounds = " or ".join(duration(bound) for bound in data.bounds_ms)
    return f", which the bound of {bounds} holds behind the newest rows"


def _judged_by(data: ReportData) -> str:
    by_interval = data.join is not None and data.join.by_interval
    return "the event time of a row" if by_interval else "the last millisecond of a row's window"


def partitions(data: ReportData) -> Picture:
    """Tell the watermarks of source partitions; the table names what the chart numbers."""
    told = data.partitions
    drawn, there = number(len(told.lines)), number(told.partitions)
    words = [
        (
            "The watermark of all is that of the slowest partition that is not idle: what stands still above the thick "
            "line holds nothing back, and is marked as idle."
        ),
        f"All {there} partitions are drawn."
        if len(told.lines) == told.partitions
        else f"{drawn} of {there} partitions are drawn, those farthest behind on average.",
    ]
    if told.emissions > len(told.fires_at_ms):
        points, known = number(len(told.fires_at_ms)), number(told.emissions)
        words.append(f"They are told at {points} of the {known} emissions that fired windows.")
    rows = tuple(_partition(told, line, i) for i, line in enumerate(told.lines, start=1))
    head = ("number", "partition", "newest watermark (UTC)", "farthest behind arrival", "emissions while idle")
    signs = (
        Sign("line", "watermark", "watermark of all"),
        Sign("line", "on-time", "of a partition, by its number"),
        Sign("circle", "late", "idle"),
    )
    return Picture(charts.PARTITIONS, signs, tuple(words), "Partitions", head, rows)


def _partition(told: PartitionLines, line: PartitionLine, index: int) -> tuple[str, ...]:
    known = [(fires, mark) for fires, mark in zip(told.fires_at_ms, line.watermark_ms, strict=True) if mark is not None]
    newest = instant(known[-1][1]) if known else "none yet"
    farthest = duration(max(fires - mark for fires, mark in known)) if known else NOTHING
    idle = f"{number(sum(line.idle))} of {number(len(line.idle))}"
    return number(index), shown(line.name, 80), newest, farthest, idle


def completeness(data: ReportData) -> Picture:
    """Tell the share of rows that windows have taken over time."""
    told = data.completeness
    taken = sum(told.taken)
    all_rows = taken + sum(told.missed)
    words = [f"Of {number(all_rows)} rows that windows should hold {share(taken, all_rows)} are in their results."]
    points = list(zip(told.starts_ms, told.ends_ms, told.taken, told.missed, strict=True))
    lacking = [point for point in points if point[3]]
    if lacking:
        start, _, has, lacks = min(lacking, key=lambda point: point[2] / (point[2] + point[3]))
        words.append(f"Least complete is the window from {instant(start)}: {share(has, has + lacks)}.")
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
    """Tell each result column over time."""
    return tuple(_series(data.results, series, i) for i, series in enumerate(data.results.series))


def thinning(data: ReportData) -> str:
    """Say what a point of the results stands for, and what is not drawn."""
    results = data.results
    if not results.starts_ms:
        return ""
    if data.join is not None and data.join.by_interval:
        each = duration(results.ends_ms[0] - results.starts_ms[0])
        ends = f"from {instant(results.starts_ms[0])} to {instant(results.ends_ms[-1])}"
        return f"Pairs {ends} by their event time, the greater of both rows'; a point is {each}."
    told = f"{number(results.windows)} windows from {instant(results.starts_ms[0])} to {instant(results.ends_ms[-1])}"
    if results.windows_per_point == 1:
        return told + "."
    points, each = number(len(results.starts_ms)), number(results.windows_per_point)
    return f"{told}, drawn as {points} points of {each} neighbouring windows each; no window is left out."


def _signs(data: ReportData, *, edge: bool) -> tuple[Sign, ...]:
    closed = (Sign("dashed", "watermark", "watermark less allowed lateness"),) if edge else ()
    late = (Sign("circle", "late", "late row" if data.late_rows_fire else "late firing"),) if data.late.sample else ()
    too_late = (Sign("cross", "too-late", "row too late"),) if data.too_late.sample else ()
    return (Sign("line", "watermark", "watermark"), *closed, *late, *too_late)


def _line_told(data: ReportData) -> list[str]:
    line = data.watermark
    told = []
    if line.firings:
        rose = f"The watermark rose from {instant(line.watermark_ms[0])} to {instant(line.watermark_ms[-1])}"
        told.append(f"{rose}, arrival from {instant(line.fires_at_ms[0])} to {instant(line.fires_at_ms[-1])}.")
        told.append(_thinned(line))
    if line.at_end:
        told.append(f"The end of the input fired {number(line.at_end)} more windows; it is not on the line.")
    if line.still_open:
        told.append(f"{number(line.still_open)} windows were still open when the input ended.")
    return told


def _thinned(line: WatermarkLine) -> str:
    known, drawn = f"It is known at the {number(line.firings)} emissions that fired windows", len(line.fires_at_ms)
    if drawn == line.firings:
        return known + "."
    return f"{known}; {number(drawn)} are drawn: first, last and farthest behind of each group of neighbours."


def _marks_told(data: ReportData) -> list[str]:
    if not data.late.rows and not data.too_late.rows:
        return ["No row came late."]
    what = "late row, at its arrival" if data.late_rows_fire else "late firing or a row too late, at its moment"
    by_interval = data.join is not None and data.join.by_interval
    where = "its event time" if by_interval else "its window's last millisecond"
    told = [f"A mark is a {what} and {where}; rows at one place share a mark."]
    if data.overlapping:
        told.append(_OVERLAPPING)
    if data.allowed_lateness_ms:
        told.append("Late rows lie below the line, too late ones below the dashed line as well.")
    for name, marks in (("late", data.late), ("too late", data.too_late)):
        if marks.rows:
            of = "rows" if data.late_rows_fire or name == "too late" else "firings"
            told.append(_sampled(f"{name} {of}", marks))
    return told


def _sampled(name: str, marks: LateMarks) -> str:
    made = "1 mark" if marks.marks == 1 else f"{number(marks.marks)} marks"
    told, drawn = f"{number(marks.rows)} {name}: {made}", len(marks.sample)
    return f"{told}, of which an even sample of {number(drawn)} is drawn." if drawn < marks.marks else f"{told}."


def _behind(data: ReportData) -> list[int]:
    return [f - w for f, w in zip(data.watermark.fires_at_ms, data.watermark.watermark_ms, strict=True)]


def _line_table(data: ReportData) -> tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]:
    points = list(zip(data.watermark.fires_at_ms, data.watermark.watermark_ms, _behind(data), strict=True))
    rows = tuple((instant(f), instant(w), duration(b)) for f, w, b in _spread(points))
    return "Points of the line", ("arrival time (UTC)", "watermark (UTC)", "behind arrival"), rows


def _series(results: Results, series: Series, index: int) -> Picture:
    known = [(v, i) for i, v in enumerate(series.values) if v is not None and not math.isnan(v)]
    manner = _MANNER[series.combined] + (" and windows of a point" if results.windows_per_point > 1 else "")
    told = ["There is no value to draw."]
    if known:
        (low, at_low), (high, at_high) = min(known), max(known)
        smallest = f"Smallest {number(low)}, at {instant(results.starts_ms[at_low])}"
        told = [f"{smallest}; largest {number(high)}, at {instant(results.starts_ms[at_high])}."]
    points = list(zip(results.starts_ms, results.ends_ms, series.values, strict=True))
    rows = tuple((instant(s), instant(e), number(v)) for s, e, v in _spread(points))
    head = ("from (UTC)", "to, exclusive", "value")
    return Picture(charts.results_chart(index), (), tuple(told), "Points of the line", head, rows, series.name, manner)


def _spread(points: Sequence[_Point]) -> list[_Point]:
    """A few points, the first and the last among them."""
    if len(points) <= _TABLE_ROWS:
        return list(points)
    return [points[round(i * (len(points) - 1) / (_TABLE_ROWS - 1))] for i in range(_TABLE_ROWS)]
