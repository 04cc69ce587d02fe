"""Airflow's pages as a person uses them: found by what they show, waited for by what must appear."""

from __future__ import annotations

import re
from dataclasses import dataclass

from playwright.sync_api import Locator, Page, Response, expect

from tests.browser.conftest import SCREENSHOTS

#: Milliseconds: a page is there soon, a step of Spark takes its time.
SOON_MS, STEP_MS = 30_000, 400_000


@dataclass(frozen=True)
class Person:
    """Somebody at a browser, before or behind the login of the Airflow at `address`."""

    page: Page
    address: str

    def goes_to(self, path: str) -> Response:
        """Open a page by its path; gives what the server has answered."""
        answer = self.page.goto(f"{self.address}{path}")
        assert answer is not None
        return answer

    def keeps(self, name: str) -> None:
        """Keep a picture of what is seen."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"airflow-{name}.png", animations="disabled")

    def logs_in(self, user: str, password: str) -> None:
        """Fill the login page, to which every page leads."""
        self.goes_to("/")
        self.page.get_by_label("Username").fill(user)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in").click()

    def opens_dag(self, dag: str) -> None:
        """Find a DAG in the list, and open it."""
        self.page.get_by_role("link", name="Dags", exact=True).click()
        # The page before may have a link of this name to a task that waits for an answer.
        self.page.wait_for_url("**/dags**")
        self.page.locator(f'a[href="/dags/{dag}"]').first.click()
        expect(self.page.get_by_role("heading", name=dag)).to_be_visible()

    def opens_form(self) -> Form:
        """Open the form of a run, on a DAG's page."""
        self.page.get_by_role("button", name="Trigger Dag").click()
        form = Form(self.page)
        expect(form.dialog.get_by_role("button", name="Run Parameters")).to_be_visible()
        return form

    def sees(self, text: str) -> None:
        """Wait for a text on the page, such as a line of a log."""
        expect(self.page.get_by_text(text).first).to_be_visible()


@dataclass(frozen=True)
class Form:
    """The form of a run: its fields by their titles."""

    page: Page

    @property
    def dialog(self) -> Locator:
        """All of it; a field's picker lies outside."""
        return self.page.get_by_role("dialog").filter(has_text="Trigger Dag")

    @property
    def trigger(self) -> Locator:
        """The button that starts the run."""
        return self.dialog.get_by_role("button", name="Trigger", exact=True)

    def field(self, title: str) -> Locator:
        """A field with its title, which has a star where it must be filled, its control and its description."""
        named = self.page.get_by_text(re.compile(rf"^{re.escape(title)}\s*\*?$"))
        return self.dialog.get_by_role("group").filter(has=named)

    def unfolds(self, part: str) -> None:
        """Open a part of the form, which closes the one that is open."""
        self.dialog.get_by_role("button", name=part, exact=True).click()

    def chooses(self, title: str, option: str) -> None:
        """Choose an option of a list."""
        self.field(title).get_by_role("combobox").click()
        self.page.get_by_role("option", name=option).click()

    def picks(self, title: str, date: str, time: str) -> None:
        """Fill a picker of a date and a time."""
        self.field(title).get_by_text("Select date and time").click()
        day, hour = self.page.get_by_placeholder("YYYY/MM/DD"), self.page.get_by_placeholder("HH:mm")
        day.fill(date)
        hour.fill(time)
        hour.press("Escape")
        expect(hour).to_have_count(0)

    def types(self, title: str, text: str) -> None:
        """Fill a field of text or of a number, and leave it."""
        box = self.field(title).locator("input")
        box.fill(text)
        box.press("Tab")

    def turns_on(self, title: str) -> None:
        """Turn a switch on, by the keyboard."""
        switch = self.field(title).get_by_role("checkbox")
        switch.press("Space")
        expect(switch).to_be_checked()

    def starts(self) -> Run:
        """Start the run, which Airflow then shows."""
        self.trigger.click()
        expect(self.dialog).to_have_count(0)
        self.page.wait_for_url("**/runs/*")
        return Run(self.page, self.page.url)


@dataclass(frozen=True)
class Run:
    """A run of a DAG, at its address."""

    page: Page
    address: str

    def opens(self) -> None:
        """Open the page of the run, with a row for each task."""
        self.page.goto(self.address)

    def task(self, name: str) -> Locator:
        """The row of a task."""
        return self.page.get_by_role("row").filter(has=self.page.get_by_role("link", name=name, exact=True))

    def awaits(self, name: str, state: str) -> None:
        """Wait on the page of the run until a task has come so far."""
        expect(self.task(name)).to_contain_text(state, timeout=STEP_MS)

    def opens_task(self, name: str) -> None:
        """Open the page of a task, with its log."""
        self.task(name).get_by_role("link", name=name, exact=True).click()
        expect(self.page.get_by_role("heading", name=name, exact=True)).to_be_visible()

    @property
    def state(self) -> Locator:
        """The state beside the heading of a page, of the run or of a task; those of its parents are but signs."""
        return self.page.get_by_test_id("state-badge").filter(has_text=re.compile(r"\w")).first

    def shows_in_log(self, line: re.Pattern[str]) -> None:
        """Wait on the page of a task until its log has a line."""
        expect(self.page.get_by_text(line).first).to_be_visible(timeout=STEP_MS)

    def follows(self, link: str) -> None:
        """Follow a link of a task, which Airflow shows among its details."""
        self.page.get_by_role("link", name="Details", exact=True).click()
        self.page.get_by_role("link", name=link, exact=True).click()

    def opens_question(self) -> Locator:
        """Open the question that the run waits with."""
        self.page.get_by_role("button", name="Required Actions").click()
        drawer = self.page.get_by_role("dialog", name="Required Actions")
        expect(drawer.get_by_text("Publish run ")).to_be_visible()
        return drawer
