"""The trend of a pipeline's runs: charts, a summary of each in words, and their numbers as tables.

Runs are drawn one beside the other, the oldest first, without regard to the time between them. Point i is run i of the
table below the chart. A run without counted rows leaves a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from bokeh.models import BasicTicker, ColumnDataSource, DataRange1d, NumeralTickFormatter, Range1d
from bokeh.plotting import figure

from spark_jobs.report.figures import FEW, add_hover, give_role, new_figure
from spark_jobs.report.pictures import Picture
from spark_jobs.report.text import NOTHING, moment, number, share
from spark_jobs.tables.run import Run
from tidemark_airflow.quality.ratios import Ratios

LATE, TOO_LATE, COMPLETENESS, FAILED = "late-chart", "too-late-chart", "completeness-chart", "failed-chart"
#: The most runs in one chart.
MOST = 100
_MARGIN = 2.0


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
    """Return the charts of runs, oldest first, by the id of their place; none without values."""
    ratios = [Ratios.of(run.counts) for run in runs]
    charts: dict[str, figure] = {}
    if any(ratios):
        for part in _PARTS:
            values = [None if ratio is None else 100 * getattr(ratio, part.part) / ratio.in_windows for ratio in ratios]
            charts[part.chart] = _line(values, part)
    if any("checks_failed" in run.counts for run in runs):
        charts[FAILED] = _bars([run.counts.get("checks_failed") for run in runs])
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
        words = (f"{part.meaning}, of those that belong to a window: from {least} to {most}.",)
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
    failed = [run.counts["checks_failed"] for run in runs if "checks_failed" in run.counts]
    if failed:
        some = sum(bool(count) for count in failed)
        checked = "1 run was" if len(failed) == 1 else f"{number(len(failed))} runs were"
        words = (f"{checked} checked; in {number(some)} of them checks failed, at most {number(max(failed))}.",)
    else:
        words = ("No run has been checked yet.",)
    return Picture(
        FAILED,
        (),
        words,
        "Checks, the newest run first",
        ("run", "started", "failed checks", "passed checks"),
        tuple(
            (*_of(i, run), *(number(run.counts.get(f"checks_{name}")) for name in ("failed", "passed")))
            for i, run in reversed([*enumerate(runs, 1)])
        ),
        "Failed checks",
    )


def _of(index: int, run: Run) -> tuple[str, str]:
    return number(index), moment(run.started_at)


def _share(ratios: Ratios | None, part: str) -> str:
    return NOTHING if ratios is None else share(getattr(ratios, part), ratios.in_windows)


def _line(values: Sequence[float | None], part: _Part) -> figure:
    y_range = DataRange1d() if part.chart == COMPLETENESS else DataRange1d(start=0)
    fig = _figure("% of rows in windows", y_range, len(values))
    source = _source(values)
    give_role(fig.line("run", "value", source=source, line_width=1.5).glyph, part.role)
    marks = fig.scatter("run", "value", source=source, size=5 if len(values) <= FEW / 2 else 3)
    give_role(marks.glyph, part.role)
    add_hover(fig, [marks], [("run", "@run"), ("%", "@value{0.[000]}")])
    return fig


def _bars(counts: Sequence[int | None]) -> figure:
    fig = _figure("Failed checks", DataRange1d(start=0), len(counts))
    bars = fig.vbar("run", width=0.8, top="value", source=_source(counts))
    give_role(bars.glyph, "too-late")
    add_hover(fig, [bars], [("run", "@run"), ("failed checks", "@value")])
    fig.yaxis.formatter = NumeralTickFormatter(format="0,0")
    fig.yaxis.ticker = BasicTicker(min_interval=1)
    return fig


def _figure(y_label: str, y_range: DataRange1d, runs: int) -> figure:
    x_range = Range1d(start=0.5, end=runs + 0.5)
    fig = new_figure("Run, oldest first", y_label, height=210, x_range=x_range, y_range=y_range)
    fig.xaxis.ticker = BasicTicker(min_interval=1)
    fig.xaxis.formatter = NumeralTickFormatter(format="0")
    fig.xgrid.visible = False
    return fig


def _source(values: Sequence[float | None]) -> ColumnDataSource:
    heights = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return ColumnDataSource({"run": np.arange(1, len(values) + 1), "value": heights})
