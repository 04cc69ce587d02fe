"""Data Docs as people meet them: in a browser, wide and narrow, light and dark."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import DESKTOP, PHONE, Show
from tests.support.sample_report_runs import HOSTILE

pytestmark = [
    pytest.mark.browser,
    # Modules that Great Expectations imports.
    pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning"),
]


def answer(suite: str, expectation: str, observed: str, details: str = "", *, success: bool = False) -> Any:
    return SimpleNamespace(suite=suite, expectation=expectation, success=success, observed=observed, details=details)


def page() -> str:
    from expectations import data_docs

    answers = [
        answer("panes", "no_pane_is_empty", "0 of 7 rows", success=True),
        answer("run", "every_row_is_accounted_for", "19 of 20", '{"key":{"carrier":"AA"}}'),
        answer("pipeline", HOSTILE, HOSTILE, HOSTILE),
        answer("pipeline", "k" * 10_000, "k" * 10_000, "k" * 10_000),
    ]
    sentences = {("panes", "no_pane_is_empty"): "Every pane has rows.", ("pipeline", HOSTILE): HOSTILE}
    at = datetime(2024, 3, 31, 1, tzinfo=UTC)
    return data_docs.page("departures_by_carrier", "/lake/departures_by_carrier", "r0123", at, answers, sentences)


@pytest.mark.parametrize(("width", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_data_docs_request_no_other_file_and_are_accessible(show: Show, width: int, scheme: str) -> None:
    view = show(page(), width=width, scheme=scheme)
    assert view.requests == [view.page.url]
    assert view.page.evaluate("document.documentElement.scrollWidth") <= width
    assert view.page.locator("script, img").count() == 0
    result = Axe().run(view.page).response
    serious = [violation for violation in result["violations"] if violation["impact"] in ("serious", "critical")]
    assert [(violation["id"], [node["target"] for node in violation["nodes"]]) for violation in serious] == []
    view.keep(f"data-docs-{width}-{scheme}")
    assert view.faults == []
