"""The routes of the pages about rows; each checks with Airflow that its user may read the DAG of the pipeline.

    /{dag_id}                               late or invalid rows of the run published last
    /{dag_id}/runs/{run_id}                 those of a run
    /{dag_id}/runs/{run_id}/row             the explanation of rows
    /{dag_id}/runs/{run_id}/window          the explanation of a window

Law: no page without a user, and nothing of a pipeline unless the user may read its DAG. Modules that read and draw are
imported at the first request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse

from tidemark_airflow.jobs.links import pipeline_of
from tidemark_airflow.quality.responses import html
from tidemark_airflow.quality.routes import MayRead, require_access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.inspection.inspections import RowInspection, WindowInspection
    from spark_jobs.inspection.inspector import Answer, Inspector
    from spark_jobs.inspection.missed_page import MissedPage
    from tidemark_airflow.inspection.pages import Subject

app = FastAPI(title="Tidemark rows", docs_url=None, redoc_url=None, openapi_url=None)


@app.get("/{dag_id}")
def newest(dag_id: str, request: Request, user: GetUserDep, _: MayRead) -> HTMLResponse:
    """Return the late or invalid rows of the run published last. Every DAG has this page as a tab."""
    from tidemark_airflow.quality import pages as quality_pages

    if pipeline_of(dag_id) is None:
        words = f"The DAG {dag_id} does not run one pipeline. The overview lists all pipelines that you may see."
        return html(lambda nonce: quality_pages.message("No pipeline", words, nonce))
    return _late_rows(_pipeline(dag_id, user), "", request)


@app.get("/{dag_id}/runs/{run_id}")
def late_rows(dag_id: str, run_id: str, request: Request, user: GetUserDep, _: MayRead) -> HTMLResponse:
    """Return the late or invalid rows of a published run."""
    return _late_rows(_pipeline(dag_id, user), run_id, request)


@app.get("/{dag_id}/runs/{run_id}/row")
def row(dag_id: str, run_id: str, request: Request, user: GetUserDep, _: MayRead) -> HTMLResponse:
    """Explain the rows with some times and key, or the rows of the source with a value."""
    from tidemark_airflow.inspection import pages

    def read(subject: Subject, inspector: Inspector) -> Callable[[str], str]:
        answer, chosen = _rows(inspector, request)
        life = _life_of_only_row(inspector, answer)
        has_form = not inspector.reason
        return lambda nonce: pages.rows(subject, answer, life, chosen=chosen, has_form=has_form, nonce=nonce)

    return _page(_pipeline(dag_id, user), run_id, read, has_form=True)


@app.get("/{dag_id}/runs/{run_id}/window")
def window(dag_id: str, run_id: str, request: Request, user: GetUserDep, _: MayRead) -> HTMLResponse:
    """Explain the window of a key."""
    from tidemark_airflow.inspection import addresses, pages

    def read(subject: Subject, inspector: Inspector) -> Callable[[str], str]:
        window_of = addresses.window_request(request.query_params.multi_items())
        answer: Answer[WindowInspection | None] = inspector.window(window_of.start, window_of.key)
        return lambda nonce: pages.window(subject, window_of, answer, nonce=nonce)

    return _page(_pipeline(dag_id, user), run_id, read)


def _late_rows(pipeline: str, run_id: str, request: Request) -> HTMLResponse:
    from spark_jobs.inspection.missed_page import Grouping, missed_page
    from spark_jobs.inspection.row_filter import RowKind
    from tidemark_airflow.inspection import addresses, pages

    def read(subject: Subject, inspector: Inspector) -> Callable[[str], str]:
        publication = subject.publication
        items = request.query_params.multi_items()
        rows_of = addresses.rows_request(items, publication.key, publication.partition)
        if rows_of.by is None:
            usual = Grouping.PARTITION if publication.partition else Grouping.WINDOW
            by = Grouping.REASON if rows_of.chosen.kind is RowKind.INVALID else usual
            rows_of = addresses.RowsRequest(rows_of.chosen, by, rows_of.page)
        page: MissedPage = missed_page(
            publication, rows_of.chosen, rows_of.by, rows_of.page, shows_source=subject.shows_source
        )
        reason = inspector.reason
        return lambda nonce: pages.late_rows(subject, rows_of, page, reason=reason, nonce=nonce)

    return _page(pipeline, run_id, read, has_form=True)


def _rows(inspector: Inspector, request: Request) -> tuple[Answer[Sequence[RowInspection]], str]:
    """Return the rows that an address explains, and the choice in words."""
    from tidemark_airflow.inspection import addresses, pages

    items = request.query_params.multi_items()
    fields = dict(items)
    if "column" in fields:
        name, text = fields["column"][: addresses.LONGEST], fields.get("value", "")[: addresses.LONGEST]
        return inspector.rows_with(name, text), f"{name} = {text}"
    choice = addresses.row_choice(items)
    chosen = ", ".join([*pages.times(choice), *(f"{name} = {text}" for name, text in choice.values.items())])
    return inspector.rows(choice), chosen


def _life_of_only_row(
    inspector: Inspector, answer: Answer[Sequence[RowInspection]]
) -> Answer[WindowInspection | None] | None:
    """Return the life of the newest window of the only row.

    Returns None for several rows, for a row without a window, and for a window that a page does not explain.
    """
    from spark_jobs.inspection.inspector import KeyMisfitError
    from spark_jobs.inspection.missed_page import TooManyRowsError
    from spark_jobs.inspection.publication import NoPublicationError

    if len(answer.content) != 1:
        return None
    (only,) = answer.content
    newest_start = max((each.window_start for each in only.row.windows), default=None)
    try:
        return None if newest_start is None else inspector.window(newest_start, only.key)
    except (KeyMisfitError, NoPublicationError, TooManyRowsError):
        return None


def _pipeline(dag_id: str, user: GetUserDep) -> str:
    """Return the pipeline that a DAG runs or repairs. Raises HTTPException without one, and without access."""
    name = pipeline_of(dag_id)
    if name is None:
        raise HTTPException(404, f"the DAG '{dag_id}' does not run one pipeline")
    require_access(user, name, dag_id)
    return name


def _page(
    pipeline: str,
    run_id: str,
    read: Callable[[Subject, Inspector], Callable[[str], str]],
    *,
    has_form: bool = False,
) -> HTMLResponse:
    """Return the page that `read` makes, or a page with the problem in reading."""
    from spark_jobs.inspection.inspector import Inspector, KeyMisfitError
    from spark_jobs.inspection.missed_page import TooManyRowsError
    from spark_jobs.inspection.publication import NoPublicationError
    from spark_jobs.tables.errors import LakeError
    from tidemark_airflow.inspection import pages, reading, show_source
    from tidemark_airflow.inspection.addresses import AddressError

    def page_maker() -> Callable[[str], str]:
        shows_source = show_source.shows_source()
        publication = reading.publication(pipeline, run_id)
        file = reading.pipeline_file(pipeline) if shows_source else None
        subject = pages.Subject(pipeline, publication, shows_source)
        return read(subject, Inspector(publication, file, shows_source=shows_source))

    try:
        render = reading.within(page_maker)
    except (AddressError, KeyMisfitError) as wrong:
        raise HTTPException(422, str(wrong)) from wrong
    except (
        NoPublicationError,
        TooManyRowsError,
        LakeError,
        reading.TookTooLongError,
        show_source.ShowSourceError,
    ) as problem:
        sentence = f"{problem}."
        return html(lambda nonce: pages.problem(pipeline, sentence, nonce=nonce))
    return html(render, has_form=has_form)
