"""The routes of the pages 'Data quality'; each checks with Airflow that its user may see what it shows.

Law: no page without a user, and nothing of a pipeline unless the user may read its DAG.

- A page runs only scripts that Airflow serves for it, and loads nothing from elsewhere. No other site can frame it.
- A thread reads the lake, so that the server goes on answering. Modules that draw are imported at the first request.
"""

from __future__ import annotations

from typing import Annotated

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from fastapi import Depends, FastAPI, HTTPException, Query, Response
from fastapi.responses import HTMLResponse

from tidemark_airflow.jobs.links import dag_id as dag_of
from tidemark_airflow.jobs.links import pipeline_of
from tidemark_airflow.quality.responses import html

app = FastAPI(title="Tidemark data quality", docs_url=None, redoc_url=None, openapi_url=None)

MayRead = Annotated[None, Depends(requires_access_dag(method="GET"))]
MayReadRun = Annotated[None, Depends(requires_access_dag(method="GET", access_entity=DagAccessEntity.RUN))]
Page = Annotated[int, Query(ge=1, le=10_000)]

_YEAR_S = 31_536_000


@app.get("/")
def overview(user: GetUserDep, page: Page = 1) -> HTMLResponse:
    """Return the pipelines that the user may see, each with its newest run."""
    from tidemark_airflow.quality import access, airflow_metadata, pages
    from tidemark_airflow.quality import overview as reading

    names = access.pipelines_of(user)
    part = pages.Part.of(page, len(names), reading.PIPELINES)
    some = names[part.cut(reading.PIPELINES)]
    rows = reading.rows(some, airflow_metadata.newest_runs([dag_of(name) for name in some]))
    broken = airflow_metadata.broken_files() if access.may_see_import_errors(user) else []
    return html(lambda nonce: pages.overview(rows, part, nonce, pipelines=len(names), broken=broken))


@app.get("/static/{file}")
def static(file: str, _: GetUserDep) -> Response:
    """Return a script of the pages."""
    from tidemark_airflow.quality import scripts

    script = scripts.by_name().get(file)
    if script is None:
        raise HTTPException(404, f"there is no script '{file}'")
    headers = {"Cache-Control": f"private, max-age={_YEAR_S}, immutable", "X-Content-Type-Options": "nosniff"}
    return Response(script, media_type="text/javascript", headers=headers)


@app.get("/{dag_id}")
def pipeline(dag_id: str, user: GetUserDep, _: MayRead, page: Page = 1) -> HTMLResponse:
    """Return the runs of the pipeline that this DAG runs or repairs."""
    from tidemark_airflow.quality import airflow_metadata, pages, reading

    name = pipeline_of(dag_id)
    if name is None:
        words = f"The DAG {dag_id} does not run one pipeline. The overview lists all pipelines that you may see."
        return html(lambda nonce: pages.message("No pipeline", words, nonce))
    require_access(user, name, dag_id)
    runs = reading.pipeline(name, page)
    dag_run = airflow_metadata.newest_runs([dag_of(name)]).get(dag_of(name))
    if runs.problem:
        problem = runs.problem
        return html(lambda nonce: pages.message(name, problem, nonce))
    return html(lambda nonce: pages.pipeline(name, runs.history, runs.views, runs.part, nonce, dag_run))


@app.get("/{dag_id}/runs/{run_id}")
def run(dag_id: str, run_id: str, user: GetUserDep, _: MayRead) -> HTMLResponse:
    """Return a run of the pipeline with all of its checks."""
    from tidemark_airflow.quality import pages, reading

    name = pipeline_of(dag_id)
    if name is None:
        raise HTTPException(404, f"the DAG '{dag_id}' does not run one pipeline")
    require_access(user, name, dag_id)
    content = reading.run(name, run_id)
    if content is None:
        raise HTTPException(404, f"the ledger of {name} has no run '{run_id}'")
    if isinstance(content, str):
        words = content
        return html(lambda nonce: pages.message(name, words, nonce))
    return html(lambda nonce: pages.run(name, content, nonce))


@app.get("/{dag_id}/dag_runs/{dag_run_id}")
def dag_run(dag_id: str, dag_run_id: str, user: GetUserDep, _: MayReadRun) -> HTMLResponse:
    """Return the runs that a DAG run has worked on."""
    from tidemark_airflow.quality import access, airflow_metadata, pages, reading

    state = airflow_metadata.dag_run(dag_id, dag_run_id)
    if state is None:
        raise HTTPException(404, f"the DAG '{dag_id}' has no run '{dag_run_id}'")
    named_runs = airflow_metadata.made_by(dag_id, dag_run_id)
    may_see = {name: access.may_see(user, name) for name in {run.pipeline for run in named_runs}}
    runs, problems = reading.of_dag_run([run for run in named_runs if may_see[run.pipeline]])
    if not all(may_see.values()):
        problems = [*problems, "It has worked for a pipeline whose DAG you may not read."]
    return html(lambda nonce: pages.dag_run(dag_id, state, runs, nonce, problems))


def require_access(user: GetUserDep, pipeline: str, dag_id: str) -> None:
    """Raise HTTPException unless the user may read the pipeline's DAG too, if another DAG leads to the page."""
    from tidemark_airflow.quality import access

    if dag_id != dag_of(pipeline) and not access.may_see(user, pipeline):
        raise HTTPException(403, "Forbidden")
