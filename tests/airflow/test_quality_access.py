"""Who may see which page of data quality: the users who may see the DAG in Airflow, and nobody without a login."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from tests.airflow import some_dags
from tests.airflow.quality_server import PAGES, QUALITY, Clients, Enter
from tests.support.fake_lake import add_rows, run_id, steps

pytestmark = pytest.mark.airflow


def test_no_page_is_served_without_a_login(client: Clients, sales: Path) -> None:
    nobody = client(None)
    for page in (f"{QUALITY}/", f"{QUALITY}/static/charts.js", *PAGES):
        answer = nobody.get(page)
        assert answer.status_code == httpx.codes.UNAUTHORIZED, page
        assert "sales" not in answer.text
    bad = TestClient(nobody.app, headers={"Authorization": "Bearer nonsense"})
    assert bad.get(f"{QUALITY}/").status_code == httpx.codes.FORBIDDEN


def test_every_route_requires_a_user() -> None:
    from tidemark_airflow.quality.routes import app

    for route in app.routes:
        dependencies = {dependency.call.__qualname__ for dependency in route.dependant.dependencies}  # type: ignore[attr-defined]
        assert "get_user" in dependencies, route
        if "{dag_id}" in route.path:  # type: ignore[attr-defined]
            assert "requires_access_dag.<locals>.inner" in dependencies, route


def test_who_may_not_read_a_dag_does_not_see_its_pipeline(client: Clients, sales: Path, dag_run: Enter) -> None:
    add_rows(sales, "visits", steps(1, pipeline="visits"))
    dag_run("tidemark_visits", "manual__1", {})
    overview_of_viewer, overview_of_clerk = (
        client("viewer").get(f"{QUALITY}/").text,
        client("clerk").get(f"{QUALITY}/").text,
    )
    assert "tidemark_visits" in overview_of_viewer
    assert "tidemark_sales" in overview_of_viewer
    assert "tidemark_sales" in overview_of_clerk
    assert "visits" not in overview_of_clerk
    for page in PAGES:
        hidden = page.replace("sales", "visits")
        assert client("clerk").get(hidden).status_code == httpx.codes.FORBIDDEN, hidden
        assert client("viewer").get(hidden).status_code == httpx.codes.OK, hidden


def test_a_user_without_permissions_sees_nothing(client: Clients, sales: Path, dag_run: Enter) -> None:
    dag_run("tidemark_sales", "manual__1", {})
    page = client("nobody").get(f"{QUALITY}/")
    assert "There is no pipeline whose DAG you may read" in page.text
    assert "sales" not in page.text
    assert {client("nobody").get(address).status_code for address in PAGES} == {httpx.codes.FORBIDDEN}


def test_a_dag_of_several_pipelines_shows_only_those_that_the_user_may_see(
    client: Clients, sales: Path, dag_run: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_rows(sales, "visits", steps(1, pipeline="visits"))
    monkeypatch.setattr(some_dags, "OF_CLERK", "tidemark_backfill")
    pushed = {("plan", "return_value"): {"run_id": run_id(1), "pipeline": "visits", "state": "done"}}
    dag_run("tidemark_backfill", "manual__1", pushed)
    page = f"{QUALITY}/tidemark_backfill/dag_runs/manual__1"
    assert run_id(1) in client("viewer").get(page).text
    hidden = client("clerk").get(page)
    assert hidden.status_code == httpx.codes.OK
    assert "a pipeline whose DAG you may not read" in hidden.text
    assert run_id(1) not in hidden.text
    monkeypatch.setattr(some_dags, "OF_CLERK", "tidemark_sales.repair")
    assert client("clerk").get(f"{QUALITY}/tidemark_sales.repair").status_code == httpx.codes.FORBIDDEN
    assert client("viewer").get(f"{QUALITY}/tidemark_sales.repair").status_code == httpx.codes.OK
