"""Data Docs of a run: the results of its audit as a page of Great Expectations."""

from __future__ import annotations

from pyspark.sql import SparkSession

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import StepName, StepState
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.report import report
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.tables.lake import Lake, data_docs_name
from spark_jobs.tables.ledger import Run, Step


def can_be_made(run: Run) -> bool:
    """Return whether the run was audited."""
    return bool(_audits(run))


def data_docs(spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run) -> str:
    """Write the Data Docs of an audited run; returns their path or URI.

    Raises InputError for a run that was not audited.
    """
    audits = _audits(run)
    if not audits:
        raise InputError(
            f"data docs: run {run.run_id} is {run.state}; take its step audit before its Data Docs",
            code=ErrorCode.RUN_STATE_WRONG,
        )
    # Imported late: Great Expectations is slow to import, and other pages do not need it.
    from expectations.data_docs import page
    from expectations.descriptions import descriptions

    answers = report.checks_of(spark, lake, run)
    text = page(pipeline.name, lake.home, run.run_id, audits[-1].finished_at, answers, descriptions(pipeline))
    lake.objects.write(data_docs_name(run.run_id), text.encode())
    return lake.data_docs_path(run.run_id)


def _audits(run: Run) -> list[Step]:
    return [
        step for step in run.steps if step.step == StepName.AUDIT and step.state in (StepState.DONE, StepState.BLOCKED)
    ]
