"""Explanations as text, in 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from spark_jobs.cases.value_text import time_text, value_text
from spark_jobs.cli import printing
from spark_jobs.cli.fitting_table import Column, fitting
from spark_jobs.explain import words
from spark_jobs.explain.explanations import (
    INVALID,
    LEFT_OUT,
    RULES,
    UNASSIGNED,
    ExplainedPane,
    ExplainedPartner,
    ExplainedRow,
    ExplainedWindow,
    Meeting,
    WindowLife,
)
from spark_jobs.jobs.explain.explain import Explanation, Request
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.semantics.rows.instants import END_OF_INPUT
from spark_jobs.semantics.windows.lateness import Lateness

#: How many rows of the other input are listed.
_MOST_PARTNERS = 10


def show(pipeline: Pipeline, request: Request, explained: Explanation, changed: Sequence[str]) -> None:
    """Print explanations of rows, then that of a window. `changed` are settings that the published run had not."""
    about = f"run {explained.run_id}" if explained.run_id else "nothing is published yet"
    printing.print_line(f"{explained.pipeline}: {_versions(explained)}, {about}")
    if changed:
        printing.print_line("the file has other settings than the published results:")
        for change in changed:
            printing.print_line(f"  {change}")
    for condition, rows in zip(request.conditions, explained.rows, strict=True):
        if not rows:
            printing.print_line(f"no row has arrived with {condition}")
        for row in rows:
            printing.print_line("")
            for line in _row(pipeline, row):
                printing.print_line(line)
        if len(rows) == request.most:
            printing.print_line(f"the first {request.most} rows with {condition}; --limit shows more")
    if request.window_start_ms is not None:
        printing.print_line("")
        _show_window(explained.window)


def _versions(explained: Explanation) -> str:
    """Return the versions of the sources; the only source has no name."""
    versions = explained.source_versions
    return ", ".join(f"version {version} of {name or 'the source'}" for name, version in versions.items())


def _row(pipeline: Pipeline, row: ExplainedRow) -> Iterator[str]:
    yield _values(row.row, row.input)
    reason = f" ({row.reason})" if row.reason else ""
    of_fate = words.fates(pipeline.join, drops_late=pipeline.windows.drops_late)[row.fate]
    yield f"  {of_fate}{reason}{_rule_without_window(pipeline, row)}"
    yield f"  event time    {time_text(row.event_time) or 'none'}"
    if row.arrival_time is not None:
        place = "" if row.rows_before is None else f"   {words.rows(row.rows_before)} arrived before it"
        yield f"  arrival time  {time_text(row.arrival_time)}{place}"
    if row.fate in (INVALID, LEFT_OUT):
        return
    yield f"  watermark     {_watermark(row.watermark)}   before it"
    several = row.partitions or []
    if len(several) > 1:
        for each in several:
            own = "   the row's partition" if each.source_partition == row.source_partition else ""
            holds = "   holds the others back" if each.holds_back else "   idle" if each.is_idle else ""
            yield f"    {each.source_partition or '(null)'}: {_watermark(each.watermark)}{holds}{own}"
        if any(each.is_idle is None for each in several):
            yield "    which other partitions were idle is unknown"
    for window in row.windows:
        yield from _window(window)
    if pipeline.join is not None and not pipeline.join.by_window:
        yield from _partners(row.partners, as_of=pipeline.join.is_as_of)
    yield from _remedies(pipeline, row)


def _rule_without_window(pipeline: Pipeline, row: ExplainedRow) -> str:
    has_windows = pipeline.join is None or pipeline.join.by_window
    is_outside = not row.windows and row.fate in (UNASSIGNED, Lateness.TOO_LATE.value)
    return f" (rule {RULES[UNASSIGNED]})" if has_windows and is_outside else ""


def _partners(partners: Sequence[ExplainedPartner] | None, *, as_of: bool) -> Iterator[str]:
    place, meetings = ("of its time", words.MEETINGS_AS_OF) if as_of else ("within reach", words.MEETINGS)
    if partners is None:
        yield f"  the rows {place} are too many to list"
        return
    joined = sum(partner.meeting is Meeting.JOINED for partner in partners)
    yield f"  joined {joined:,} of {words.rows(len(partners))} of the other input {place}"
    for partner in partners[:_MOST_PARTNERS]:
        at = f", at {time_text(partner.paired_at)}" if partner.paired_at else ""
        yield f"    {meetings[partner.meeting]} (rule {partner.rule}){at}: {_values(partner.row)}"
    if len(partners) > _MOST_PARTNERS:
        yield f"    the first {_MOST_PARTNERS}; --json returns all"


def _window(window: ExplainedWindow) -> Iterator[str]:
    bounds = f"[{time_text(window.window_start)}, {time_text(window.window_end)})"
    closing = _watermark(window.closes_at_watermark) if window.closes_at_watermark else "none"
    yield f"  window {bounds}: {window.verdict.replace('_', ' ')} (rule {window.rule})"
    yield f"    fires at watermark {_watermark(window.fires_at_watermark)}, closes at {closing}"
    if window.is_repaired:
        yield "    a repair has computed this window again, with all of its late rows"
    if window.panes is None:
        yield "    the panes are not listed: the window has too many rows"
    for pane in window.panes or ():
        yield f"    in {_pane(pane)}"


def _pane(pane: ExplainedPane) -> str:
    at = f", fired at {time_text(pane.fired_at)}" if pane.fired_at else ""
    timing = pane.timing.replace("_", " ")
    rows = words.rows(pane.row_count)
    return f"pane {pane.pane_index}: {timing}{at} by watermark {_watermark(pane.watermark)}, {rows}"


def _remedies(pipeline: Pipeline, row: ExplainedRow) -> Iterator[str]:
    if row.least_bound_increase_ms is not None:
        more = format_duration(row.least_bound_increase_ms)
        yield f"  it would have counted with the bound of each source greater by {more}"
    mark = pipeline.watermark
    now = words.bound_now(mark.strategy, mark.lag_ms if mark.follows_clock else mark.bound_ms)
    remedies = [(words.bound_setting(mark.strategy), now, row.least_bound_ms)]
    lateness = format_duration(pipeline.windows.allowed_lateness_ms)
    remedies.append(("windows.allowed_lateness", lateness, row.least_lateness_ms))
    for name, before, least in remedies:
        if least is not None:
            yield f"  it would have counted with {name} {format_duration(least)} (now {before})"


def _show_window(life: WindowLife | None) -> None:
    if life is None:
        printing.print_line("the window has no row: no row of this key with such an event time has arrived")
        return
    if life.steps is None:
        printing.print_line(f"{life.row_count:,} rows are around the window, too many to list")
        return
    windows = {(step.window_start, step.window_end) for step in life.steps}
    day = life.steps[0].window_start.date()
    printing.print_line(f"times without a day are of {day} (UTC)")
    columns = [
        Column("at", [_short(step.at, day) for step in life.steps], right=False),
        Column("event", [words.event(step) for step in life.steps], right=False),
        Column("event time", [_short(step.event_time, day) for step in life.steps], right=False),
        Column("watermark", [_watermark(step.watermark, day) for step in life.steps], right=False),
    ]
    if len(windows) > 1:
        bounds = [f"{_short(step.window_start, day)} to {_short(step.window_end, day)}" for step in life.steps]
        columns.insert(2, Column("window", bounds, rank=1, right=False))
    columns.append(
        Column("row", [_values(step.row, step.input) if step.row else "" for step in life.steps], rank=2, right=False)
    )
    printing.OUT.print(fitting(columns, printing.OUT.width))


def _values(row: Mapping[str, Any], of_input: str | None = None) -> str:
    name = f"{of_input}: " if of_input else ""
    return name + ", ".join(f"{column} = {value_text(value)}" for column, value in row.items())


def _short(moment: datetime | None, day: date) -> str:
    """Return a time without its date where that is `day`, and without its year where that is the year of `day`."""
    text = time_text(moment)
    if moment is None or moment.year != day.year:
        return text
    return text.split(" ")[-1] if moment.date() == day else text.split("-", 1)[1]


def _watermark(moment: datetime | None, day: date | None = None) -> str:
    if moment is None:
        return "none yet"
    if moment == END_OF_INPUT:
        return "the end of the input"
    return time_text(moment) if day is None else _short(moment, day)
