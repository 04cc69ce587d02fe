"""Data Docs: one file, nothing from elsewhere, and no value that acts as markup."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from expectations import data_docs
from expectations.descriptions import descriptions
from spark_jobs.pipeline.model import Expectation, Learned, Quality
from tests.support.generated_run import PIPELINE

# Modules that Great Expectations imports.
pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

HOSTILE = "<script>alert(1)</script> \" ' $value ${value} {{ 1 }} \u202e"


@dataclass(frozen=True)
class Answer:
    suite: str
    expectation: str
    success: bool
    observed: str
    details: str = ""
    unexpected_count: int | None = None


class Elements(HTMLParser):
    """The tags of a page, what they refer to, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.targets: list[str] = []
        self.handlers: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.targets += [value or "" for name, value in attrs if name in ("href", "src", "action", "data")]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.text += data


def page_of(*answers: Answer, expected: dict[tuple[str, str], str] | None = None) -> Elements:
    made_at = datetime(2024, 3, 31, 1, tzinfo=UTC)
    return Elements(data_docs.page("departures", "/lake", "r0123", made_at, answers, expected or {}))


def test_a_page_shows_expectations_and_observed_values_by_suite() -> None:
    page = page_of(
        Answer("panes", "no_pane_is_empty", True, "0 of 7 rows"),
        Answer("run", "every_row_is_accounted_for", False, "19 of 20", '{"key":"AA"}\n{"key":"BB"}'),
        expected={("panes", "no_pane_is_empty"): "Every pane has rows."},
    )
    text = " ".join(page.text.split())
    for part in ("Every pane has rows.", "0 of 7 rows", "19 of 20", '{"key":"AA"}', '{"key":"BB"}', "r0123", "Failed"):
        assert part in text
    assert re.search(r"Evaluated Expectations ?2 ?Successful Expectations ?1", text)
    assert [target for target in page.targets if target != "data:,"] == [f"#section-{i}" for i in range(1, 5)]


def test_values_stay_text() -> None:
    page = page_of(Answer(HOSTILE, HOSTILE, False, HOSTILE, HOSTILE), expected={(HOSTILE, HOSTILE): HOSTILE})
    assert "script" not in page.tags
    assert page.handlers == []
    assert "\u202e" not in page.text
    assert page.text.count("<script>alert(1)</script> \" ' $value ${value} {{ 1 }}") >= 4


def test_a_page_has_no_address_of_another_site() -> None:
    made_at = datetime(2024, 3, 31, 1, tzinfo=UTC)
    page = data_docs.page("departures", "/lake", "r0123", made_at, [], {})
    assert "http://" not in page
    assert "https://" not in page
    assert "default-src 'none'" in page


def test_each_expectation_of_a_pipeline_has_its_sentence() -> None:
    declared = Expectation("expect_column_values_to_be_between", "panes", {"column": "row_count", "min_value": 1})
    pipeline = replace(PIPELINE, quality=Quality(max_late_ratio=Learned.LEARNED, expectations=(declared,)))
    sentences = descriptions(pipeline)
    assert (
        sentences["pipeline", "expect_column_values_to_be_between(panes.row_count)"]
        == "column='row_count', min_value=1"
    )
    assert "quality.max_late_ratio" in sentences["run", "not_too_many_rows_are_late"]
    assert all(sentence for sentence in sentences.values())


def test_a_long_value_is_cut_with_the_number_of_characters_left_out() -> None:
    page = page_of(Answer("pipeline", "one", False, "k" * 12_345))
    assert "k" * 2_000 + "… cut, 10,345 more characters" in page.text
    assert "k" * 2_001 not in page.text
