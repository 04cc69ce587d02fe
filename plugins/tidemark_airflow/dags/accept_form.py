"""The form by which a person publishes a run that its checks have blocked, as it is staged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Param

from spark_jobs.pipeline import Pipeline
from tidemark_airflow.dags.backfill_form import FormError, of_pipelines, overrides_of, pipeline_of, settings
from tidemark_airflow.tasks.spark_job import Request

_RUN = "The run that was blocked, as the failed task's log and the report name it."
_BECAUSE = "Why it is right all the same. The ledger and the report keep it, with your name."


def form(pipelines: Mapping[str, Pipeline]) -> dict[str, Param]:
    """The fields, in the order of the form."""
    return {
        "pipeline": of_pipelines(pipelines, "The pipeline whose run it is."),
        "run": Param(title="Run", description_md=_RUN, type="string", pattern=r"^\s*r[0-9a-f]{15}\s*$"),
        "because": Param(title="Reason", description_md=_BECAUSE, type="string", pattern=r"\S", maxLength=400),
        "settings": settings("Those that the run was asked for with, if it was."),
    }


def plan_of(filled: Mapping[str, Any], pipelines: Mapping[str, Pipeline], user: str) -> dict[str, Any]:
    """What a filled form asks for, as the task `plan` of a run says it. Raises FormError."""
    pipeline, path = pipeline_of(filled, pipelines)
    problems: list[str] = []
    overrides = overrides_of(filled, path, problems)
    if problems:
        raise FormError("\n".join(problems))
    because = f"{user}: {filled['because'].strip()}"
    return {
        "run_id": filled["run"].strip(),
        "pipeline": pipeline.name,
        "request": Request(pipeline_file=path, overrides=overrides, because=because),
        "counts": {},
        "versions": {},
        "report": None,
    }
