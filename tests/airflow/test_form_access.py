"""Forms work for every pipeline: a user starts them for those pipelines whose DAGs the user may start."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.airflow import some_dags

if TYPE_CHECKING:
    from fastapi import FastAPI
    from fastapi.testclient import TestClient

pytestmark = pytest.mark.airflow

Client = Callable[..., "TestClient"]


@pytest.fixture(name="api", scope="module")
def _api(server: FastAPI) -> FastAPI:
    """Airflow's own API, as the API server composes it with the plugin."""
    from airflow.api_fastapi import app as airflow_app
    from airflow.api_fastapi.common.dagbag import create_dag_bag
    from airflow.api_fastapi.core_api.app import init_middlewares, init_views
    from fastapi import FastAPI

    from tidemark_airflow.pages.plugin import TidemarkPlugin

    api = FastAPI()
    api.state.dag_bag = create_dag_bag()
    airflow_app.init_auth_manager(api)
    init_views(api)
    init_middlewares(api)
    for added in TidemarkPlugin().fastapi_root_middlewares:
        api.add_middleware(added["middleware"])
    return api


@pytest.fixture(name="user")
def _user(api: FastAPI, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A client of a user who may start DAGs; `clerk` may start those of backfills, of accepting and of `sales`."""
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from fastapi.testclient import TestClient

    monkeypatch.setattr(some_dags, "ALSO_OF_CLERK", ("tidemark_backfill", "tidemark_accept"))

    def client(name: str, *, by_cookie: bool = False) -> TestClient:
        token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username=name, role="USER"))
        if by_cookie:
            return TestClient(api, cookies={"_token": token})
        return TestClient(api, headers={"Authorization": f"Bearer {token}"})

    return client


def start(client: TestClient, form: str, conf: Any) -> int:
    """Return the status of the answer. An allowed request ends with 404: the database has no code of the DAG."""
    body = {"logical_date": None, "conf": conf}
    return client.post(f"/api/v2/dags/tidemark_{form}/dagRuns", json=body).status_code


@pytest.mark.parametrize("form", ["backfill", "accept"])
@pytest.mark.parametrize("by_cookie", [False, True])
def test_a_form_is_started_for_a_pipeline_whose_dag_the_user_may_start(
    user: Client, form: str, by_cookie: bool
) -> None:
    clerk = user("clerk", by_cookie=by_cookie)
    assert start(clerk, form, {"pipeline": "sales"}) == httpx.codes.NOT_FOUND
    assert start(clerk, form, {"pipeline": "visits"}) == httpx.codes.FORBIDDEN
    assert start(clerk, form, {"pipeline": "no_such"}) == httpx.codes.FORBIDDEN
    assert start(user("planner", by_cookie=by_cookie), form, {"pipeline": "visits"}) == httpx.codes.NOT_FOUND


def test_a_form_without_a_pipeline_is_left_to_airflow(user: Client) -> None:
    forms: tuple[Any, ...] = ({}, None, {"pipeline": None}, [], "visits")
    for conf in forms:
        assert start(user("clerk"), "backfill", conf) in (httpx.codes.NOT_FOUND, httpx.codes.UNPROCESSABLE_ENTITY)


def test_a_request_without_a_valid_token_starts_nothing(api: FastAPI) -> None:
    from fastapi.testclient import TestClient

    address, body = "/api/v2/dags/tidemark_backfill/dagRuns", {"logical_date": None, "conf": {"pipeline": "sales"}}
    assert TestClient(api).post(address, json=body).status_code == httpx.codes.UNAUTHORIZED
    forged = TestClient(api, cookies={"_token": "nonsense"})
    assert forged.post(address, json=body).status_code == httpx.codes.FORBIDDEN


def test_other_dags_and_other_spellings_of_the_address_are_airflows(user: Client) -> None:
    clerk = user("clerk")
    body = {"logical_date": None, "conf": {"pipeline": "visits"}}
    for address in ("tidemark%5Fbackfill/dagRuns", "tidemark_backfill/dagRuns/", "tidemark_backfill/%64agRuns"):
        answer = clerk.post(f"/api/v2/dags/{address}", json=body)
        assert answer.status_code == httpx.codes.FORBIDDEN, address
    assert start(clerk, "sales", {"pipeline": "visits"}) == httpx.codes.NOT_FOUND
