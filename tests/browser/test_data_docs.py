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
def test_data_docs_ask_nobody_and_can_be_read_by_all(show: Show, width: int, scheme: str) -> None:
    shown = show(page(), width=width, scheme=scheme)
    assert shown.asked == [shown.page.url]
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.page.locator("script, img").count() == 0
    found = Axe().run(shown.page).response
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["target"] for node in one["nodes"]]) for one in serious] == []
    shown.keep(f"data-docs-{width}-{scheme}")
    assert shown.faults == []
