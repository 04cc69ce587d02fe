"""A real browser, Debian's Chromium, driven by Playwright; the requests of a page and its faults are kept."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Dialog, Page, Request, Route, sync_playwright

# A separate page, no sandbox for root, and no connection to its maker.
_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
SCREENSHOTS = Path(__file__).parents[2] / ".tidemark" / "screenshots"
DESKTOP, PHONE = 1280, 390


@dataclass
class Shown:
    """A page in the browser, with the addresses that it requested and all its faults."""

    page: Page
    requests: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def assert_accessible(self) -> None:
        """Assert that an engine of accessibility finds nothing, with all details open."""
        for details in self.page.locator("details > summary").all():
            details.click()
        result = Axe().run(self.page).response
        assert [
            (violation["id"], violation["impact"], [node["target"] for node in violation["nodes"]])
            for violation in result["violations"]
        ] == []
        # An engine that did not run would find nothing either.
        assert len(result["passes"]) > 10

    def keep(self, name: str) -> None:
        """Keep a picture of the whole page."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


Show = Callable[..., Shown]
Opened = Callable[..., Shown]


# Of a module, since Playwright's loop runs as long as it exists, and other tests run their loops.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser."""
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("there is no Chromium: install Debian's package chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: Browser) -> Iterator[Opened]:
    """Open an address at a width and in a scheme; a phone is touched. Requests to other servers are refused."""
    contexts = []

    def open_(address: str, *, width: int = DESKTOP, scheme: Literal["light", "dark"] = "light") -> Shown:
        context = chromium.new_context(
            viewport={"width": width, "height": 844},
            color_scheme=scheme,
            has_touch=width == PHONE,
            is_mobile=width == PHONE,
        )
        contexts.append(context)
        view = Shown(context.new_page())
        _watch(view, address)
        view.page.goto(address)
        return view

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture
def show(opened: Opened, tmp_path: Path) -> Show:
    """Show HTML as a separate file, at a width and in a scheme."""

    def show_html(html: str, *, width: int = DESKTOP, scheme: Literal["light", "dark"] = "light") -> Shown:
        file = tmp_path / "page.html"
        file.write_text(html, encoding="utf-8")
        return opened(file.as_uri(), width=width, scheme=scheme)

    return show_html


def _watch(view: Shown, address: str) -> None:
    origin = urlsplit(address)[:2]

    def ask(route: Route, request: Request) -> None:
        view.requests.append(request.url)
        if urlsplit(request.url)[:2] == origin:
            route.continue_()
        else:
            route.abort()

    def answer(dialog: Dialog) -> None:
        view.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    view.page.route("**/*", ask)
    view.page.on("dialog", answer)
    view.page.on("pageerror", lambda error: view.faults.append(f"error: {error}"))
    view.page.on(
        "console",
        lambda message: (
            view.faults.append(f"console: {message.text}") if message.type in ("error", "warning") else None
        ),
    )
