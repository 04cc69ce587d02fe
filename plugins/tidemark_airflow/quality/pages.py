"""The pages as HTML: complete but for the scripts that Airflow serves, and safe for any values in the data."""

# ruff: noqa: S704  what is marked as safe is this project's own text
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from spark_jobs.figures import FiguresTable, figures_table
from spark_jobs.report import headlines, palette, text
from spark_jobs.report.checks import Listed, listed
from spark_jobs.report.templating import embedded, environment, template_text
from spark_jobs.tables.run import ARRIVALS, CHANGED, REPAIR, ROLLBACK, Run
from spark_jobs.tables.run_history import History
from tidemark_airflow.quality import limits, places, scripts, trend
from tidemark_airflow.quality.airflow_metadata import DagRunState
from tidemark_airflow.quality.check_rows import Check
from tidemark_airflow.quality.overview import PIPELINES, Row
from tidemark_airflow.quality.ratios import Ratios

#: Runs in the table of one page of a pipeline, and failed checks of each run.
RUNS, CHECKS = 20, 20
_PACKAGE = __package__ or ""


@dataclass(frozen=True)
class RunView:
    """A run as a page shows it: with its checks, and whether its report and data docs exist."""

    run: Run
    checks: tuple[Check, ...] = ()
    has_report: bool = False
    problem: str | None = None
    has_data_docs: bool = False

    @property
    def listed(self) -> Listed[Check]:
        """Its checks as a page lists them."""
        return listed(self.checks)

    @property
    def spark(self) -> FiguresTable | None:
        """Spark's figures of its steps; None if none of them ran on Spark."""
        return figures_table(self.run.steps)

    @property
    def ratios(self) -> Ratios | None:
        """Shares of its rows."""
        return Ratios.of(self.run.counts)


@dataclass(frozen=True)
class Part:
    """Which page of several this is, from 1."""

    page: int
    pages: int

    @classmethod
    def of(cls, page: int, items: int, size: int) -> Part:
        """Return the requested page, or the last if there are fewer."""
        pages = max(1, -(-items // size))
        return cls(min(page, pages), pages)

    def cut(self, size: int) -> slice:
        """Return the range of its items among all."""
        return slice((self.page - 1) * size, self.page * size)


def overview(rows: Sequence[Row], part: Part, nonce: str, *, pipelines: int, broken: Sequence[str] = ()) -> str:
    """Return a page of the overview, of `pipelines` in all; `broken` files, a line each."""
    return _render("overview.html", nonce, rows=rows, part=part, pipelines=pipelines, broken=broken, size=PIPELINES)


def pipeline(
    name: str, history: History, views: Sequence[RunView], part: Part, nonce: str, dag_run: DagRunState | None = None
) -> str:
    """Return the page of a pipeline: its charts, and the runs of one part of its table."""
    runs = list(reversed(history.runs[: trend.MOST]))
    charts = trend.drawn(runs)
    return _render(
        "pipeline.html",
        nonce,
        charts,
        name=name,
        history=history,
        views=views,
        part=part,
        dag_run=dag_run,
        pictures=trend.pictures(runs),
    )


def run(name: str, page: RunView, nonce: str) -> str:
    """Return the page of a run, with all of its checks."""
    return _render("run.html", nonce, name=name, view=page)


def dag_run(
    dag: str, state: DagRunState, worked_on: Sequence[tuple[str, RunView]], nonce: str, problems: Sequence[str]
) -> str:
    """Return the page of a DAG run: the runs it has worked on, with their pipelines; `problems` are a line each."""
    return _render("dag_run.html", nonce, dag=dag, state=state, worked_on=worked_on, problems=problems)


def message(title: str, words: str, nonce: str) -> str:
    """Return a page with a message."""
    return _render("message.html", nonce, title=title, words=words)


def _render(template: str, nonce: str, charts: Mapping[str, Any] | None = None, **values: Any) -> str:
    files = [*scripts.of_frames(), *(scripts.of_charts() if charts else [])]
    return (
        environment(_PACKAGE)
        .get_template(template)
        .render(
            **values,
            nonce=nonce,
            style=Markup(template_text("style.css") + template_text("quality.css", _PACKAGE)),
            light=Markup(palette.variables(dark=False)),
            dark=Markup(palette.variables(dark=True)),
            scripts=[places.static(file) for file in files],
            embedded=embedded(charts) if charts else None,
            charts=frozenset(charts or ()),
            places=places,
            state_of=headlines.state,
            spark=trend.spark,
            covers=covers,
            limits=limits.limits(),
            no_limits=limits.NONE,
            most_checks=CHECKS,
            nothing=text.NOTHING,
        )
    )


def covers(run: Run) -> str:
    """Return what a run covers, in words; a repair and a rollback are named."""
    part = _part_of_time(run)
    return f"{run.kind} of {part}" if run.kind in (REPAIR, ROLLBACK) else part


def _part_of_time(run: Run) -> str:
    if run.kind == CHANGED:
        return "what changes of the source affect"
    if run.kind == ARRIVALS and run.arrived_to is not None:
        since = f"from {text.moment(run.arrived_from)} on, " if run.arrived_from else ""
        return f"what arrived {since}before {text.moment(run.arrived_to)}"
    if run.interval_start is None and run.interval_end is None:
        return "all of time"
    start = text.moment(run.interval_start) if run.interval_start else "the beginning"
    end = text.moment(run.interval_end) if run.interval_end else "the end"
    return f"windows that begin from {start} to {end}, exclusive"
