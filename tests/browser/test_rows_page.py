"""The pages about rows as people meet them: in a browser, wide and narrow, light and dark, in Airflow's frame."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESKTOP, PHONE, Opened, Shown
from tests.browser.served import HOSTILE_ONE, SPOILT, served
from tests.sampling import sampled
from tests.support.published_sales import published
from tests.support.recorded_publication import RUN_ID

pytestmark = pytest.mark.browser

_SALES, _HOSTILE = (f"tidemark_{name}/runs/{RUN_ID}" for name in ("sales", HOSTILE_ONE))
_TEN_FORTY = "window?window=2024-05-01T10:40:00&key.product=tea"
PAGES = {
    "late": _SALES,
    "invalid": f"{_SALES}?kind=invalid",
    "none": f"{_SALES}?lateness=below+1+second",
    "row": f"{_SALES}/row?event=1714560030000000&arrival=1714563360000000&key.product=tea",
    "value": f"{_SALES}/row?column=id&value=28",
    "window": f"{_SALES}/{_TEN_FORTY}",
    "hostile": _HOSTILE,
    "unknown": "tidemark_sales/runs/r000000000000000",
}
DRAWN = ("row", "value", "window")
# Each width and scheme once in the quick tests.
QUICK = {
    ("late", DESKTOP, "light"),
    ("row", PHONE, "dark"),
    ("window", DESKTOP, "dark"),
    ("hostile", PHONE, "light"),
}
SIGHTS = [sampled(*sight, quick=sight in QUICK) for sight in product(PAGES, (DESKTOP, PHONE), ("light", "dark"))]


@pytest.fixture(name="address", scope="module")
def _address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("rows")
    published(root)
    publication = published(root, HOSTILE_ONE, (SPOILT, "cake"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(root / "dags"))
        patch.setenv("TIDEMARK_PAGES_SHOW_SOURCE", "yes")
        with served(root / "lake") as address:
            assert publication.run.run_id == RUN_ID
            yield address


def visited(opened: Opened, address: str, name: str, width: int = DESKTOP, scheme: str = "light") -> Shown:
    """Open a page, and wait until its chart is drawn."""
    view = opened(f"{address}/tidemark/rows/{PAGES[name]}", width=width, scheme=scheme)
    if name in DRAWN:
        expect(view.page.locator("html[data-charts=drawn]")).to_have_count(1)
    return view


@pytest.mark.parametrize(("name", "width", "scheme"), SIGHTS)
def test_a_page_requests_only_its_server_and_has_no_faults(
    opened: Opened, address: str, name: str, width: int, scheme: str
) -> None:
    view = visited(opened, address, name, width, scheme)
    assert view.faults == []
    assert all(url.startswith(f"{address}/tidemark/") for url in view.requests)
    assert len(view.requests) == (4 if name in DRAWN else 2)
    assert view.page.evaluate("document.documentElement.scrollWidth") <= width
    view.keep(f"rows-{name}-{width}-{scheme}")


@pytest.mark.parametrize(("name", "width", "scheme"), SIGHTS)
def test_an_engine_of_accessibility_finds_nothing(
    opened: Opened, address: str, name: str, width: int, scheme: str
) -> None:
    visited(opened, address, name, width, scheme).assert_accessible()


def test_a_late_row_is_found_by_the_filter_and_explained(opened: Opened, address: str) -> None:
    page = visited(opened, address, "late").page
    page.get_by_label("product").fill("cake")
    page.get_by_label("late by").select_option("below 1 hour")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("h1")).to_have_text("Late rows of sales")
    expect(page.locator(".rows tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Explain row 1").click()
    expect(page.locator("h1")).to_have_text("Why a row counted or not")
    expect(page.locator("html[data-charts=drawn]")).to_have_count(1)
    expect(page.locator("#life-chart canvas").first).to_be_visible()
    page.get_by_role("link", name="rule 51").click()
    expect(page.locator("#rule-51")).to_be_in_viewport()
    page.get_by_role("link", name="← Late rows").click()
    expect(page.locator("h1")).to_have_text("Late rows of sales")


def test_any_row_of_the_source_is_explained_by_a_value(opened: Opened, address: str) -> None:
    page = visited(opened, address, "late").page
    page.get_by_label("Explain any row").fill("id")
    page.get_by_label("is", exact=True).fill("28")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("h2").first).to_contain_text("Late, within the allowed lateness")
    expect(page.locator(".steps tbody tr").first).to_contain_text("row on time")


def test_hostile_values_are_read_as_they_are(opened: Opened, address: str) -> None:
    page = visited(opened, address, "hostile").page
    expect(page.locator(".rows")).to_contain_text(SPOILT.split("\u202e")[0])
    assert page.locator("main img").count() == 0
    page.get_by_role("link", name="Explain row 1").click()
    expect(page.locator(".values").first).to_contain_text(SPOILT.split("\u202e")[0])
    assert page.locator("main img").count() == 0


def test_the_keyboard_reaches_the_filter_and_the_rows(opened: Opened, address: str) -> None:
    page = visited(opened, address, "late").page
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.type("north")
    page.keyboard.press("Enter")
    expect(page.locator(".rows tbody tr")).to_have_count(2)
    link = page.get_by_role("link", name="Explain row 1")
    for _ in range(40):
        page.keyboard.press("Tab")
        if link.evaluate("element => element === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Why a row counted or not")


def test_paper_shows_the_time_line(opened: Opened, address: str) -> None:
    page = visited(opened, address, "window", scheme="dark").page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("canvas.printed")).to_have_count(1)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert len(page.pdf()) > 10_000
