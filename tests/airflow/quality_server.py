"""The pages of data quality as the API server mounts them, with a metadata database and users, as fixtures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests.support.fake_lake import add_rows, check, run_id, steps

if TYPE_CHECKING:
    from fastapi import FastAPI
    from fastapi.testclient import TestClient

DAGS = ("tidemark_sales", "tidemark_visits", "tidemark_sales.repair", "tidemark_backfill", "another")
#: Users by name, and their roles; `clerk` may read one DAG alone.
USERS = {"viewer": "VIEWER", "clerk": "VIEWER", "nobody": None}
QUALITY = "/tidemark/quality"
#: The pages of the pipeline `sales`.
PAGES = (
    f"{QUALITY}/tidemark_sales",
    f"{QUALITY}/tidemark_sales/runs/{run_id(1)}",
    f"{QUALITY}/tidemark_sales/dag_runs/manual__1",
)

Clients = Callable[..., "TestClient"]
Enter = Callable[..., None]


def links(html: str, name: str) -> list[str]:
    """Return the addresses of the links with a name."""
    return [unescape(place) for place in re.findall(rf'<a href="([^"]+)"[^>]*>(?:<bdi>)?{name}', html)]


def visible_text(html: str) -> str:
    """Return the text of a page without its tags and scripts."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.DOTALL)
    within = re.sub(r"</?(bdi|code|strong)\b[^>]*>", "", body)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", within)).split())


@pytest.fixture(name="server", scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """What the API server mounts of Tidemark, with an auth manager and a metadata database."""
    from airflow.api_fastapi import app as airflow_app
    from airflow.models.dag import DagModel
    from airflow.models.dagbundle import DagBundleModel
    from airflow.models.dagrun import DagRun
    from airflow.models.errors import ParseImportError
    from airflow.utils.session import create_session
    from fastapi import FastAPI
    from sqlalchemy import delete

    from tests.airflow import some_dags
    from tidemark_airflow.embedded import metadata
    from tidemark_airflow.pages.plugin import TidemarkPlugin

    settings = {
        "CORE__AUTH_MANAGER": f"{some_dags.__name__}.{some_dags.SomeDags.__name__}",
        "CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
        "CORE__SIMPLE_AUTH_MANAGER_USERS": "viewer:viewer",
        "CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(tmp_path_factory.mktemp("auth") / "passwords.json"),
        "API_AUTH__JWT_SECRET": "a secret of at least sixty-four characters, as long as HS512 wants one to be",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(f"AIRFLOW__{name}", value)
        metadata.make_ready()
        with create_session() as session:
            session.add(DagBundleModel(name="told"))
            session.flush()
            session.add_all(DagModel(dag_id=dag, bundle_name="told", fileloc="told.py") for dag in DAGS)
        server = FastAPI()
        for mounted in TidemarkPlugin().fastapi_apps:
            server.mount(mounted["url_prefix"], mounted["app"])
        airflow_app._AuthManagerState.instance = None
        airflow_app.init_auth_manager(server)
        yield server
        airflow_app._AuthManagerState.instance = None
        with create_session() as session:
            for model in (DagRun, ParseImportError, DagModel, DagBundleModel):
                session.execute(delete(model))


@pytest.fixture(name="client")
def _client(server: FastAPI) -> Clients:
    """A client of a user, None without one."""

    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from fastapi.testclient import TestClient

    def client(user: str | None = "viewer") -> TestClient:
        if user is None:
            return TestClient(server)
        token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username=user, role=USERS[user]))
        return TestClient(server, headers={"Authorization": f"Bearer {token}"})

    return client


@pytest.fixture(name="sales")
def _sales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lake with a pipeline that was blocked after it was published."""
    lake = tmp_path / "lake"
    lake.mkdir()
    monkeypatch.setenv("TIDEMARK_LAKE", str(lake))
    add_rows(lake, "sales", steps(1), [check(1, "numbered_without_gap")])
    failed = check(2, "not_too_many_are_too_late", success=False, observed="11 of 1,000", details="window 1\nwindow 2")
    blocked = "1 of 49 checks failed\n  expected: at most 1 %"
    add_rows(
        lake, "sales", steps(2, until="audit", state="blocked", failed=1, error=blocked), [failed, check(2, "passes")]
    )
    return lake


@pytest.fixture(name="dag_run")
def _dag_run(server: FastAPI) -> Iterator[Enter]:
    """Enters a DAG run, and what its tasks have pushed."""

    from airflow.models.dagrun import DagRun
    from airflow.models.taskinstance import TaskInstance
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session
    from airflow.utils.state import DagRunState
    from sqlalchemy import delete, insert

    def enter(dag: str, name: str, pushed: dict[tuple[str, str], Any], state: str = "success") -> None:
        at = datetime.now(UTC)
        with create_session() as session:
            run_state = DagRunState(state)
            run = DagRun(dag_id=dag, run_id=name, run_type="manual", state=run_state, run_after=at, start_date=at)
            session.add(run)
            session.flush()
            for task in {task for task, _ in pushed}:
                row = {"id": uuid4(), "task_id": task, "dag_id": dag, "run_id": name, "map_index": -1, "pool": "p"}
                session.execute(insert(TaskInstance.__table__).values(**row))
        for (task, key), value in pushed.items():
            XComModel.set(key, value, dag_id=dag, task_id=task, run_id=name)

    yield enter
    with create_session() as session:
        session.execute(delete(DagRun))
