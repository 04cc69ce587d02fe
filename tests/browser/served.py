"""The pages of data quality, served to a browser as Airflow mounts them, with a lake that is written by hand.

Airflow decides who may see what, which other tests cover: here everybody may, and its metadata database is replaced.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest
import uvicorn

# Before anything imports Airflow, which would make its home in the user's.
os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="tidemark-airflow-"))

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from tests.airflow.clone import free_port
from tests.support.fake_lake import COUNTS, add_rows, check, run_id, steps
from tests.support.sample_report_runs import HOSTILE

EVENTFUL, HOSTILE_ONE, EMPTY = "departures_by_carrier", "hostile", "never_run"
ONCE = "sessions_by_user"
LONG_ONE = "k" * 200
LONG = "k" * 10_000
# As a table can hold it: Delta's texts are Unicode.
SPOILT = HOSTILE.replace("\ud800", "")

# As Airflow frames a page.
_FRAME = '<iframe sandbox="allow-scripts allow-same-origin allow-forms allow-downloads" src="{}"></iframe>'


def fill_lake(lake: Path) -> None:
    """Pipelines of all kinds: eventful, hostile, with endless words, and never run."""
    for number in range(1, 31):
        counts = {
            **COUNTS,
            "on_time": 316_820 + 91 * number,
            "late": 10_942 + 700 * (number % 5),
            "too_late": 7 * number,
        }
        counts["rows_read"] = 336_776
        if number == 9:
            add_rows(lake, EVENTFUL, steps(9, pipeline=EVENTFUL, until="plan", kind="backfill"))
        elif number in (7, 30):
            error = "2 of 49 checks failed\n  run: not_too_many_rows_are_too_late\n    expected: at most 0.01 %"
            rows = steps(
                number, pipeline=EVENTFUL, until="audit", state="blocked", failed=2, counts=counts, error=error
            )
            add_rows(lake, EVENTFUL, rows, _checks(number))
        else:
            add_rows(lake, EVENTFUL, steps(number, pipeline=EVENTFUL, counts=counts), _checks(number)[2:])
    add_rows(lake, ONCE, steps(1, pipeline=ONCE), _checks(1)[2:])
    for name, words in ((HOSTILE_ONE, SPOILT), (LONG_ONE, LONG)):
        spoilt = check(1, words, success=False, suite=words, observed=words, details="\n".join([words] * 9))
        run = steps(1, pipeline=name, until="audit", state="blocked", failed=1, error=words, kind=words, note=words)
        add_rows(lake, name, [*run, {**steps(0, pipeline=name)[0], "run_id": words, "state": words}], [spoilt])


def _anybody() -> SimpleNamespace:
    return SimpleNamespace()


def _checks(number: int) -> list[dict[str, object]]:
    ratio = {"observed": "7,100 of 330,000 rows (2.15 %)", "unexpected_count": None}
    panes = {"details": "carrier UA, window 2013-07-01 05:00\ncarrier HA, window 2013-07-01 09:00", "suite": "panes"}
    return [
        check(number, "not_too_many_rows_are_too_late", success=False, suite="run", **ratio),
        check(number, "expect_column_values_to_be_between(flights, 1, 500)", success=False, **panes),
        *(check(number, f"law_number_{i}_holds_of_every_pane", observed="8,543 panes") for i in range(12)),
    ]


@contextmanager
def served(lake: Path) -> Iterator[str]:
    """Serve the pages; yield the address."""
    from airflow.api_fastapi.core_api.security import get_user

    from tidemark_airflow.inspection.routes import app as rows
    from tidemark_airflow.jobs.links import QUALITY, ROWS
    from tidemark_airflow.quality import access, airflow_metadata, routes
    from tidemark_airflow.quality.airflow_metadata import DagRunState, Made

    pipeline_runs = [
        Made(name, run_id(n)) for name, n in ((EVENTFUL, 30), (EVENTFUL, 29), (HOSTILE_ONE, 1), (LONG_ONE, 1))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEMARK_LAKE", str(lake))
        patch.setattr(access, "pipelines_of", lambda user: sorted((EVENTFUL, HOSTILE_ONE, LONG_ONE, EMPTY, ONCE)))
        patch.setattr(access, "may_see", lambda user, pipeline: True)
        patch.setattr(access, "may_see_import_errors", lambda user: True)
        patch.setattr(airflow_metadata, "broken_files", lambda: [f"/dags/pipelines/a.yaml:2:10: {SPOILT}", LONG])
        patch.setattr(airflow_metadata, "newest_runs", lambda dags: {dags[0]: DagRunState("manual__1", "running")})
        patch.setattr(airflow_metadata, "dag_run", lambda dag, run: DagRunState(run, "success"))
        patch.setattr(airflow_metadata, "made_by", lambda dag, run: pipeline_runs if dag == "tidemark_backfill" else [])
        dependencies = [
            get_user,
            *(get_args(annotation)[1].dependency for annotation in (routes.MayRead, routes.MayReadRun)),
        ]
        root = FastAPI()
        for prefix, app in ((QUALITY, routes.app), (ROWS, rows)):
            patch.setattr(app, "dependency_overrides", dict.fromkeys(dependencies, _anybody))
            root.mount(prefix, app)
        root.get("/framed")(lambda: HTMLResponse(_FRAME.format(f"{QUALITY}/")))
        root.get("/dags/{dag}")(lambda dag: HTMLResponse(f"<h1>{dag}</h1>"))
        server = uvicorn.Server(uvicorn.Config(root, port=free_port(), log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            while not server.started and thread.is_alive():
                thread.join(0.05)
            yield f"http://127.0.0.1:{server.config.port}"
        finally:
            server.should_exit = True
            thread.join()
