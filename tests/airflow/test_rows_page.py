"""The pages about rows: late and invalid rows of a run, and why rows and windows counted or not."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import BoundedSemaphore, Event

import httpx
import pytest

from spark_jobs.inspection import bounded_source, missed_page
from spark_jobs.inspection.publication import Publication
from spark_jobs.job_protocol import PLACE_OF_LINKS, StepResult, StepState
from spark_jobs.tables.delta_rs import Table
from tests.airflow.quality_server import QUALITY, Clients, links, visible_text
from tests.support.fake_lake import add_rows, run_id, steps
from tests.support.published_sales import CUSTOMER, published
from tests.support.recorded_publication import RUN_ID
from tidemark_airflow.inspection import reading
from tidemark_airflow.jobs.links import LateRowsLink
from tidemark_airflow.jobs.outcome import Outcome
from tidemark_airflow.pages.plugin import TidemarkPlugin

pytestmark = pytest.mark.airflow

ROWS = "/tidemark/rows"
PAGE = f"{ROWS}/tidemark_sales/runs/{RUN_ID}"

Get = Callable[..., httpx.Response]


@pytest.fixture(name="publication", scope="module")
def _publication(tmp_path_factory: pytest.TempPathFactory) -> Publication:
    return published(tmp_path_factory.mktemp("sales"))


@pytest.fixture(name="root")
def _root(publication: Publication, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the lake, of the source and of Airflow's DAGs."""
    root = Path(publication.lake.root).parent
    monkeypatch.setenv("TIDEMARK_LAKE", publication.lake.root)
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(root / "dags"))
    monkeypatch.delenv("TIDEMARK_PAGES_SHOW_SOURCE", raising=False)
    return root


