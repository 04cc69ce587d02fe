"""The pages of data quality: what they show of good runs and of bad ones, and what they never do."""

from __future__ import annotations

import re
import time
from pathlib import Path
from urllib.parse import unquote

import httpx
import pytest
from airflow.models.errors import ParseImportError
from airflow.utils.session import create_session
from bokeh.models import DatetimeAxis, Range1d
from fastapi import FastAPI

from spark_jobs.job_protocol import StepResult, StepState
from spark_jobs.tables import run_history
from spark_jobs.tables.lake import Lake
from tests.airflow.clone import PIPELINE
from tests.airflow.quality_server import PAGES, QUALITY, Clients, Enter, visible_text
from tests.support.fake_lake import add_rows, check, run_id, steps
from tests.support.sample_report_runs import FIGURES, HOSTILE
from tidemark_airflow.jobs.links import QualityLink
from tidemark_airflow.jobs.outcome import Outcome
from tidemark_airflow.pages.plugin import TidemarkPlugin
from tidemark_airflow.quality import overview, trend

pytestmark = pytest.mark.airflow


def test_the_overview_shows_how_the_newest_run_of_each_pipeline_ended(
    client: Clients, sales: Path, dag_run: Enter
) -> None:
    report = sales / "sales/reports" / f"{run_id(2)}.html"
    report.parent.mkdir()
    report.touch()
    dag_run("tidemark_sales", "manual__2", {}, state="running")
    words = visible_text(client().get(f"{QUALITY}/").text)
    assert "sales DAG Run Report Blocked 2026-01-05 09:02:30 its DAG is running all of time 1,000" in words
    assert "4.04% 1.01% 98.99% 1" in words
    assert "visits DAG It was never run." in words


def test_data_docs_are_linked_if_they_exist_and_shown_to_users_who_may_see_the_dag(
    client: Clients, sales: Path
) -> None:
    page = f"{QUALITY}/tidemark_sales/runs/{run_id(2)}"
    assert "Data Docs" not in client().get(page).text
    docs = sales / "sales/reports" / f"{run_id(2)}.data-docs.html"
    docs.parent.mkdir(exist_ok=True)
    docs.write_text("<p>told</p>", encoding="utf-8")
    place = f"/tidemark/reports/tidemark_sales/{run_id(2)}/data-docs"
    assert f'href="{place}"' in client().get(page).text
    response = client().get(place)
    assert (response.status_code, response.text) == (200, "<p>told</p>")
    assert response.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert client("nobody").get(place).status_code == 403
    assert client().get(place.replace(run_id(2), run_id(9))).status_code == 404


def test_a_broken_pipeline_file_is_named_to_whom_airflow_shows_import_errors(
    client: Clients, sales: Path, server: FastAPI
) -> None:
    trace = "Traceback ...\ntidemark_airflow.pipeline_files.BrokenPipelinesError: 1 pipeline file cannot be used\n"
    with create_session() as session:
        broken = f"{trace}/p/clicks.yaml:2:10: source.tabel: unknown key <b>\n"
        session.add(ParseImportError(filename="broken_pipelines.py", bundle_name="told", stacktrace=broken))
    words = visible_text(client().get(f"{QUALITY}/").text)
    assert "/p/clicks.yaml:2:10: source.tabel: unknown key <b>" in words
    assert "Blocked" in words
    assert "clicks.yaml" not in client("nobody").get(f"{QUALITY}/").text


