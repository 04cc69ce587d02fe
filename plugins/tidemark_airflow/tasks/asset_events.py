"""The event of a publishing: what a task adds to the asset of a pipeline's results."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from airflow.sdk import Context

from spark_jobs.job_protocol import StepResult
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.reach import Reach, reach
from tidemark_airflow.jobs.assets import PUBLISHED, event_extra, results_of
from tidemark_airflow.jobs.request import Request

_log = logging.getLogger(__name__)


def add_event(
    context: Context, result: StepResult, request: Request | None = None, counts: Mapping[str, int] | None = None
) -> None:
    """Add the event of a publishing with this result; the arguments are those of `event_extra`."""
    extra = event_extra(result, request, counts, _reach(result))
    context["outlet_events"][PUBLISHED].add(results_of(result.pipeline), extra=extra)


def _reach(result: StepResult) -> Reach:
    """Return how far the run has come; the event of a lake that cannot be read has no moments."""
    try:
        return reach(Lake.of(result.pipeline), result.run_id)
    except LakeError as problem:
        _log.warning("The event has no covered_until and no watermark: %s", problem)
        return Reach()
