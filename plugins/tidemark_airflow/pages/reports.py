"""Serve the report and the Data Docs of a run to users who may read the DAG of its pipeline.

A page contains values of the source. It runs without an origin, so it cannot act as the user who reads it.

A report stands alone, so Airflow adds the links to its own pages. In a frame a page without an origin has no login, and
links would lead to an error: a framed report has none.
"""

from __future__ import annotations

import re
from html import escape
from typing import Annotated

from airflow.api_fastapi.core_api.security import requires_access_dag
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import Response

from spark_jobs.job_protocol import PLACE_OF_LINKS, RUN_ID
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake, data_docs_name, report_name
from spark_jobs.tables.objects import HASTY, Objects
from tidemark_airflow.jobs.links import dag_id as dag_of
from tidemark_airflow.jobs.links import late_rows_page, quality_page

_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; img-src data: blob:; font-src data:; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'"
)
# Data Docs have no script.
_STILL = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_DAG = re.compile(rf"{dag_of('')}(?P<pipeline>[a-z][a-z0-9_]*)")

app = FastAPI(title="Tidemark reports", docs_url=None, redoc_url=None, openapi_url=None)

MayRead = Annotated[None, Depends(requires_access_dag(method="GET"))]


@app.get("/{dag_id}/{run_id}")
def report(dag_id: str, run_id: str, request: Request, _: MayRead) -> Response:
    """Return the report of a run of the pipeline that this DAG runs, with links to the pages about the run."""
    lake = _lake(dag_id, run_id)
    is_framed = request.headers.get("sec-fetch-dest") == "iframe"
    links = "" if is_framed else _links(lake.pipeline, run_id)
    return _page(lake, report_name(run_id), "report", _POLICY, links)


@app.get("/{dag_id}/{run_id}/data-docs")
def data_docs(dag_id: str, run_id: str, _: MayRead) -> Response:
    """Return Great Expectations' page about a run of the pipeline that this DAG runs."""
    return _page(_lake(dag_id, run_id), data_docs_name(run_id), "Data Docs", _STILL)


def _lake(dag_id: str, run_id: str) -> Lake:
    """Return the lake of the DAG's pipeline. Raises HTTPException unless both ids have the form of Tidemark's."""
    name, run = _DAG.fullmatch(dag_id), RUN_ID.fullmatch(run_id)
    if name is None or run is None:
        raise HTTPException(404, f"there is no run '{run_id}' of a DAG '{dag_id}'")
    return Lake.of(name["pipeline"])


def _links(pipeline: str, run_id: str) -> str:
    """Return links to the pages about a run; the ids have been checked."""
    pages = {"Checks": f"{quality_page(pipeline)}/runs/{run_id}", "Late rows": late_rows_page(pipeline, run_id)}
    links = " ".join(f'<a href="{escape(place)}">{name}</a>' for name, place in pages.items())
    return f'<p class="facts">In Airflow: {links}</p>'


def _page(lake: Lake, name: str, kind: str, policy: str, links: str = "") -> Response:
    try:
        page = Objects(lake.home, HASTY).read(name)
    except LakeError as problem:
        raise HTTPException(503, str(problem)) from problem
    if page is None:
        raise HTTPException(404, f"the run has no {kind} at {lake.home}/{name}")
    page = page.replace(PLACE_OF_LINKS.encode(), links.encode(), 1)
    return Response(page, media_type="text/html", headers={"Content-Security-Policy": policy})
