"""The pages of data quality as people meet them: in a browser, wide and narrow, light and dark, in Airflow's frame."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESKTOP, PHONE, Opened, Shown
from tests.browser.served import EMPTY, EVENTFUL, HOSTILE_ONE, LONG_ONE, ONCE, SPOILT, fill_lake, served
from tests.sampling import sampled
from tests.support.fake_lake import run_id

pytestmark = pytest.mark.browser

PAGES = {
    "overview": "",
    "pipeline": f"tidemark_{EVENTFUL}",
    "older": f"tidemark_{EVENTFUL}?page=2",
    "run": f"tidemark_{EVENTFUL}/runs/{run_id(30)}",
    "dag_run": "tidemark_backfill/dag_runs/manual__1",
    "hostile": f"tidemark_{HOSTILE_ONE}",
    "long": f"tidemark_{LONG_ONE}",
    "once": f"tidemark_{ONCE}",
    "empty": f"tidemark_{EMPTY}",
}
DRAWN = ("pipeline", "older")
# Each width and scheme once in the quick tests.
QUICK = {
    ("overview", DESKTOP, "dark"),
    ("once", PHONE, "light"),
    ("pipeline", DESKTOP, "light"),
    ("dag_run", PHONE, "dark"),
    ("long", PHONE, "light"),
}
SIGHTS = [sampled(*sight, quick=sight in QUICK) for sight in product(PAGES, (DESKTOP, PHONE), ("light", "dark"))]


@pytest.fixture(name="address", scope="module")
def _address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    lake = tmp_path_factory.mktemp("lake")
    fill_lake(lake)
    with served(lake) as address:
        yield address


def visited(opened: Opened, address: str, name: str, width: int = DESKTOP, scheme: str = "light") -> Shown:
    """Open a page, and wait until its charts are drawn."""
    view = opened(f"{address}/tidemark/quality/{PAGES[name]}", width=width, scheme=scheme)
    if name in DRAWN:
        expect(view.page.locator("html[data-charts=drawn]")).to_have_count(1)
    return view


@pytest.mark.parametrize(("name", "width", "scheme"), SIGHTS)
def test_a_page_requests_only_its_server_and_has_no_faults(
    opened: Opened, address: str, name: str, width: int, scheme: str
) -> None:
    view = visited(opened, address, name, width, scheme)
    assert view.faults == []
    assert all(url.startswith(f"{address}/tidemark/quality/") for url in view.requests)
    assert len(view.requests) == (4 if name in DRAWN else 2)
    assert view.page.evaluate("document.documentElement.scrollWidth") <= width
    view.keep(f"quality-{name}-{width}-{scheme}")


@pytest.mark.parametrize(("name", "width", "scheme"), SIGHTS)
def test_an_engine_of_accessibility_finds_nothing(
    opened: Opened, address: str, name: str, width: int, scheme: str
) -> None:
    view = visited(opened, address, name, width, scheme)
    view.assert_accessible()


def test_hostile_values_are_read_as_they_are(opened: Opened, address: str) -> None:
    page = visited(opened, address, "hostile").page
    expect(page.locator("#failed table").first).to_contain_text(SPOILT.split("\u202e")[0])
    assert page.locator("main img").count() == 0
    assert page.evaluate("document.scripts.length") == 1


def test_the_keyboard_reaches_a_pipeline_and_its_charts_tables(opened: Opened, address: str) -> None:
    page = visited(opened, address, "overview").page
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    link = page.get_by_role("link", name=EVENTFUL, exact=True)
    for _ in range(20):
        page.keyboard.press("Tab")
        if link.evaluate("element => element === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text(EVENTFUL)
    summary = page.locator("details > summary").first
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.locator("details table").first).to_contain_text("late ratio")


def test_a_run_that_was_not_counted_leaves_a_gap_and_no_zero(opened: Opened, address: str) -> None:
    page = visited(opened, address, "pipeline").page
    row = page.locator("details table").first.locator("tbody tr").nth(30 - 9)
    expect(row.locator("td").first).to_have_text("9")
    expect(row.locator("td").nth(2)).to_have_text("—")


def test_in_airflows_frame_a_dag_is_shown_by_the_window_around_it(opened: Opened, address: str) -> None:
    page = opened(f"{address}/framed").page
    frame = page.frame_locator("iframe")
    expect(frame.locator("h1")).to_have_text("Data quality")
    frame.get_by_role("link", name=EVENTFUL, exact=True).click()
    expect(frame.locator("h1")).to_contain_text(EVENTFUL)
    frame.get_by_role("link", name="DAG in Airflow").click()
    expect(page.locator("h1")).to_have_text(f"tidemark_{EVENTFUL}")
    assert page.url == f"{address}/dags/tidemark_{EVENTFUL}"


def test_in_airflows_frame_the_page_follows_airflows_switch(opened: Opened, address: str) -> None:
    view = opened(f"{address}/framed", scheme="light")
    frame = view.page.frame_locator("iframe")
    frame.get_by_role("link", name=EVENTFUL, exact=True).click()
    expect(frame.locator("html[data-charts=drawn]")).to_have_count(1)
    ground = frame.locator("html").evaluate("e => getComputedStyle(e).backgroundColor")
    view.page.evaluate("document.documentElement.classList.add('dark')")
    expect(frame.locator("html")).to_have_attribute("data-scheme", "dark")
    expect(frame.locator("html")).not_to_have_css("background-color", ground)
    view.page.evaluate("document.documentElement.className = 'light'")
    expect(frame.locator("html")).to_have_css("background-color", ground)


def test_paper_shows_every_chart(opened: Opened, address: str) -> None:
    page = visited(opened, address, "pipeline", scheme="dark").page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("canvas.printed")).to_have_count(4)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert len(page.pdf()) > 10_000
