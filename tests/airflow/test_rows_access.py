"""Who may see the pages about rows: the users who may see the DAG in Airflow, and nobody without a login."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from tests.airflow import some_dags
from tests.airflow.quality_server import Clients
from tests.support.published_sales import published
from tests.support.recorded_publication import RUN_ID

pytestmark = pytest.mark.airflow

RUN = f"/tidemark/rows/tidemark_sales/runs/{RUN_ID}"
PAGES = (
    "/tidemark/rows/tidemark_sales",
    RUN,
    f"{RUN}?kind=invalid",
    f"{RUN}/row?event=1714560030000000&arrival=1714563360000000",
    f"{RUN}/row?column=id&value=7",
    f"{RUN}/window?window=2024-05-01T10:40:00&key.product=tea",
)


@pytest.fixture(name="lake", autouse=True)
def _lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sales", "visits"):
        monkeypatch.setenv("TIDEMARK_LAKE", published(tmp_path, name).lake.root)


def test_no_page_is_served_without_a_login(client: Clients) -> None:
    nobody = client(None)
    for page in PAGES:
        answer = nobody.get(page)
        assert answer.status_code == httpx.codes.UNAUTHORIZED, page
        assert "tea" not in answer.text
    bad = TestClient(nobody.app, headers={"Authorization": "Bearer nonsense"})
    assert bad.get(RUN).status_code == httpx.codes.FORBIDDEN


def test_every_route_requires_a_user_and_the_dag() -> None:
    from tidemark_airflow.inspection.routes import app

    for route in app.routes:
        dependencies = {dependency.call.__qualname__ for dependency in route.dependant.dependencies}  # type: ignore[attr-defined]
        assert {"get_user", "requires_access_dag.<locals>.inner"} <= dependencies, route


def test_who_may_not_read_a_dag_does_not_see_rows_of_its_pipeline(client: Clients) -> None:
    for page in PAGES:
        assert client("clerk").get(page).status_code == httpx.codes.OK, page
        hidden = page.replace("sales", "visits")
        assert client("clerk").get(hidden).status_code == httpx.codes.FORBIDDEN, hidden
        assert client("viewer").get(hidden).status_code == httpx.codes.OK, hidden
        assert client("nobody").get(page).status_code == httpx.codes.FORBIDDEN, page


def test_the_dag_of_repairs_opens_no_rows_that_the_pipelines_dag_hides(
    client: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(some_dags, "OF_CLERK", "tidemark_sales.repair")
    for page in PAGES:
        by_repair = page.replace("tidemark_sales", "tidemark_sales.repair")
        assert client("clerk").get(by_repair).status_code == httpx.codes.FORBIDDEN, by_repair
        assert client("viewer").get(by_repair).status_code == httpx.codes.OK, by_repair
