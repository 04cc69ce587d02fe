"""Data Docs: a run's check results on Great Expectations' page, as one self-contained file.

The library renders the page with its templates. Its original page fetches styles, fonts and scripts from other hosts.
This page has an inline style, no script, and a content policy that forbids scripts and requests. It shows observed
values as the table `quality` stores them, without any source column except the key.

Importing this module imports Great Expectations.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from great_expectations import __version__ as library
from great_expectations.core.expectation_validation_result import (
    ExpectationSuiteValidationResult,
    ExpectationValidationResult,
)
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.render.components import (
    LegacyDiagnosticRendererType,
    LegacyRendererType,
    RenderedStringTemplateContent,
)
from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
from great_expectations.render.renderer.renderer import renderer
from great_expectations.render.view.view import DefaultJinjaPageView
from jinja2 import ChoiceLoader, PackageLoader

from expectations.check_result import Answer
from spark_jobs.report.text import visible

_PACKAGE = "expectations"
_LONGEST = 2_000


class ExpectKnownResult(BatchExpectation):
    """A result that is already known, as an expectation that the library can render.

    Args:
        column: the suite; the library makes one section for each column.
        expectation: the expectation's name.
    """

    column: str
    expectation: str

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    def _prescriptive_renderer(  # type: ignore[override]  # the library passes all arguments by name
        cls, configuration: Any = None, **_: Any
    ) -> list[RenderedStringTemplateContent]:
        """Render the name, the description and the examples."""
        meta = configuration.meta
        examples = [_text(line, tag="code") for line in meta["examples"]]
        sentence = [_text(meta["expected"], tag="p")] if meta["expected"] else []
        return [_text(configuration.kwargs["expectation"], tag="strong"), *sentence, *examples]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.OBSERVED_VALUE)
    def _diagnostic_observed_value_renderer(  # type: ignore[override]  # see above; contents are rendered too
        cls, result: Any = None, **_: Any
    ) -> RenderedStringTemplateContent:
        return _text(result.result["observed_value"])

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: dict[str, Any] | None = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        raise NotImplementedError("a known result is not computed again")


class _View(DefaultJinjaPageView):
    """The library's page. A template of this package replaces the library's template of the same name."""

    def __init__(self) -> None:
        super().__init__()
        library_loaders = [] if self.env.loader is None else [self.env.loader]
        self.env.loader = ChoiceLoader([PackageLoader(_PACKAGE), *library_loaders])

    def _validate_document(self, document: Any) -> None:
        """Accept the document as plain data: `_without_links` has removed its links."""


def page(
    pipeline: str,
    lake: str,
    run_id: str,
    audited_at: datetime,
    answers: Sequence[Answer],
    expected: Mapping[tuple[str, str], str],
) -> str:
    """Return the HTML page of a run of the pipeline in `lake`, with one section for each suite.

    `expected` has the description of each expectation, by suite and name. An expectation without one is shown by its
    name only.
    """
    result = ExpectationSuiteValidationResult(
        success=all(answer.success for answer in answers),
        results=[_result(answer, expected.get((answer.suite, answer.expectation), "")) for answer in answers],
        suite_name=pipeline,
        statistics=_statistics(answers),
        meta={
            "great_expectations_version": library,
            "batch_kwargs": {"datasource": lake, "data_asset_name": pipeline},
            "run_id": {"run_name": run_id, "run_time": audited_at.astimezone(UTC).isoformat()},
        },
    )
    document = ValidationResultsPageRenderer(run_info_at_end=True).render(result).to_json_dict()
    style = (files(_PACKAGE) / "templates" / "data_docs.css").read_text(encoding="utf-8")
    rendered: Any = _View().render
    return str(rendered(_without_links(document), style=style, title=f"{pipeline}, run {run_id}"))


def _result(answer: Answer, description: str) -> ExpectationValidationResult:
    meta = {"expected": description, "examples": answer.details.splitlines()}
    configuration = ExpectationConfiguration(
        type="expect_known_result",
        kwargs={"column": _markup(answer.suite), "expectation": answer.expectation},
        meta=meta,
    )
    return ExpectationValidationResult(
        success=bool(answer.success),
        expectation_config=configuration,
        result={"observed_value": answer.observed},
        exception_info={"raised_exception": False, "exception_traceback": None, "exception_message": None},
    )


def _markup(value: str) -> str:
    """Return a text as HTML: the library does not escape the name of a section."""
    return html.escape(visible(value))


def _text(value: str, tag: str = "span") -> RenderedStringTemplateContent:
    """Return a text with visible characters only. The library escapes a template's parameters, not the template."""
    template = {"template": "$value", "params": {"value": _cut(visible(value))}, "tag": tag}
    return RenderedStringTemplateContent(content_block_type="string_template", string_template=template)


def _cut(text: str) -> str:
    more = len(text) - _LONGEST
    return text if more <= 0 else f"{text[:_LONGEST]}… cut, {more:,} more characters"


def _statistics(answers: Sequence[Answer]) -> dict[str, Any]:
    successes = sum(bool(answer.success) for answer in answers)
    return {
        "evaluated_expectations": len(answers),
        "successful_expectations": successes,
        "unsuccessful_expectations": len(answers) - successes,
        "success_percent": 100 * successes / len(answers) if answers else None,
    }


def _without_links(part: Any) -> Any:
    """Return a part of a document without links: the other pages of the library's site do not exist."""
    if isinstance(part, dict):
        attributes = part.get("attributes")
        if isinstance(attributes, dict) and "href" in attributes:
            part = {name: value for name, value in part.items() if name not in ("attributes", "tag")}
        return {name: _without_links(value) for name, value in part.items()}
    return [_without_links(element) for element in part] if isinstance(part, list) else part
