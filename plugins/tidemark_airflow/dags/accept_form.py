"""The form by which a person publishes a run although its checks have blocked it, as it is staged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Param

from spark_jobs.job_protocol import StepName, StepResult, StepState
from spark_jobs.pipeline import Pipeline
from tidemark_airflow.dags.backfill_form import FormError, of_pipelines, overrides_of, pipeline_of, settings
from tidemark_airflow.jobs.planned_run import plan_xcom
from tidemark_airflow.jobs.request import Request

_RUN = "The blocked run. Its id is in the log of the failed task and in the report."
_BECAUSE = "Why the results are right although checks failed. The ledger and the report keep it, with your name."


def form(pipelines: Mapping[str, Pipeline]) -> dict[str, Param]:
    """Return the fields, in the order of the form."""
    return {
        "pipeline": of_pipelines(pipelines, "The pipeline of the run."),
        "run": Param(title="Run", description_md=_RUN, type="string", pattern=r"^\s*r[0-9a-f]{15}\s*$"),
        "because": Param(title="Reason", description_md=_BECAUSE, type="string", pattern=r"\S", maxLength=400),
        "settings": settings("The settings that the run was started with, if it replaced any."),
    }


def plan_of(filled: Mapping[str, Any], pipelines: Mapping[str, Pipeline], user: str) -> dict[str, Any]:
    """Return what the task `plan` pushes for a filled form. Raises FormError."""
    pipeline, path = pipeline_of(filled, pipelines)
    problems: list[str] = []
    overrides = overrides_of(filled, path, problems)
    if problems:
        raise FormError("\n".join(problems))
    run_id = filled["run"].strip()
    result = StepResult(StepName.PLAN, run_id, pipeline.name, StepState.UNCHANGED, f"run {run_id} was planned before")
    because = f"{user}: {filled['because'].strip()}"
    return plan_xcom(result.to_json(), Request(pipeline_file=path, overrides=overrides, because=because))
