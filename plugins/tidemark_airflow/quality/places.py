"""The addresses of the pages, and of what they link to, under the address of this Airflow."""

from __future__ import annotations

from urllib.parse import quote

from tidemark_airflow.jobs.links import (
    QUALITY,
    base_path,
    dag_id,
    data_docs_of,
    late_rows_page,
    quality_page,
    report_of,
)


def overview(page: int = 1) -> str:
    """Return the overview, or one of its later pages."""
    return f"{base_path()}{QUALITY}/{_page(page)}"


def pipeline(name: str, page: int = 1) -> str:
    """Return the page of a pipeline, or an earlier part of its runs."""
    return f"{quality_page(name)}{_page(page)}"


def run(name: str, run_id: str) -> str:
    """Return the page of a run with all of its checks."""
    return f"{quality_page(name)}/runs/{quote(run_id, safe='')}"


def report(name: str, run_id: str) -> str:
    """Return the report of a run."""
    return report_of(name, run_id)


def data_docs(name: str, run_id: str) -> str:
    """Great Expectations' page about a run."""
    return data_docs_of(name, run_id)


def late_rows(name: str, run_id: str = "") -> str:
    """Return the late rows of a published run, by default of the run published last."""
    return late_rows_page(name, run_id)


def dag(name: str) -> str:
    """Airflow's own page of the DAG of a pipeline."""
    return f"{base_path()}/dags/{quote(dag_id(name), safe='')}"


def dag_run(name: str, run_id: str) -> str:
    """Airflow's own page of a run of the DAG of a pipeline."""
    return f"{dag(name)}/runs/{quote(run_id, safe='')}"


def static(file: str) -> str:
    """Return a script that the pages run."""
    return f"{base_path()}{QUALITY}/static/{quote(file)}"


def _page(page: int) -> str:
    return f"?page={page}" if page > 1 else ""
