"""Serves the HTML report of a run to whoever may see the DAG of its pipeline; nobody else, and nothing else.

A report carries values of the source, and runs as a page of no origin: it cannot act as the user who looks at it.
"""

from __future__ import annotations

import re
from typing import Annotated

from airflow.api_fastapi.core_api.security import requires_access_dag
from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import FileResponse

from spark_jobs.tables.lake import Lake
from tidemark_airflow.links import RUN_ID
from tidemark_airflow.links import dag_id as dag_of

_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; img-src data: blob:; font-src data:; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'"
)
_DAG = re.compile(rf"{dag_of('')}(?P<pipeline>[a-z][a-z0-9_]*)")

app = FastAPI(title="Tidemark reports", docs_url=None, redoc_url=None, openapi_url=None)

MayRead = Annotated[None, Depends(requires_access_dag(method="GET"))]


@app.get("/{dag_id}/{run_id}")
def report(dag_id: str, run_id: str, _: MayRead) -> FileResponse:
    """Give the report of a run of the pipeline that this DAG runs."""
    name, run = _DAG.fullmatch(dag_id), RUN_ID.fullmatch(run_id)
    if name is None or run is None:
        raise HTTPException(404, f"there is no run '{run_id}' of a DAG '{dag_id}'")
    path = Lake.of(name["pipeline"]).report_file(run_id)
    if not path.is_file():
        raise HTTPException(404, f"run {run_id} has no report at {path}")
    return FileResponse(path, media_type="text/html", headers={"Content-Security-Policy": _POLICY})