@pytest.fixture(name="shows_source")
def _shows_source(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_PAGES_SHOW_SOURCE", "yes")


def explanation_of(client: Clients, number: int = 0) -> str:
    """Return the address of the explanation of a late row by its place on the page."""
    return links(client().get(PAGE).text, "Explain")[number]


def test_late_rows_are_counted_grouped_and_listed(client: Clients, root: Path) -> None:
    words = visible_text(client().get(PAGE).text)
    assert "Late rows of sales 4 rows too late." in words
    assert "Windows that they missed 4" in words
    assert "windows.allowed_lateness: 37 minutes 30 seconds 1 ms" in words
    assert "watermark.out_of_orderness: 32 minutes 30 seconds 1 ms" in words
    assert "By partition shop rows share" in words
    assert "north 2 50%" in words
    assert words.count("Explain") == 4
    assert "tea south 2024-05-01 10:40:30 2024-05-01 11:36:00 2024-05-01 11:27:29.999 46 minutes 59 seconds" in words
    newest = client().get(f"{ROWS}/tidemark_sales")
    assert visible_text(newest.text) == words


def test_a_filter_narrows_counts_and_rows(client: Clients, root: Path) -> None:
    for query, rows in (
        ({"key.product": "tea"}, 2),
        ({"key.product": "null"}, 1),
        ({"partition.shop": "north"}, 2),
        ({"partition.shop": "north", "key.product": "cake"}, 1),
        ({"window": "2024-05-01T10:40:00"}, 1),
        ({"window": "2024-05-01T12:40:00+02:00"}, 1),
        ({"lateness": "below 1 hour"}, 4),
        ({"lateness": "below 10 minutes"}, 0),
        ({"key.product": ""}, 4),
        ({"key.product": "x' OR 'a' = 'a"}, 0),
    ):
        words = visible_text(client().get(PAGE, params=query).text)
        assert f"{'1 row' if rows == 1 else f'{rows} rows'} too late" in words, query
        assert words.count("Explain") == rows, query


def test_a_group_leads_to_its_rows(client: Clients, root: Path) -> None:
    for by, text, rows in (("key", "tea", 2), ("partition", "north", 2), ("lateness", "below 1 hour", 4)):
        html = client().get(PAGE, params={"by": by}).text
        narrower = client().get(links(html, text)[0]).text
        assert visible_text(narrower).count("Explain") == rows, by
    (place, *_) = links(client().get(PAGE, params={"by": "window"}).text, "2024-05-01T10:40:00Z")
    assert visible_text(client().get(place).text).count("Explain") == 1


def test_invalid_rows_have_their_reason(client: Clients, root: Path) -> None:
    (place,) = links(client().get(PAGE).text, "Invalid rows")
    words = visible_text(client().get(place).text)
    assert "Invalid rows of sales 1 row invalid." in words
    assert "By reason reason rows share event_time_missing 1 100%" in words
    assert "event_time_missing: its event time is null" in words
    assert "Explain" not in words
    assert "0 rows invalid" in visible_text(client().get(f"{place}&reason=other").text)


def test_rows_are_paged(client: Clients, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tidemark_airflow.inspection import pages

    for module in (missed_page, pages):
        monkeypatch.setattr(module, "ROWS", 3)
    first = client().get(PAGE).text
    assert "Page 1 of 2" in visible_text(first)
    (more,) = links(first, "More rows")
    second = visible_text(client().get(more).text)
    assert "Page 2 of 2" in second
    assert second.count("Explain") == 1
    assert "behind the last one" in visible_text(client().get(PAGE, params={"page": 9}).text)
    for page in ("0", "201", "x"):
        assert client().get(PAGE, params={"page": page}).status_code == httpx.codes.UNPROCESSABLE_ENTITY


def test_a_late_row_is_explained_by_the_published_tables(client: Clients, root: Path) -> None:
    words = visible_text(client().get(explanation_of(client)).text)
    assert "sales: 1 row with event time 2024-05-01 10:40:30, arrival time 2024-05-01 11:36:00" in words
    assert "Made of the published tables, without the rows of the source: pages do not show the source" in words
    assert "Too late: no window took it" in words
    assert "Watermark before it 2024-05-01 11:27:29.999" in words
    assert "2024-05-01 10:40:00 to 2024-05-01 10:50:00 too late ( rule 51 ) 2024-05-01 10:49:59.999" in words
    assert "2024-05-01 10:59:59.999 none" in words
    assert "watermark.out_of_orderness: 32 minutes 30 seconds 1 ms (now 5 minutes)" in words
    assert "windows.allowed_lateness: 37 minutes 30 seconds 1 ms (now 10 minutes)" in words
    assert "holds the others back" in words
    assert "pane 0 on time, 3 rows" in words
    assert "Rule 51 A window is closed for a row" in words
    assert "arrived before it" not in words


def test_with_the_setting_a_row_has_the_explanation_of_the_terminal(
    client: Clients, root: Path, shows_source: None
) -> None:
    words = visible_text(client().get(explanation_of(client)).text)
    assert "Made of the published tables" not in words
    assert f"customer {CUSTOMER}" in words
    assert "Place 95 rows arrived before it" in words
    assert "The watermark of each partition before the row partition watermark note north" in words
    assert "the row's partition" in words
    assert "row on time" in words
    other = client().get(f"{PAGE}/row", params={"column": "id", "value": "28"})
    words = visible_text(other.text)
    assert "sales: 1 row with id = 28" in words
    assert "Late, within the allowed lateness" in words
    assert "late ( rule 64 )" in words
    assert "pane 1 late, fired at 2024-05-01 10:28:00" in words
    nothing = visible_text(client().get(f"{PAGE}/row", params={"column": "id", "value": "no"}).text)
    assert "The source has no such row as of this run." in nothing


def test_a_window_has_its_time_line_as_a_chart_and_as_a_table(
    client: Clients, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place,) = links(client().get(PAGE, params={"key.product": "cake"}).text, "2024-05-01 10:20:00")
    html = client().get(place).text
    words = visible_text(html)
    assert 'class="chart" id="life-chart"' in html
    assert "static/bokeh" in html
    assert "the window from 2024-05-01 10:20:00 to 2024-05-01 10:30:00, product = cake" in words
    assert "The list has 1 row too late, 1 pane. Rows that the window took are not listed" in words
    assert "closed" in words
    assert "row too late" in words
    assert "row on time" not in words
    assert "sales 2 pane_count 1 row_count 2 too_late_count 1" in words
    monkeypatch.setenv("TIDEMARK_PAGES_SHOW_SOURCE", "yes")
    by_source = visible_text(client().get(place).text)
    assert by_source.count("row on time") >= 2
    assert "Rows that the window took are not listed" not in by_source
    assert "The window is unknown" in visible_text(client().get(f"{place}-no-such").text)


def test_source_columns_are_neither_read_nor_shown_without_the_setting(
    client: Clients, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    select = Table.select

    def recording_select(table: Table, query: str) -> list[dict[str, object]]:
        opened.append(f"{table.delta.table_uri} {query}")
        return select(table, query)

    monkeypatch.setattr(Table, "select", recording_select)
    pages = [PAGE, f"{PAGE}?kind=invalid", explanation_of(client), f"{PAGE}/row?column=id&value=7"]
    pages += links(client().get(PAGE).text, "2024-05-01 10:40:00")
    for page in pages:
        html = client().get(page).text
        assert CUSTOMER not in html, page
        assert "customer" not in html, page
    assert opened
    assert not any("source_of_sales" in query or '"customer"' in query for query in opened)
    assert "4 columns of the source are hidden" in visible_text(client().get(PAGE).text)


def test_another_value_of_the_setting_shows_no_page(
    client: Clients, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_PAGES_SHOW_SOURCE", "true")
    words = visible_text(client().get(PAGE).text)
    assert "TIDEMARK_PAGES_SHOW_SOURCE is 'true'. Write yes or no" in words
    assert "Explain" not in words


def test_a_request_is_bounded_and_states_the_limit(
    client: Clients, root: Path, shows_source: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = explanation_of(client)
    monkeypatch.setattr(bounded_source, "MOST_ROWS", 119)
    words = visible_text(client().get(place).text)
    assert "its source has 120 rows, and a page replays at most 119" in words
    assert "Too late: no window took it" in words
    monkeypatch.setattr(missed_page, "MOST_ROWS", 3)
    assert "has 4 rows to read, and a page reads at most 3" in visible_text(client().get(PAGE).text)


def test_an_answer_that_takes_too_long_is_given_up(
    client: Clients, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_up = Event()
    monkeypatch.setattr(reading, "WITHIN_S", 0.05)
    monkeypatch.setattr(reading, "publication", lambda *ids: given_up.wait(60))
    assert "the answer took more than 0 s. Load the page again" in visible_text(client().get(PAGE).text)
    given_up.set()


def test_a_request_that_finds_many_others_is_refused_at_once(
    client: Clients, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_places", BoundedSemaphore(1))
    with reading._places:
        assert "too many pages are being read at once" in visible_text(client().get(PAGE).text)
    assert "4 rows too late" in visible_text(client().get(PAGE).text)


def test_an_address_that_cannot_be_read_is_refused(client: Clients, root: Path) -> None:
    for query in ("event=x", "event=", "event=1&arrival=99999999999999999999", "window=x&event=1"):
        assert client().get(f"{PAGE}/row?{query}").status_code == httpx.codes.UNPROCESSABLE_ENTITY, query
    for query in ("", "window=tomorrow", f"window=2024-05-01&key.product={'x' * 3000}"):
        assert client().get(f"{PAGE}/window?{query}").status_code == httpx.codes.UNPROCESSABLE_ENTITY, query
    for query in ("", "&key.shop=north", "&key.product=tea&key.shop=north"):
        answer = client().get(f"{PAGE}/window?window=2024-05-01T10:40:00{query}")
        assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY, query
        assert "expected product" in answer.text
    many = "&".join(f"key.{number}=1" for number in range(50))
    assert client().get(f"{PAGE}/window?window=2024-05-01&{many}").status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert client().get(f"{ROWS}/tidemark_backfill/runs/{RUN_ID}").status_code == httpx.codes.NOT_FOUND
    words = visible_text(client().get(f"{ROWS}/tidemark_backfill").text)
    assert "The DAG tidemark_backfill does not run one pipeline" in words


def test_a_run_without_a_publication_is_named(client: Clients, sales: Path) -> None:
    blocked = visible_text(client().get(f"{ROWS}/tidemark_sales/runs/{run_id(2)}").text)
    assert f"run {run_id(2)} is blocked, and has published nothing" in blocked
    assert "has no run" in visible_text(client().get(f"{ROWS}/tidemark_sales/runs/{run_id(77)}").text)
    assert "visits has published nothing yet" in visible_text(client().get(f"{ROWS}/tidemark_visits").text)
    # Its tables are gone.
    assert "cannot be read at version" in visible_text(client().get(f"{ROWS}/tidemark_sales").text)


def test_a_page_runs_no_script_but_its_own_and_sends_forms_to_itself_alone(client: Clients, root: Path) -> None:
    answer = client().get(PAGE)
    policy = dict(part.strip().partition(" ")[::2] for part in answer.headers["Content-Security-Policy"].split(";"))
    assert (policy["default-src"], policy["form-action"], policy["frame-ancestors"]) == ("'none'", "'self'", "'self'")
    assert answer.headers["Cache-Control"] == "no-store"
    nonce = policy["script-src"].removeprefix("'nonce-").removesuffix("'")
    scripts = re.findall(r"<script (.*?)>", answer.text)
    assert all(f'nonce="{nonce}"' in attributes for attributes in scripts)
    (window, *_) = links(answer.text, "2024-05-01 10:40:00")
    assert "form-action 'none'" in client().get(window).headers["Content-Security-Policy"]
    for place in re.findall(r'src="(.*?)"', client().get(window).text):
        assert client().get(place).status_code == httpx.codes.OK


def test_pages_lead_to_each_other(client: Clients, root: Path) -> None:
    run = f"{QUALITY}/tidemark_sales/runs/{RUN_ID}"
    assert links(client().get(run).text, "Late rows") == [PAGE]
    assert links(client().get(f"{QUALITY}/tidemark_sales").text, "Late rows") == [f"{ROWS}/tidemark_sales"]
    html = client().get(PAGE).text
    assert run in links(html, "← Run")
    assert links(html, "Report") == [f"/tidemark/reports/tidemark_sales/{RUN_ID}"]
    assert PAGE in links(client().get(explanation_of(client)).text, "← Late rows")
    views = [(view["destination"], view["href"]) for view in TidemarkPlugin().external_views]
    assert ("dag", f"{ROWS}/{{DAG_ID}}") in views


def test_the_report_has_links_where_its_page_has_a_login(client: Clients, root: Path) -> None:
    report = root / "lake/sales/reports" / f"{RUN_ID}.html"
    report.parent.mkdir(exist_ok=True)
    report.write_text(f"<header>{PLACE_OF_LINKS}</header><p>{PLACE_OF_LINKS}</p>", encoding="utf-8")
    place = f"/tidemark/reports/tidemark_sales/{RUN_ID}"
    served = client().get(place).text
    assert links(served, "Late rows") == [PAGE]
    assert links(served, "Checks") == [f"{QUALITY}/tidemark_sales/runs/{RUN_ID}"]
    # Only the first place is the page's own.
    assert served.endswith(f"<p>{PLACE_OF_LINKS}</p>")
    framed = client().get(place, headers={"Sec-Fetch-Dest": "iframe"}).text
    assert framed == f"<header></header><p>{PLACE_OF_LINKS}</p>"
    shutil.rmtree(report.parent)


def test_links_stay_under_the_path_of_this_airflow(
    client: Clients, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://data.example/airflow/")
    html = client().get(PAGE).text
    for name in ("Explain", "Invalid rows", "Report", "2024-05-01 10:40:00"):
        assert all(place.startswith("/airflow/tidemark/") for place in links(html, name)), name
    assert f'action="/airflow{PAGE}"' in html


def test_a_task_that_has_published_links_to_its_late_rows() -> None:
    class Operator:
        outcome: Outcome | None = None

    class Key:
        dag_id = "tidemark_sales"

    def link(result: StepResult | None) -> str:
        operator = Operator()
        operator.outcome = None if result is None else Outcome("publish", 0, result)
        return LateRowsLink().get_link(operator, ti_key=Key())  # type: ignore[arg-type]

    published_result = StepResult("publish", RUN_ID, "sales", StepState.DONE, "", versions={"late_events": 3})
    assert link(published_result) == PAGE
    assert link(StepResult("replay", RUN_ID, "sales", StepState.DONE, "")) == ""
    assert link(None) == ""


@pytest.fixture(autouse=True)
def _no_slow_answers() -> Iterator[None]:
    """Wait for answers that a test has given up, so that none of them reads for the next test."""
    yield
    reading._pool().submit(lambda: None).result()


def test_a_newer_run_that_has_not_published_does_not_hide_the_published_one(
    client: Clients, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_LAKE", published(tmp_path).lake.root)
    add_rows(tmp_path / "lake", "sales", steps(3, until="audit", state="blocked"))
    assert "4 rows too late" in visible_text(client().get(f"{ROWS}/tidemark_sales").text)