def test_a_missing_lake_is_named_in_every_row(
    client: Clients, server: FastAPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_LAKE", str(tmp_path / "gone"))
    words = visible_text(client().get(f"{QUALITY}/").text)
    assert words.count(f"there is no lake at {tmp_path}/gone; TIDEMARK_LAKE names its folder") == 2
    assert "there is no lake at" in visible_text(client().get(f"{QUALITY}/tidemark_sales").text)
    assert "there is no lake at" in visible_text(client().get(f"{QUALITY}/tidemark_sales/runs/{run_id(1)}").text)


def test_a_lake_that_does_not_answer_holds_no_page_for_long(
    client: Clients, sales: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "WITHIN_S", 0.2)
    monkeypatch.setattr(run_history, "newest", lambda lake, steps: time.sleep(1))
    began = time.monotonic()
    assert visible_text(client().get(f"{QUALITY}/").text).count("was not read within") == 2
    assert time.monotonic() - began < 1


def test_a_pipelines_page_draws_its_runs_and_lists_what_has_failed(client: Clients, sales: Path) -> None:
    answer = client().get(f"{QUALITY}/tidemark_sales")
    words = visible_text(answer.text)
    assert "Blocked Checks failed, and nothing was published." in words
    assert "✗ failed not_too_many_are_too_late window 1 window 2 11 of 1,000 panes" in words
    assert "passes" not in words
    assert "2 runs were checked; in 1 of them 1 check failed." in words
    assert "All 2 runs." in words
    for place in ("late-chart", "too-late-chart", "completeness-chart", "failed-chart"):
        assert f'id="{place}"' in answer.text
    assert "was never run" in client().get(f"{QUALITY}/tidemark_visits").text


def test_one_run_is_numbers_and_no_chart(client: Clients, sales: Path) -> None:
    add_rows(sales, "visits", steps(1, pipeline="visits"))
    page = client().get(f"{QUALITY}/tidemark_visits").text
    words = visible_text(page)
    assert 'class="chart"' not in page
    assert "static/bokeh" not in page
    assert "Newest run" in words
    assert "Completeness 98.99%" in words
    assert " 1 run. All times are UTC." in words


def test_limits_stand_beside_ratios_and_exceeded_ones_are_marked(
    client: Clients, sales: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "dags" / "pipelines"
    folder.mkdir(parents=True)
    text = PIPELINE.format(name="sales", table="/lake/events") + "quality: {max_too_late_ratio: 0.005}\n"
    (folder / "sales.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(folder.parent))
    for page in ("", "tidemark_sales", f"tidemark_sales/runs/{run_id(2)}"):
        html = client().get(f"{QUALITY}/{page}").text
        assert re.search(r'<span class="bad">1\.01%</span>\s*<span class="small">at most 0\.5%</span>', html), page
    (folder / "sales.yaml").write_text(text.replace("0.005", "0.05"), encoding="utf-8")
    html = client().get(f"{QUALITY}/tidemark_sales").text
    assert re.search(r'<span>1\.01%</span>\s*<span class="small">at most 5%</span>', html)


def test_a_failing_pipeline_is_marked(client: Clients, sales: Path) -> None:
    add_rows(sales, "visits", steps(1, pipeline="visits"))
    rows = re.findall(
        r'<tr( class="failing")?>\s*<th scope="row"><a href="[^"]*tidemark_(\w+)"', client().get(f"{QUALITY}/").text
    )
    assert dict(reversed(row) for row in rows) == {"sales": ' class="failing"', "visits": ""}
    assert 'class="verdict failing"' in client().get(f"{QUALITY}/tidemark_sales").text
    assert 'class="verdict failing"' not in client().get(f"{QUALITY}/tidemark_visits").text


def test_passed_checks_are_folded_by_suite(client: Clients, sales: Path) -> None:
    page = client().get(f"{QUALITY}/tidemark_sales/runs/{run_id(2)}").text
    assert page.index("not_too_many_are_too_late") < page.index('<details class="passed">') < page.index("passes")


def test_runs_are_paged(client: Clients, sales: Path) -> None:
    for number in range(3, 24):
        add_rows(sales, "sales", steps(number, until="plan"))
    first, second = (client().get(f"{QUALITY}/tidemark_sales", params={"page": n}).text for n in (1, 2))
    assert "Page 1 of 2" in visible_text(first)
    assert [n for n in range(24) if run_id(n) in second] == [1, 2, 3]
    assert "Page 2 of 2" in visible_text(client().get(f"{QUALITY}/tidemark_sales", params={"page": 99}).text)
    assert client().get(f"{QUALITY}/tidemark_sales", params={"page": 0}).status_code == 422


def test_a_runs_page_has_all_checks_and_why_it_was_blocked(client: Clients, sales: Path) -> None:
    words = visible_text(client().get(f"{QUALITY}/tidemark_sales/runs/{run_id(2)}").text)
    assert words.index("not_too_many_are_too_late") < words.index("✓ passed passes")
    assert "expected: at most 1 %" in words
    for unknown in (run_id(9), "%22", "r' OR 1=1"):
        answer = client().get(f"{QUALITY}/tidemark_sales/runs/{unknown}")
        assert answer.status_code == httpx.codes.NOT_FOUND


def test_a_runs_page_shows_what_spark_measured_of_its_steps(client: Clients, sales: Path, dag_run: Enter) -> None:
    page = f"{QUALITY}/tidemark_sales/runs"
    # The ledger of an earlier version has no figures.
    assert "Spark" not in visible_text(client().get(f"{page}/{run_id(1)}").text)
    add_rows(sales, "sales", steps(3, until="replay", figures=list(FIGURES.items())))
    words = visible_text(client().get(f"{page}/{run_id(3)}").text)
    assert "Spark What Spark measured of each step figure plan replay seconds 50 s 50 s" in words
    assert "rows per second 60,000 rows/s 60,000 rows/s bytes read 3.0 GiB 3.0 GiB" in words
    assert "native share 62.5% 62.5%" in words
    assert "rows read rows that tasks read from files; a row counts each time it is read" in words
    dag_run("tidemark_sales", "manual__3", {("plan", "run_id"): run_id(3)})
    assert "skew 1.75" in visible_text(client().get(f"{QUALITY}/tidemark_sales/dag_runs/manual__3").text)
    assert "Spark" not in visible_text(client().get(f"{page}/{run_id(1)}").text)


def test_a_dag_run_shows_the_runs_that_its_tasks_have_named(client: Clients, sales: Path, dag_run: Enter) -> None:
    returned = StepResult("plan", run_id(1), "sales", StepState.DONE, "").to_json()
    # The audit has failed: it has pushed the id alone.
    pushed = {("plan", "return_value"): returned, ("plan", "run_id"): run_id(1), ("audit", "run_id"): run_id(2)}
    dag_run("tidemark_sales", "manual__2026-01-05T07:00:00+00:00", pushed, state="failed")
    answer = client().get(f"{QUALITY}/tidemark_sales/dag_runs/manual__2026-01-05T07:00:00%2B00:00")
    words = visible_text(answer.text)
    assert words.index(f"sales, run {run_id(1)}") < words.index(f"sales, run {run_id(2)}")
    assert "not_too_many_are_too_late" in words
    assert words.count(f"run {run_id(1)}") == 1


@pytest.mark.parametrize(("state", "words"), [("running", "Load the page again"), ("failed", "it ended before")])
def test_the_page_of_a_dag_run_without_a_run_of_a_pipeline_explains_it(
    client: Clients, sales: Path, dag_run: Enter, state: str, words: str
) -> None:
    # Planned, and not in the ledger yet.
    dag_run("tidemark_sales", "manual__1", {("plan", "run_id"): run_id(77), ("look", "return_value"): "x"}, state)
    page = visible_text(client().get(f"{QUALITY}/tidemark_sales/dag_runs/manual__1").text)
    assert "No run of a pipeline yet" in page
    assert words in page
    assert client().get(f"{QUALITY}/tidemark_sales/dag_runs/manual__9").status_code == httpx.codes.NOT_FOUND


def test_the_page_of_a_foreign_dag_states_that_it_has_no_pipeline(client: Clients, sales: Path, dag_run: Enter) -> None:
    assert "The DAG another does not run one pipeline" in visible_text(client().get(f"{QUALITY}/another").text)
    dag_run("another", "manual__1", {("t", "return_value"): {"run_id": 7, "pipeline": ["x"], "state": "done"}})
    assert "No run of a pipeline yet" in client().get(f"{QUALITY}/another/dag_runs/manual__1").text
    assert client().get(f"{QUALITY}/another/runs/{run_id(1)}").status_code == httpx.codes.NOT_FOUND


def test_a_page_runs_no_script_but_its_own_and_is_kept_by_nobody(client: Clients, sales: Path) -> None:
    answer = client().get(f"{QUALITY}/tidemark_sales")
    policy = dict(part.strip().partition(" ")[::2] for part in answer.headers["Content-Security-Policy"].split(";"))
    nonce = policy["script-src"].removeprefix("'nonce-").removesuffix("'")
    assert len(nonce) > 20
    assert (policy["default-src"], policy["frame-ancestors"]) == ("'none'", "'self'")
    assert answer.headers["Cache-Control"] == "no-store"
    scripts = re.findall(r"<script (.*?)>", answer.text)
    assert [attributes for attributes in scripts if "application/json" not in attributes] == [
        f'nonce="{nonce}" src="{source}"' for source in re.findall(r'src="(.*?)"', answer.text)
    ]
    assert nonce not in client().get(f"{QUALITY}/tidemark_sales").headers["Content-Security-Policy"]
    for source in re.findall(r'src="(.*?)"', answer.text):
        script = client().get(source)
        assert script.headers["Content-Type"].startswith("text/javascript")
        assert "immutable" in script.headers["Cache-Control"]
    assert client().get(f"{QUALITY}/static/passwords.json").status_code == httpx.codes.NOT_FOUND


def test_values_of_data_are_text_and_never_markup(client: Clients, sales: Path, dag_run: Enter) -> None:
    spoilt = HOSTILE.replace("\ud800", "")
    add_rows(
        sales,
        "visits",
        steps(1, pipeline="visits", until="audit", state="blocked", failed=1, error=spoilt, kind=spoilt, note=spoilt),
        [check(1, spoilt, success=False, observed=spoilt * 100, suite=spoilt, details=f"{spoilt}\n{spoilt}")],
    )
    row = steps(2, pipeline="visits", until="plan")[0]
    add_rows(sales, "visits", [{**row, "run_id": spoilt, "state": spoilt}])
    dag_run("tidemark_visits", "manual__1", {("plan", "run_id"): run_id(1)})
    for page in (f"{QUALITY}/", *PAGES):
        text = client().get(page.replace("sales", "visits")).text
        assert "alert(1)" in visible_text(text) or page.endswith("/")
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "\u202e" not in text


def test_links_stay_under_the_path_of_this_airflow(
    client: Clients, sales: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://data.example/airflow/")
    page = client().get(f"{QUALITY}/").text
    assert 'href="/airflow/tidemark/quality/tidemark_sales"' in page
    assert 'href="/airflow/dags/tidemark_sales"' in page
    assert 'src="/airflow/tidemark/quality/static/frame-' in page
    assert [(view["destination"], view["href"]) for view in TidemarkPlugin().external_views] == [
        ("nav", "/airflow/tidemark/quality/"),
        ("dag", "/airflow/tidemark/quality/{DAG_ID}"),
        ("dag", "/airflow/tidemark/rows/{DAG_ID}"),
        ("dag_run", "/airflow/tidemark/quality/{DAG_ID}/dag_runs/{RUN_ID}"),
    ]


def test_the_navigation_has_a_short_name_and_a_picture() -> None:
    names = [(view["destination"], view["name"]) for view in TidemarkPlugin().external_views]
    assert names == [
        ("nav", "Quality"),
        ("dag", "Data quality"),
        ("dag", "Late rows"),
        ("dag_run", "Data quality"),
    ]
    assert len({view["url_route"] for view in TidemarkPlugin().external_views}) == len(names)
    for view in TidemarkPlugin().external_views:
        for icon in (view["icon"], view["icon_dark_mode"]):
            assert unquote(icon).startswith("data:image/svg+xml,<svg")


def test_completeness_ends_at_all_rows_and_runs_stand_at_their_times(sales: Path) -> None:
    add_rows(sales, "visits", [*steps(1, pipeline="visits"), *steps(2, pipeline="visits")])
    charts = trend.drawn(run_history.every(Lake(str(sales), "visits")))
    completeness = charts[trend.COMPLETENESS]
    assert isinstance(completeness.y_range, Range1d)
    assert completeness.y_range.end == 100
    assert isinstance(completeness.xaxis[0], DatetimeAxis)


def test_a_task_links_to_the_page_of_its_pipeline() -> None:
    class Operator:
        outcome: Outcome | None = None

    class Key:
        dag_id = "tidemark_sales.repair"

    def link(dag: str, pipeline: str | None) -> str:
        operator, key = Operator(), Key()
        key.dag_id = dag
        if pipeline is not None:
            operator.outcome = Outcome("plan", 0, StepResult("plan", "", pipeline, StepState.DONE, ""))
        return QualityLink().get_link(operator, ti_key=key)  # type: ignore[arg-type]

    assert link("tidemark_sales", None) == "/tidemark/quality/tidemark_sales"
    assert link("tidemark_sales.repair", "") == "/tidemark/quality/tidemark_sales"
    assert link("tidemark_backfill", "visits") == "/tidemark/quality/tidemark_visits"
    assert link("tidemark_backfill", None) == ""
