"""The links from a task to pages that Airflow itself serves behind its login: report, data quality, late rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from airflow.sdk import BaseOperatorLink, conf

from spark_jobs.job_protocol import StepResult
from tidemark_airflow.jobs.outcome import Outcome
from tidemark_airflow.jobs.pipeline_files import RESERVED

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey

PREFIX, QUALITY, ROWS = "/tidemark/reports", "/tidemark/quality", "/tidemark/rows"

_DAG = re.compile(r"tidemark_(?P<pipeline>[a-z][a-z0-9_]*)(\.repair)?")


class ReportLink(BaseOperatorLink):
    """Shown on a task that has a report. Airflow calls it once, in the process that ran the task."""

    name = "Report"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the page of the report, empty if there is none."""
        result = _result(operator)
        return report_page(result) if result is not None else ""


class QualityLink(BaseOperatorLink):
    """Shown on a task that works for a pipeline. Airflow calls it once, in the process that ran the task."""

    name = "Data quality"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the page of the pipeline's checks and ratios, empty if the pipeline is not known."""
        result = _result(operator)
        pipeline = (result.pipeline if result is not None else "") or pipeline_of(ti_key.dag_id)
        return quality_page(pipeline) if pipeline else ""


class LateRowsLink(BaseOperatorLink):
    """Shown on a task that has published. Airflow calls it once, in the process that ran the task."""

    name = "Late rows"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the page of the late rows of the task's run, empty before the run is published."""
        result = _result(operator)
        is_published = result is not None and result.pipeline and result.run_id and result.versions
        return late_rows_page(result.pipeline, result.run_id) if result is not None and is_published else ""


def _result(operator: BaseOperator) -> StepResult | None:
    outcome: Outcome | None = getattr(operator, "outcome", None)
    return None if outcome is None else outcome.result


def report_page(result: StepResult) -> str:
    """Return the address of a result's report: a path of Airflow's own address, or the report's URL."""
    if not result.report:
        return ""
    is_page = urlsplit(result.report).scheme in ("http", "https")
    return result.report if is_page else report_of(result.pipeline, result.run_id)


def report_address(result: StepResult) -> str:
    """Return a result's report as an address for a browser, empty if Airflow's own address is not configured."""
    page = report_page(result)
    base = urlsplit(conf.get("api", "base_url", fallback="") or "")
    return page if not page or "://" in page else f"{base.scheme}://{base.netloc}{page}" if base.netloc else ""


def report_of(pipeline: str, run_id: str) -> str:
    """Return the address of the report of a run, which may not exist."""
    return f"{base_path()}{PREFIX}/{quote(dag_id(pipeline))}/{quote(run_id)}"


def data_docs_of(pipeline: str, run_id: str) -> str:
    """Return the address of Great Expectations' page about a run, which may not exist."""
    return f"{report_of(pipeline, run_id)}/data-docs"


def quality_page(pipeline: str) -> str:
    """Return the address of the page about the runs of a pipeline."""
    return f"{base_path()}{QUALITY}/{quote(dag_id(pipeline))}"


def late_rows_page(pipeline: str, run_id: str = "") -> str:
    """Return the address of the page about the late rows of a run, by default of the run published last."""
    page = f"{base_path()}{ROWS}/{quote(dag_id(pipeline), safe='')}"
    return f"{page}/runs/{quote(run_id, safe='')}" if run_id else page


def base_path() -> str:
    """Return the path of Airflow's address, without a slash at its end; empty if the address has no path."""
    return urlsplit(conf.get("api", "base_url", fallback="") or "").path.rstrip("/")


def dag_id(pipeline: str) -> str:
    """Return the id of the DAG of a pipeline."""
    return f"tidemark_{pipeline}"


def repair_dag_id(pipeline: str) -> str:
    """Return the id of the DAG that repairs a pipeline's windows; no pipeline's name has a dot."""
    return f"{dag_id(pipeline)}.repair"


def pipeline_of(dag: str) -> str | None:
    """Return the pipeline that a DAG runs or repairs; None for a DAG of all pipelines, or one of others."""
    match = _DAG.fullmatch(dag)
    return None if match is None or match["pipeline"] in RESERVED else match["pipeline"]
