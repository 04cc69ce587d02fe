"""The page: one self-contained HTML text, safe for any data, and under 3 MB.

The page's content security policy lists its scripts by hash and forbids every request. So markup in data could neither
run nor send a request, even if it were not escaped. Lists of unknown length are cut, with a note of the rest.
"""

# ruff: noqa: S704  what is marked as safe is this project's own text or Bokeh's

from __future__ import annotations

import base64
import hashlib

from markupsafe import Markup

from spark_jobs.figures import figures_table
from spark_jobs.job_protocol import PLACE_OF_LINKS
from spark_jobs.report import headlines, palette, pictures, short_explanations, text
from spark_jobs.report.before_and_now import count_changes
from spark_jobs.report.charts import charts
from spark_jobs.report.checks import listed
from spark_jobs.report.data import ReportData
from spark_jobs.report.next_step import next_step
from spark_jobs.report.queries import queries
from spark_jobs.report.templating import bokeh_script, embedded, environment, template_text

_SETTINGS, _ALTERNATIVES, _REASONS, _STEPS, _TABLES = 200, 60, 20, 50, 50


def render(data: ReportData) -> str:
    """Return the page of a report."""
    drawn = charts(data)
    scripts = [bokeh_script(), template_text("charts.js")] if drawn else []
    template = environment().get_template("page.html")
    return template.render(
        data=data,
        state=headlines.state(data.run.state),
        facts=headlines.facts(data),
        verdict=headlines.verdict(data),
        next_step=next_step(data),
        count_changes=count_changes(data),
        queries=queries(data),
        headlines=headlines.headlines(data),
        parts=headlines.parts(data),
        conservation=headlines.conservation(data),
        cost=headlines.cost(data),
        pictures=pictures,
        short_explanations=short_explanations,
        drawn=frozenset(drawn),
        checks=listed(data.checks),
        settings=data.settings[:_SETTINGS],
        alternatives=data.alternatives[:_ALTERNATIVES],
        reasons=sorted(data.invalid_reasons.items(), key=lambda item: (-item[1], item[0]))[:_REASONS],
        steps=data.run.steps[:_STEPS],
        spark=figures_table(data.run.steps[:_STEPS]),
        versions=list(data.run.versions.items())[:_TABLES],
        software=list(data.run.software.items())[:_TABLES],
        style=Markup(template_text("style.css")),
        light=Markup(palette.variables(dark=False)),
        dark=Markup(palette.variables(dark=True)),
        policy=policy(scripts),
        nothing=text.NOTHING,
        place_of_links=Markup(PLACE_OF_LINKS),
        scripts=[Markup(script) for script in scripts],
        embedded=embedded(drawn) if drawn else None,
    )


def policy(scripts: list[str]) -> str:
    """Return the content security policy of a page with these scripts and no others; it forbids every request."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    sources = " ".join(f"'sha256-{value}'" for value in hashes) or "'none'"
    # Bokeh sets styles inline, and its icons are data URLs.
    allowed = f"script-src {sources}; style-src 'unsafe-inline'; img-src data: blob:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
