"""Templating for all pages: templates that escape, style, scripts, and charts as JSON."""

# ruff: noqa: S704  what is marked as safe is JSON without a character of markup
from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from bokeh.core.json_encoder import serialize_json
from bokeh.document import Document
from bokeh.plotting import figure
from bokeh.resources import Resources
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from spark_jobs.report import checks, palette, text

_DOCUMENT = "report"
_PACKAGE = "spark_jobs.report"


def embedded(drawn: Mapping[str, figure]) -> Markup:
    """Return the charts, by the id of their place, as the JSON that `charts.js` draws them from.

    It is one document of Bokeh, the place of each of its roots, and the colours of both schemes.
    """
    document = Document()
    for chart in drawn.values():
        document.add_root(chart)
    roots = {chart.id: place for place, chart in drawn.items()}
    content = {
        "documents": {_DOCUMENT: document.to_json(deferred=False)},
        "items": [{"docid": _DOCUMENT, "roots": roots, "root_ids": list(roots)}],
        "schemes": {"light": palette.scheme(dark=False), "dark": palette.scheme(dark=True)},
    }
    return _json(content)


def _json(value: object) -> Markup:
    """Return JSON that no parser of HTML takes for markup."""
    encoded = serialize_json(value)
    return Markup(encoded.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


@cache
def bokeh_script() -> str:
    """Return Bokeh's core bundle: no widgets, tables, WebGL or mathematics."""
    bundle, *_ = Resources(mode="inline", components=["bokeh"], minified=True).js_raw
    return str(bundle)


@cache
def template_text(name: str, package: str = _PACKAGE) -> str:
    """Return a file of a package's templates as it is."""
    return (files(package) / "templates" / name).read_text(encoding="utf-8")


@cache
def environment(*packages: str) -> Environment:
    """Return the templates of these packages, then the report's; an undefined name is an error."""
    loader = ChoiceLoader([PackageLoader(package) for package in (*packages, _PACKAGE)])
    templates = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    texts = (
        text.excerpt,
        text.visible,
        text.number,
        text.share,
        text.instant,
        text.moment,
        text.duration,
        text.counted,
    )
    filters = (*texts, checks.observation)
    templates.filters.update({function.__name__: function for function in filters})
    return templates
