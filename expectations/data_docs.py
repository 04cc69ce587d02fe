"""Data Docs: the answers of a run on Great Expectations' own page, in one file that asks nobody for anything.

The library renders what was expected and found, with its own templates. Its page would fetch styles, fonts and scripts
from elsewhere; here it has a style of its own, no script, and a policy that forbids both. What was found is shown as
the table `quality` keeps it, which shows no column of the source but the key.

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
    """An answer that is known already: what the library has to know of it to put it on its page.

    Args:
        column: the suite; the library makes a section of what is said of one column.
        invariant: the expectation's name.
    """

    column: str
    invariant: str

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    def _prescriptive_renderer(  # type: ignore[override]  # the library takes what it gives by name
        cls, configuration: Any = None, **_: Any
    ) -> list[RenderedStringTemplateContent]:
        """What was expected, and some of what breaks it."""
        told = configuration.meta
        examples = [_text(line, tag="code") for line in told["examples"]]
        sentence = [_text(told["expected"], tag="p")] if told["expected"] else []
        return [_text(configuration.kwargs["invariant"], tag="strong"), *sentence, *examples]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.OBSERVED_VALUE)
    def _diagnostic_observed_value_renderer(  # type: ignore[override]  # see above; contents are rendered too
        cls, result: Any = None, **_: Any
    ) -> RenderedStringTemplateContent:
        return _text(result.result["observed_value"])

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: dict[str, Any] | None = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        raise NotImplementedError("an answer that is known is not computed again")


class _View(DefaultJinjaPageView):
    """The library's page, of which a part that this package has a template for is taken from here."""

    def __init__(self) -> None:
        super().__init__()
        theirs = [] if self.env.loader is None else [self.env.loader]
        self.env.loader = ChoiceLoader([PackageLoader(_PACKAGE), *theirs])

    def _validate_document(self, document: Any) -> None:
        """Take the document as plain data, in which links have been left out."""


def page(
    pipeline: str,
    lake: str,
    run_id: str,
    audited_at: datetime,
    answers: Sequence[Answer],
    expected: Mapping[tuple[str, str], str],
) -> str:
    """The page of a run of the pipeline in `lake`: a section a suite.

    `expected` is the sentence of each expectation, by suite and name; one that is not in it is told by its name.
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


def _result(answer: Answer, sentence: str) -> ExpectationValidationResult:
    told = {"expected": sentence, "examples": answer.details.splitlines()}
    configuration = ExpectationConfiguration(
        type="expect_known_result", kwargs={"column": _markup(answer.suite), "invariant": answer.expectation}, meta=told
    )
    return ExpectationValidationResult(
        success=bool(answer.success),
        expectation_config=configuration,
        result={"observed_value": answer.observed},
        exception_info={"raised_exception": False, "exception_traceback": None, "exception_message": None},
    )


def _markup(value: str) -> str:
    """A text as markup: the library takes the name of a section for that."""
    return html.escape(visible(value))


def _text(value: str, tag: str = "span") -> RenderedStringTemplateContent:
    """A text, as it can be seen; the library escapes what it puts into a template, not the template."""
    template = {"template": "$value", "params": {"value": _cut(visible(value))}, "tag": tag}
    return RenderedStringTemplateContent(content_block_type="string_template", string_template=template)


def _cut(text: str) -> str:
    more = len(text) - _LONGEST
    return text if more <= 0 else f"{text[:_LONGEST]}… cut, {more:,} more characters"


def _statistics(answers: Sequence[Answer]) -> dict[str, Any]:
    held = sum(bool(answer.success) for answer in answers)
    return {
        "evaluated_expectations": len(answers),
        "successful_expectations": held,
        "unsuccessful_expectations": len(answers) - held,
        "success_percent": 100 * held / len(answers) if answers else None,
    }


def _without_links(part: Any) -> Any:
    """A part of a document without links to other pages of a site, which is not there."""
    if isinstance(part, dict):
        attributes = part.get("attributes")
        if isinstance(attributes, dict) and "href" in attributes:
            part = {name: value for name, value in part.items() if name not in ("attributes", "tag")}
        return {name: _without_links(value) for name, value in part.items()}
    return [_without_links(one) for one in part] if isinstance(part, list) else part
