"""The report as people meet it: in a browser, wide and narrow, light and dark, by mouse, by keyboard and on paper."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import pytest
from playwright.sync_api import Page, expect

from spark_jobs.report import ReportData, render
from spark_jobs.report.data import TooLateKey
from tests.browser.conftest import DESKTOP, PHONE, Show, Shown
from tests.sampling import sampled
from tests.support.sample_report_runs import HOSTILE, eventful, hostile, published

pytestmark = pytest.mark.browser

LONG = "k" * 10_000
RUNS = {
    "eventful": eventful(),
    "hostile": hostile(eventful()),
    "long": replace(eventful(), key=(LONG,), pipeline=LONG, too_late_keys=(TooLateKey((LONG,), 1, 1),)),
    "empty": ReportData("empty", published(), {"rows_read": 0, "on_time": 0}),
}


# Each run, width and scheme once in the quick tests.
QUICK = {
    ("eventful", DESKTOP, "light"),
    ("hostile", PHONE, "dark"),
    ("long", PHONE, "light"),
    ("empty", DESKTOP, "dark"),
}
SIGHTS = [sampled(*sight, quick=sight in QUICK) for sight in product(RUNS, (DESKTOP, PHONE), ("light", "dark"))]


@cache
def page_of(name: str) -> str:
    """Return the page of a run, rendered once."""
    return render(RUNS[name])


def open_report(show: Show, name: str, width: int = DESKTOP, scheme: str = "light") -> Shown:
    """Open a report, and wait until its charts are drawn."""
    view = show(page_of(name), width=width, scheme=scheme)
    if name != "empty":
        expect(view.page.locator("html[data-charts=drawn]")).to_have_count(1)
    return view


def wait_until(page: Page, condition: str) -> None:
    """Wait for a condition in JavaScript, which the page's own policy lets nobody evaluate from within."""
    tried = "tries-- === 0 ? done(false) : setTimeout(look, 20)"
    look = f"const look = () => {condition} ? done(true) : {tried}"
    assert page.evaluate(f"new Promise(done => {{ let tries = 250; {look}; look() }})"), f"never: {condition}"


def of_chart(number: int, path: str) -> str:
    """JavaScript for a property of one of the charts."""
    return f"Bokeh.documents[0].roots()[{number}].{path}"


@pytest.mark.parametrize(
    ("name", "width"),
    [
        sampled(name, width, quick=(name, width) in {("eventful", PHONE), ("hostile", DESKTOP)})
        for name, width in product(RUNS, (DESKTOP, PHONE))
    ],
)
def test_a_report_requests_no_other_file_and_has_no_faults(show: Show, name: str, width: int) -> None:
    report = open_report(show, name, width)
    assert report.faults == []
    assert report.requests == [report.page.url]
    assert report.page.evaluate("document.documentElement.scrollWidth") <= width
    report.keep(f"report-{name}-{width}")


@pytest.mark.parametrize(("name", "width", "scheme"), SIGHTS)
def test_an_engine_of_accessibility_finds_nothing(show: Show, name: str, width: int, scheme: str) -> None:
    report = open_report(show, name, width, scheme)
    report.assert_accessible()
    if scheme == "dark":
        report.keep(f"report-{name}-{width}-dark")


def test_hostile_values_are_read_as_they_are(show: Show) -> None:
    report = open_report(show, "hostile")
    visible_text = HOSTILE.split("\u202e")[0]
    expect(report.page.locator("h1")).to_contain_text(visible_text[:70])
    assert report.page.locator("main img").count() == 0
    assert report.page.evaluate("document.scripts.length") == 3


def test_the_keyboard_reaches_the_report_and_opens_its_tables(show: Show) -> None:
    page = open_report(show, "eventful").page
    page.keyboard.press("Tab")
    skip = page.locator(".skip")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    table = page.locator("#lateness details")
    for _ in range(80):
        page.keyboard.press("Tab")
        if table.locator("summary").evaluate("element => element === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(table.locator("table")).to_be_visible()


def test_the_mouse_shows_values_and_zooms(show: Show) -> None:
    page = open_report(show, "eventful").page
    chart = page.locator("#lateness-chart")
    chart.scroll_into_view_if_needed()
    box = chart.locator(".bk-events").bounding_box()
    assert box is not None
    number = page.evaluate("Bokeh.documents[0].roots().findIndex(f => Bokeh.index[f.id].el.closest('#lateness-chart'))")
    frame = page.evaluate(
        f"(() => {{ const b = Bokeh.index[{of_chart(number, 'id')}].frame.bbox; "
        "return [b.left, b.top, b.width, b.height] })()"
    )
    left, top, width, height = frame
    page.mouse.move(box["x"] + left + width / 8, box["y"] + top + height / 2)
    expect(page.locator(".bk-Tooltip")).to_contain_text("3")
    before = page.evaluate(of_chart(number, "x_range.end"))
    page.mouse.down()
    page.mouse.move(box["x"] + left + width / 2, box["y"] + top + height * 0.8, steps=5)
    page.mouse.up()
    wait_until(page, f"{of_chart(number, 'x_range.end')} !== {before}")


def test_paper_shows_every_chart_without_waiting(show: Show) -> None:
    page = open_report(show, "eventful", scheme="dark").page
    charts = page.locator(".chart").count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    painted = page.evaluate(
        """[...document.querySelectorAll('canvas.printed')].map(canvas => {
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.buffer)).size;
        })"""
    )
    assert len(painted) == charts > 0
    assert min(painted) > 2
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator("canvas.printed")).to_have_count(0)
    assert len(page.pdf()) > 10_000


def test_colours_follow_the_scheme_while_the_page_is_open(show: Show) -> None:
    page = open_report(show, "eventful").page
    background = "getComputedStyle(document.documentElement).backgroundColor"
    light, outline = page.evaluate(background), page.evaluate(of_chart(0, "outline_line_color"))
    page.emulate_media(color_scheme="dark")
    wait_until(page, f"{of_chart(0, 'outline_line_color')} !== '{outline}'")
    assert page.evaluate(background) != light
