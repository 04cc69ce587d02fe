"""The trend of a pipeline's runs: charts, a summary of each in words, and their numbers as tables.

A run is drawn at the time when it started. Its number is that of its row in the table below the chart. A run without
counted rows leaves a gap. One run has no trend: it is shown by its numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from bokeh.models import BasicTicker, ColumnDataSource, DataRange1d, NumeralTickFormatter, Range1d
from bokeh.plotting import figure

from spark_jobs.report.figures import FEW, add_hover, give_role, new_figure
from spark_jobs.report.pictures import Picture
from spark_jobs.report.text import NOTHING, counted, extent, moment, number, share
from spark_jobs.tables.run import Run
from tidemark_airflow.quality.ratios import Ratios

LATE, TOO_LATE, COMPLETENESS, FAILED = "late-chart", "too-late-chart", "completeness-chart", "failed-chart"
#: The most runs in one chart.
MOST = 100
_MARGIN = 2.0
_HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Spark:
    """A small line of at most `TREND` values: its points in a box of 100 by 24, and its values in words."""

    points: str
    words: str


def spark(ratios: Sequence[Ratios | None]) -> Spark | None:
    """Return the too late ratios of runs, the oldest first; None for fewer than two values."""
    values = [ratio for ratio in ratios if ratio is not None]
    if len(values) < 2:
        return None
    top = max(ratio.too_late_ratio for ratio in values) or 1.0
    step = (100 - 2 * _MARGIN) / (len(values) - 1)
    points = [
        f"{_MARGIN + i * step:.1f},{24 - _MARGIN - (24 - 2 * _MARGIN) * ratio.too_late_ratio / top:.1f}"
        for i, ratio in enumerate(values)
    ]
    shares = ", ".join(share(ratio.too_late, ratio.in_windows) for ratio in values)
    return Spark(" ".join(points), f"Too late ratio of {len(values)} runs, the oldest first: {shares}")


@dataclass(frozen=True)
class _Part:
    """A share of the rows in windows that has a chart: its title, its role in the chart, and its meaning."""

    chart: str
    part: str
    title: str
    role: str
    meaning: str


_PARTS = (
    _Part(LATE, "late", "Late ratio", "late", "Rows that came late and were taken"),
    _Part(TOO_LATE, "too_late", "Too late ratio", "too-late", "Rows that no window took any more"),
    _Part(COMPLETENESS, "in_results", "Completeness", "on-time", "Rows that a window took, on time or late"),
)


def drawn(runs: Sequence[Run]) -> dict[str, figure]:
    """Return the charts of runs, oldest first, by the id of their place; none for fewer than two values."""
    ratios = [Ratios.of(run.counts) for run in runs]
    charts: dict[str, figure] = {}
    if sum(ratio is not None for ratio in ratios) > 1:
        for part in _PARTS:
            values = [None if ratio is None else 100 * getattr(ratio, part.part) / ratio.in_windows for ratio in ratios]
            charts[part.chart] = _line(runs, values, part)
    if sum("checks_failed" in run.counts for run in runs) > 1:
        charts[FAILED] = _bars(runs, [run.counts.get("checks_failed") for run in runs])
    return charts


def pictures(runs: Sequence[Run]) -> list[Picture]:
    """Return the charts of runs, oldest first, in words and as tables; `name` is the heading of a chart."""
    rated = [(i, run, Ratios.of(run.counts)) for i, run in enumerate(runs, 1)]
    return [*(_of_part(part, rated) for part in _PARTS), _of_checks(runs)]


def _of_part(part: _Part, rated: Sequence[tuple[int, Run, Ratios | None]]) -> Picture:
    counted = [ratios for _, _, ratios in rated if ratios is not None]
    if counted:
        by_share = sorted(counted, key=lambda ratios: getattr(ratios, part.part) / ratios.in_windows)
        least, most = (_share(ratios, part.part) for ratios in (by_share[0], by_share[-1]))
        words = (f"{part.meaning}, of those that belong to a window: {extent(least, most)}.",)
    else:
        words = ("No run has counted rows that belong to a window.",)
    return Picture(
        part.chart,
        (),
        words,
        f"{part.title}, the newest run first",
        ("run", "started", part.title.lower(), "rows", "rows in windows"),
        tuple(
            (
                *_of(i, run),
                _share(ratios, part.part),
                number(None if ratios is None else getattr(ratios, part.part)),
                number(None if ratios is None else ratios.in_windows),
            )
            for i, run, ratios in reversed(rated)
        ),
        part.title,
    )


def _of_checks(runs: Sequence[Run]) -> Picture:
    return Picture(
        FAILED,
        (),
        (_checked([run.counts["checks_failed"] for run in runs if "checks_failed" in run.counts]),),
        "Checks, the newest run first",
        ("run", "started", "failed checks", "passed checks"),
        tuple(
            (*_of(i, run), *(number(run.counts.get(f"checks_{name}")) for name in ("failed", "passed")))
            for i, run in reversed([*enumerate(runs, 1)])
        ),
        "Failed checks",
    )


def _checked(failed: Sequence[int]) -> str:
    """Return how many runs were checked, and in how many of them checks failed, from their numbers of failed checks."""
    if not failed:
        return "No run has been checked yet."
    checked = counted(len(failed), "run was", "runs were")
    some = sum(bool(count) for count in failed)
    if not some:
        return f"{checked} checked; no check failed."
    most = f"{counted(max(failed), 'check')} failed" if some == 1 else f"at most {counted(max(failed), 'check')} failed"
    return f"{checked} checked; in {number(some)} of them {most}."


def _of(index: int, run: Run) -> tuple[str, str]:
    return number(index), moment(run.started_at)


def _share(ratios: Ratios | None, part: str) -> str:
    return NOTHING if ratios is None else share(getattr(ratios, part), ratios.in_windows)


def _line(runs: Sequence[Run], values: Sequence[float | None], part: _Part) -> figure:
    y_range = Range1d(start=_lowest(values), end=100) if part.chart == COMPLETENESS else DataRange1d(start=0)
    fig = _figure("% of rows in windows", y_range)
    source = _source(runs, values)
    give_role(fig.line("started", "value", source=source, line_width=1.5).glyph, part.role)
    # The highest possible share is at the edge of the frame.
    marks = fig.scatter("started", "value", source=source, size=6 if len(values) <= FEW / 2 else 3, level="overlay")
    give_role(marks.glyph, part.role)
    add_hover(fig, [marks], [("run", "@run"), ("started", "@started{%F %T}"), ("%", "@value{0.[000]}")], "@started")
    return fig


def _lowest(values: Sequence[float | None]) -> float:
    """Return where the axis of completeness begins: below the lowest share, by as much as that is below 100 %."""
    lowest = min(value for value in values if value is not None)
    return max(0.0, min(100 - 1.3 * (100 - lowest), 99.9))


def _bars(runs: Sequence[Run], counts: Sequence[int | None]) -> figure:
    fig = _figure("Failed checks", DataRange1d(start=0))
    source = _source(runs, counts)
    started = sorted({_started_ms(run) for run in runs})
    gaps = [later - earlier for earlier, later in pairwise(started)]
    # Wide enough to be seen where a few runs followed each other soon.
    width = max(0.8 * min(gaps, default=_HOUR_MS), (started[-1] - started[0]) / 200)
    bars = fig.vbar("started", width=width, top="value", source=source)
    give_role(bars.glyph, "too-late")
    tips = [("run", "@run"), ("started", "@started{%F %T}"), ("failed checks", "@value")]
    add_hover(fig, [bars], tips, "@started")
    fig.yaxis.formatter = NumeralTickFormatter(format="0,0")
    fig.yaxis.ticker = BasicTicker(min_interval=1)
    return fig


def _figure(y_label: str, y_range: DataRange1d | Range1d) -> figure:
    in_time = {"x_axis_type": "datetime", "x_range": DataRange1d(range_padding=0.04)}
    fig = new_figure("Start of the run (UTC)", y_label, height=210, y_range=y_range, **in_time)
    fig.xgrid.visible = False
    return fig


def _source(runs: Sequence[Run], values: Sequence[float | None]) -> ColumnDataSource:
    heights = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    started = np.array([_started_ms(run) for run in runs])
    return ColumnDataSource({"run": np.arange(1, len(values) + 1), "started": started, "value": heights})


def _started_ms(run: Run) -> float:
    return 0.0 if run.started_at is None else 1000 * run.started_at.timestamp()
