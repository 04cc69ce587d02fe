"""The page: one HTML text that needs nothing else, safe whatever the data says, and under 3 MB.

What runs in it is named by its hash in the page's own policy, which also forbids every request: markup that came in
with data could neither run nor call home, even if it were not escaped. Lists of unknown length are cut, and say so.
"""

# ruff: noqa: S704  what is marked as safe is this project's own text, Bokeh's, or JSON without a character of markup

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from bokeh.core.json_encoder import serialize_json
from bokeh.document import Document
from bokeh.plotting import figure
from bokeh.resources import Resources
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from spark_jobs.report import headlines, palette, pictures, text
from spark_jobs.report.charts import charts
from spark_jobs.report.data import CheckResult, ReportData

_CHECKS, _SETTINGS, _ALTERNATIVES, _REASONS, _STEPS, _TABLES = 200, 200, 60, 20, 50, 50
_DOCUMENT = "report"
_PACKAGE = "spark_jobs.report"


def render(data: ReportData) -> str:
    """Give the page of a report."""
    drawn = charts(data)
    scripts = [_bokeh(), _template_text("charts.js")] if drawn else []
    template = _environment().get_template("page.html")
    return template.render(
        data=data,
        state=headlines.state(data),
        verdict=headlines.verdict(data),
        headlines=headlines.headlines(data),
        parts=headlines.parts(data),
        conservation=headlines.conservation(data),
        cost=headlines.cost(data),
        pictures=pictures,
        drawn=frozenset(drawn),
        checks=_failing_first(data.checks)[:_CHECKS],
        settings=data.settings[:_SETTINGS],
        alternatives=data.alternatives[:_ALTERNATIVES],
        reasons=sorted(data.invalid_reasons.items(), key=lambda item: (-item[1], item[0]))[:_REASONS],
        steps=data.run.steps[:_STEPS],
        versions=list(data.run.versions.items())[:_TABLES],
        software=list(data.run.software.items())[:_TABLES],
        style=Markup(_template_text("style.css")),
        light=Markup(palette.variables(dark=False)),
        dark=Markup(palette.variables(dark=True)),
        policy=_policy(scripts),
        nothing=text.NOTHING,
        scripts=[Markup(script) for script in scripts],
        embedded=_json(_embedded(drawn)) if drawn else None,
    )


def _failing_first(checks: tuple[CheckResult, ...]) -> list[CheckResult]:
    return sorted(checks, key=lambda check: check.success)


def _embedded(drawn: Mapping[str, figure]) -> dict[str, object]:
    """The charts as one document of Bokeh, the place of each of its roots, and the colours of both schemes."""
    document = Document()
    for chart in drawn.values():
        document.add_root(chart)
    roots = {chart.id: place for place, chart in drawn.items()}
    return {
        "documents": {_DOCUMENT: document.to_json(deferred=False)},
        "items": [{"docid": _DOCUMENT, "roots": roots, "root_ids": list(roots)}],
        "schemes": {"light": palette.scheme(dark=False), "dark": palette.scheme(dark=True)},
    }


def _json(value: object) -> Markup:
    """JSON that no parser of HTML takes for markup."""
    written = serialize_json(value)
    return Markup(written.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _policy(scripts: list[str]) -> str:
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    sources = " ".join(f"'sha256-{value}'" for value in hashes) or "'none'"
    # Bokeh styles what it draws by itself, and its icons are data.
    allowed = f"script-src {sources}; style-src 'unsafe-inline'; img-src data: blob:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


@cache
def _bokeh() -> str:
    """Bokeh's core bundle: no widgets, tables, WebGL or mathematics."""
    bundle, *_ = Resources(mode="inline", components=["bokeh"], minified=True).js_raw
    return str(bundle)


@cache
def _template_text(name: str) -> str:
    return (files(_PACKAGE) / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(_PACKAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    written = (text.shown, text.visible, text.number, text.share, text.instant, text.moment, text.duration)
    environment.filters.update({function.__name__: function for function in written})
    return environment
