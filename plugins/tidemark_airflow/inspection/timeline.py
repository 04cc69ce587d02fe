"""The time line of a window: a chart of its rows, panes and watermark over arrival time, and a summary in words.

The chart has event time upwards. The window is a band; a row that is too late lies right of the line at which the state
ended. A chart contains only numbers: names and values are in the table below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, DataRange1d
from bokeh.models.annotations import BoxAnnotation, Span
from bokeh.plotting import figure

from spark_jobs.explain.explanations import LifeStep, Step
from spark_jobs.inspection.inspections import Basis, WindowInspection
from spark_jobs.report.figures import add_hover, give_role, new_figure
from spark_jobs.report.pictures import Sign
from spark_jobs.report.text import counted
from spark_jobs.semantics.rows.instants import END_OF_INPUT

LIFE = "life-chart"

_INSTANT = "{%F %T.%3N}"
_ROLES = {"on_time": "on-time", "late": "late", "too_late": "too-late"}
# One row and several rows of a verdict.
_COUNTED = {
    "on_time": ("row on time", "rows on time"),
    "late": ("late row", "late rows"),
    "too_late": ("row too late", "rows too late"),
}
_LABELS = {"on_time": "row on time", "late": "late row", "too_late": "row too late"}


@dataclass(frozen=True)
class TimeLine:
    """The chart, None where fewer than two moments are known; its signs, and its summary in sentences."""

    chart: figure | None
    signs: tuple[Sign, ...]
    summary: tuple[str, ...]


def time_line(inspected: WindowInspection) -> TimeLine:
    """Return the time line of a window, or of the sessions around an instant."""
    steps = [step for step in inspected.life.steps or () if step.at is not None and step.at < END_OF_INPUT]
    summary = _summary(inspected)
    if len({step.at for step in steps}) < 2:
        return TimeLine(None, (), summary)
    return TimeLine(_chart(steps), _signs(steps), summary)


def _summary(inspected: WindowInspection) -> tuple[str, ...]:
    steps = inspected.life.steps or ()
    rows = [step.verdict for step in steps if step.step is Step.ROW]
    panes = sum(step.step is Step.PANE for step in steps)
    parts = [counted(rows.count(fate), *nouns) for fate, nouns in _COUNTED.items() if fate in rows]
    sentences = [f"The list has {', '.join([*parts, counted(panes, 'pane')])}."]
    if inspected.basis is Basis.PUBLISHED:
        sentences.append("Rows that the window took are not listed: panes have their number.")
    if inspected.is_cut:
        sentences.append(f"Only the first {len(steps):,} steps are listed.")
    return tuple(sentences)


def _signs(steps: Sequence[LifeStep]) -> tuple[Sign, ...]:
    verdicts = {step.verdict for step in steps}
    signs = [Sign("line", "watermark", "watermark"), Sign("bar", "filtered", "window")]
    signs += [
        Sign("cross" if fate == "too_late" else "circle", role, _LABELS[fate])
        for fate, role in _ROLES.items()
        if fate in verdicts
    ]
    if any(step.step is Step.PANE for step in steps):
        signs.append(Sign("dashed", "result", "pane"))
    if any(step.step is Step.CLOSED for step in steps):
        signs.append(Sign("line", "ink", "end of the state"))
    return tuple(signs)


def _chart(steps: Sequence[LifeStep]) -> figure:
    in_time = {"x_axis_type": "datetime", "y_axis_type": "datetime", "x_range": DataRange1d(range_padding=0.04)}
    fig = new_figure("Arrival time (UTC)", "Event time (UTC)", height=320, y_range=DataRange1d(), **in_time)
    for start, end in sorted({(step.window_start, step.window_end) for step in steps}):
        band = BoxAnnotation(bottom=_ms(start), top=_ms(end), fill_alpha=0.12, line_alpha=0.4, level="underlay")
        give_role(band, "filtered")
        fig.add_layout(band)
    for step in steps:
        if step.step is not Step.ROW:
            is_pane = step.step is Step.PANE
            line = Span(location=_ms(step.at), dimension="height", line_width=1.5, line_dash=[5, 3] if is_pane else [])
            give_role(line, "result" if is_pane else "ink")
            fig.add_layout(line)
    _draw_watermark(fig, steps)
    for fate, role in _ROLES.items():
        _draw_rows(fig, [step for step in steps if step.verdict == fate], role)
    _draw_panes(fig, [step for step in steps if step.pane is not None])
    return fig


def _draw_watermark(fig: figure, steps: Sequence[LifeStep]) -> None:
    marks = [step for step in steps if step.watermark is not None and step.watermark < END_OF_INPUT]
    if not marks:
        return
    source = ColumnDataSource(
        {"at": _column([step.at for step in marks]), "watermark": _column([step.watermark for step in marks])}
    )
    line = fig.step("at", "watermark", source=source, mode="after", line_width=1.5)
    points = fig.scatter("at", "watermark", source=source, size=4)
    for drawn in (line, points):
        give_role(drawn.glyph, "watermark")
    add_hover(fig, [points], [("at", f"@at{_INSTANT}"), ("watermark", f"@watermark{_INSTANT}")], "@at", "@watermark")


def _draw_rows(fig: figure, steps: Sequence[LifeStep], role: str) -> None:
    if not steps:
        return
    source = ColumnDataSource(
        {"at": _column([step.at for step in steps]), "event": _column([step.event_time for step in steps])}
    )
    marker = "x" if role == "too-late" else "circle"
    marks = fig.scatter("at", "event", source=source, marker=marker, size=8, fill_alpha=0.25, line_width=1.5)
    give_role(marks.glyph, role)
    add_hover(fig, [marks], [("arrived", f"@at{_INSTANT}"), ("event time", f"@event{_INSTANT}")], "@at", "@event")


def _draw_panes(fig: figure, steps: Sequence[LifeStep]) -> None:
    if not steps:
        return
    panes = [step.pane for step in steps if step.pane is not None]
    columns: dict[str, Any] = {
        "at": _column([step.at for step in steps]),
        # The last millisecond of a window fires it.
        "last": _column([step.window_end for step in steps]) - 1,
        "number": np.array([pane.pane_index for pane in panes]),
        "rows": np.array([pane.row_count for pane in panes]),
    }
    marks = fig.scatter("at", "last", source=ColumnDataSource(columns), marker="diamond", size=9, fill_alpha=0.6)
    give_role(marks.glyph, "result")
    add_hover(fig, [marks], [("pane", "@number"), ("rows", "@rows{0,0}"), ("fired", f"@at{_INSTANT}")], "@at")


def _column(moments: Sequence[datetime | None]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([np.nan if moment is None else _ms(moment) for moment in moments], dtype=np.float64)


def _ms(moment: datetime | None) -> float:
    return float("nan") if moment is None else 1000 * moment.timestamp()
