"""The link from a task to the report of its run, served by Airflow itself behind its login."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from airflow.sdk import BaseOperatorLink, conf

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey

PREFIX = "/tidemark/reports"


class ReportLink(BaseOperatorLink):
    """Shown on a task that has a report; asked once, by the process that ran the task."""

    name = "Report"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """The page of the report, empty if there is none."""
        outcome = getattr(operator, "outcome", None)
        return report_page(outcome.said) if outcome is not None else ""


def report_page(said: Mapping[str, Any]) -> str:
    """Where a browser finds the report that a job's result names: a path of Airflow's own address, or its URL."""
    report = said.get("report")
    if not report:
        return ""
    if "://" in report:
        return str(report)
    base = urlsplit(conf.get("api", "base_url", fallback="") or "").path.rstrip("/")
    return f"{base}{PREFIX}/{quote(dag_id(said['pipeline']))}/{quote(said['run_id'])}"


def dag_id(pipeline: str) -> str:
    """The DAG of a pipeline."""
    return f"tidemark_{pipeline}"


def repair_dag_id(pipeline: str) -> str:
    """The DAG that repairs a pipeline's windows; no name of a pipeline has a dot."""
    return f"{dag_id(pipeline)}.repair"
