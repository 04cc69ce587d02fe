"""Airflow as people meet it: one asks for runs, watches, approves and reads; another only looks; no other sees a thing.

They sit in Berlin, whose clocks are put forward in the middle of the history.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import httpx
import pytest
from playwright.sync_api import Browser, expect
from pyspark.sql import SparkSession

from spark_jobs.tables import ledger
from spark_jobs.tables.lake import Lake
from tests.airflow.clone import Clone
from tests.airflow.waiting import until
from tests.airflow.whole import Whole, whole
from tests.browser.airflow_ui import SOON_MS, Person, Run
from tests.faults import drivers
from tests.support import history

pytestmark = [pytest.mark.airflow, pytest.mark.browser, pytest.mark.spark, pytest.mark.soak]

BACKFILL, READINGS = "tidemark_backfill", "tidemark_readings"
FIELDS = {
    "Pipeline": "The pipeline whose windows to recompute",
    "From": "in the time zone that the picker names",
    "To": "in the time zone that the picker names",
    "Dry run": "Show what would be read and replaced",
    "Ask before publishing": "Wait for a person's approval",
}
ADVANCED = {
    "Slices": "how many are done, and about how long the others will take",
    "Slices apart": "as many at once as the pool has slots",
    "Restate": "Without this, such a run is refused",
    "Complete results": "as if no row had been too late",
}
FOLDED = {
    "Out-of-orderness bound": "Such as 6 hours",
    "Allowed lateness": "Such as 2 hours",
    "Emission": "{every: 1 minute}",
    "Other settings": '{"windows.size": "2 hours"}',
}

SETTINGS = "Settings of the pipeline file, replaced in this run"

Somebody = Callable[..., Person]


@pytest.fixture(name="clone", scope="module")
def _clone(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Clone:
    clone = Clone.make(tmp_path_factory.mktemp("browser") / "clone")
    table = history.land(spark, history.events(), clone.lake / "events")
    clone.write("readings.yaml", drivers.PIPELINE.format(table=table))
    clone.add("visits")
    return clone


@pytest.fixture(name="airflow", scope="module")
def _airflow(clone: Clone, chromium: Browser) -> Iterator[Whole]:
    with whole(clone) as airflow:
        until(lambda: airflow.knows(BACKFILL) and airflow.knows(READINGS))
        expect.set_options(timeout=SOON_MS)
        yield airflow
        expect.set_options(timeout=None)


@pytest.fixture(name="somebody")
def _somebody(airflow: Whole, chromium: Browser) -> Iterator[Somebody]:
    """Somebody at a separate browser, logged in as a user if one is named."""
    contexts = []

    def somebody(user: str | None = None) -> Person:
        context = chromium.new_context(
            viewport={"width": 1440, "height": 900}, timezone_id="Europe/Berlin", locale="en-GB"
        )
        contexts.append(context)
        context.set_default_timeout(SOON_MS)
        person = Person(context.new_page(), airflow.installation.url)
        if user is not None:
            person.logs_in(user, json.loads(airflow.installation.passwords.read_text(encoding="utf-8"))[user])
            person.sees("Welcome")
        return person

    yield somebody
    for context in contexts:
        context.close()


def published(spark: SparkSession, clone: Clone) -> list[str]:
    return [run.run_id for run in ledger.published(spark, Lake(str(clone.lake), "readings"))]


def runs(airflow: Whole) -> int:
    """How many runs of the backfill DAG there are."""
    return int(airflow.get(f"dags/{BACKFILL}/dagRuns")["total_entries"])


def test_without_a_login_nothing_is_shown(somebody: Somebody) -> None:
    nobody = somebody()
    for path in ("/", f"/dags/{BACKFILL}", "/required_actions"):
        nobody.goes_to(path)
        expect(nobody.page.get_by_role("button", name="Sign in")).to_be_visible()
        expect(nobody.page.get_by_text("tidemark")).to_have_count(0)
    nobody.logs_in("admin", "admin")
    nobody.sees("401")
    nobody.keeps("login")
    for path in (f"/tidemark/reports/{READINGS}/r0123456789abcde", f"/api/v2/dags/{BACKFILL}", "/api/v2/dags"):
        answer = nobody.goes_to(path)
        assert answer.status == httpx.codes.UNAUTHORIZED
        assert answer.json() == {"detail": "Not authenticated"}


def test_the_form_describes_its_fields(somebody: Somebody, airflow: Whole) -> None:
    admin = somebody("admin")
    admin.opens_dag(BACKFILL)
    before = runs(airflow)
    form = admin.opens_form()
    for title, description in FIELDS.items():
        expect(form.field(title)).to_contain_text(description)
    admin.keeps("form")
    form.field("Pipeline").get_by_role("combobox").click()
    expect(admin.page.get_by_role("option")).to_have_text(["readings", "visits"])
    admin.page.get_by_role("option", name="readings").click()

    form.unfolds("Advanced")
    for title, description in ADVANCED.items():
        expect(form.field(title)).to_contain_text(description)
    form.types("Slices", "5000")
    expect(form.field("Slices").get_by_role("spinbutton")).to_have_value("1000")
    form.types("Slices", "")
    expect(form.field("Slices")).to_contain_text("This field is required")
    expect(form.trigger).to_be_disabled()
    admin.keeps("form-slices")
    form.types("Slices", "2")

    form.unfolds(SETTINGS)
    for title, description in FOLDED.items():
        expect(form.field(title)).to_contain_text(description)
    admin.keeps("form-settings")
    assert runs(airflow) == before


def test_a_form_that_cannot_be_fulfilled_fails_in_its_first_task_with_every_reason(somebody: Somebody) -> None:
    admin = somebody("admin")
    admin.opens_dag(BACKFILL)
    form = admin.opens_form()
    form.chooses("Pipeline", "readings")
    form.picks("From", "2024/03/31", "00:30")
    form.picks("To", "2024/03/30", "23:30")
    form.unfolds(SETTINGS)
    form.types("Emission", "now and then")
    run = form.starts()
    run.awaits("check", "Failed")
    run.awaits("report", "Upstream Failed")
    admin.keeps("wrong-run")
    run.opens_task("check")
    admin.sees("from and to: [2024-03-30T23:30:00+00:00, 2024-03-30T22:30:00+00:00) holds no window")
    admin.sees("override 'watermark.emit': found 'now and then'")
    admin.keeps("wrong-run-log")


def test_a_dry_run_shows_its_plan_and_stops(somebody: Somebody, spark: SparkSession, clone: Clone) -> None:
    before = published(spark, clone)
    admin = somebody("admin")
    admin.opens_dag(BACKFILL)
    form = admin.opens_form()
    form.chooses("Pipeline", "readings")
    form.turns_on("Dry run")
    admin.keeps("dry-run-form")
    run = form.starts()
    run.awaits("plan", "Success")
    for task in ("watermarks", "replay", "audit", "approve", "publish", "report"):
        run.awaits(task, "Skipped")
    admin.keeps("dry-run")
    run.opens_task("plan")
    admin.sees("would read 3,000 rows")
    admin.sees("nothing is written")
    admin.keeps("dry-run-log")
    assert published(spark, clone) == before


def test_a_run_is_watched_approved_and_read_and_a_viewer_only_looks(
    somebody: Somebody, airflow: Whole, spark: SparkSession, clone: Clone
) -> None:
    before = published(spark, clone)
    admin, viewer = somebody("admin"), somebody("viewer")
    run = start_run_with_approval(admin)
    watched(admin, run)
    assert published(spark, clone) == before

    looked_at(viewer, run, airflow)
    assert published(spark, clone) == before

    question = run.opens_question()
    expect(question).to_contain_text("Windows: from 2024-03-30 23:30 to 2024-03-31 01:30 UTC.")
    question.get_by_role("button", name="Approve").click()
    expect(question).to_contain_text("Pending required actions (0)")
    run.opens()
    run.awaits("report", "Success")
    admin.keeps("approved")
    (run_id,) = set(published(spark, clone)) - set(before)

    for person in (admin, viewer):
        run_page = Run(person.page, run.address)
        run_page.opens()
        run_page.opens_task("report")
        person.keeps("report-task")
        run_page.follows("Report")
        person.page.wait_for_url(f"**/tidemark/reports/{READINGS}/{run_id}")
        expect(person.page.locator("html[data-charts=drawn]")).to_have_count(1)
        expect(person.page.locator("h1")).to_contain_text("readings")
    viewer.keeps("report")


def start_run_with_approval(admin: Person) -> Run:
    """Start a run over two hours of the night, in three slices, with approval."""
    admin.opens_dag(BACKFILL)
    form = admin.opens_form()
    form.chooses("Pipeline", "readings")
    form.picks("From", "2024/03/31", "00:30")
    form.picks("To", "2024/03/31", "03:30")
    form.turns_on("Ask before publishing")
    form.unfolds("Advanced")
    form.types("Slices", "3")
    admin.keeps("run-form")
    return form.starts()


def watched(admin: Person, run: Run) -> None:
    """Its tasks go on one after the other, and a log shows how far the work is while it is done."""
    run.awaits("plan", "Success")
    run.awaits("replay", "Running")
    admin.keeps("run")
    run.opens_task("replay")
    run.shows_in_log(re.compile(r"\[tidemark\] replay: [\d,]+ rows, "))
    run.shows_in_log(re.compile(r"\[tidemark\] replay: slice 1 of 3 staged, about .+ left"))
    expect(run.state).to_have_text("Running")
    admin.keeps("progress")
    run.shows_in_log(re.compile(r"\[tidemark\] replay: slice 3 of 3 staged"))
    run.opens()
    run.awaits("audit", "Success")
    run.awaits("approve", "Awaiting Input")
    admin.keeps("awaiting")


def looked_at(viewer: Person, run: Run, airflow: Whole) -> None:
    """Who may only look sees the form, the run and the question, and what they click on is refused."""
    before = runs(airflow)
    viewer.opens_dag(BACKFILL)
    form = viewer.opens_form()
    form.chooses("Pipeline", "readings")
    form.trigger.click()
    viewer.sees("You do not have permission to perform this action.")
    viewer.keeps("viewer-form")
    assert runs(airflow) == before
    run_page = Run(viewer.page, run.address)
    run_page.opens()
    question = run_page.opens_question()
    viewer.keeps("viewer-question")
    question.get_by_role("button", name="Approve").click()
    viewer.sees("You do not have permission to perform this action.")
    expect(question).to_contain_text("Pending required actions (1)")
