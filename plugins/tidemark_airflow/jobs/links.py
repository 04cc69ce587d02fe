"""The links from a task to pages that Airflow itself serves behind its login: the report of its run, data quality."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from airflow.sdk import BaseOperatorLink, conf

from tidemark_airflow.jobs.pipeline_files import ACCEPT, BACKFILL

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey

PREFIX, QUALITY = "/tidemark/reports", "/tidemark/quality"
#: What the id of a run of Tidemark looks like: it is part of paths.
RUN_ID = re.compile(r"r[0-9a-f]{15}")

_DAG = re.compile(r"tidemark_(?P<pipeline>[a-z][a-z0-9_]*)(\.repair)?")


class ReportLink(BaseOperatorLink):
    """Shown on a task that has a report; asked once, by the process that ran the task."""

    name = "Report"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """The page of the report, empty if there is none."""
        outcome = getattr(operator, "outcome", None)
        return report_page(outcome.said) if outcome is not None else ""


class QualityLink(BaseOperatorLink):
    """Shown on a task that works for a pipeline; asked once, by the process that ran the task."""

    name = "Data quality"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """The page of the pipeline's checks and ratios, empty if nobody knows which pipeline it was."""
        outcome = getattr(operator, "outcome", None)
        said = outcome.said if outcome is not None else {}
        pipeline = said.get("pipeline") or pipeline_of(ti_key.dag_id)
        return quality_page(pipeline) if pipeline else ""


def report_page(said: Mapping[str, Any]) -> str:
    """Where a browser finds the report that a job's result names: a path of Airflow's own address, or its URL."""
    report = said.get("report")
    if not report:
        return ""
    if "://" in report:
        return str(report)
    return report_of(said["pipeline"], said["run_id"])


def report_of(pipeline: str, run_id: str) -> str:
    """Where a browser finds the report of a run, which may not be there."""
    return f"{base_path()}{PREFIX}/{quote(dag_id(pipeline))}/{quote(run_id)}"


def data_docs_of(pipeline: str, run_id: str) -> str:
    """Where a browser finds Great Expectations' page about a run, which may not be there."""
    return f"{report_of(pipeline, run_id)}/data-docs"


def quality_page(pipeline: str) -> str:
    """Where a browser finds what the runs of a pipeline have come to."""
    return f"{base_path()}{QUALITY}/{quote(dag_id(pipeline))}"


def base_path() -> str:
    """The path under which a browser finds Airflow, without a slash at its end; empty where it has an address alone."""
    return urlsplit(conf.get("api", "base_url", fallback="") or "").path.rstrip("/")


def dag_id(pipeline: str) -> str:
    """The DAG of a pipeline."""
    return f"tidemark_{pipeline}"


def repair_dag_id(pipeline: str) -> str:
    """The DAG that repairs a pipeline's windows; no name of a pipeline has a dot."""
    return f"{dag_id(pipeline)}.repair"


def pipeline_of(dag: str) -> str | None:
    """The pipeline that a DAG runs or repairs; None where it is of all pipelines, or none of Tidemark's."""
    found = _DAG.fullmatch(dag)
    return None if found is None or found["pipeline"] in (BACKFILL, ACCEPT) else found["pipeline"]
