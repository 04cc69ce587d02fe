"""The page about a change that was taken downstream: which pipelines it has reached, and what each has computed."""

# ruff: noqa: S704  what is marked as safe is this project's own text

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from spark_jobs.report import palette
from spark_jobs.report.page import policy
from spark_jobs.report.templating import environment, template_text


@dataclass(frozen=True)
class DownstreamRun:
    """A run of one pipeline of the tree.

    `reads` are the published tables that the pipeline reads, of pipelines before it. `windows` is in words: which
    windows the run has computed. Numbers are None where the run has not counted them. `seconds` is the time of all
    steps. `report` is a path or URL.
    """

    pipeline: str
    run_id: str
    state: str
    kind: str
    reads: Sequence[str]
    windows: str
    changed_rows: int | None
    affected_windows: int | None
    seconds: float
    report: str | None


def render(root: str, runs: Sequence[DownstreamRun]) -> str:
    """Return the page: one self-contained HTML text without scripts, the pipelines in the order of their runs."""
    return (
        environment()
        .get_template("downstream.html")
        .render(
            root=root,
            runs=runs,
            style=Markup(template_text("style.css")),
            light=Markup(palette.variables(dark=False)),
            dark=Markup(palette.variables(dark=True)),
            policy=policy([]),
        )
    )
