"""Data Docs of a run, for those who want them: what its audit has found, on Great Expectations' own page."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.job_protocol import StepName, StepState
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.report import report
from spark_jobs.jobs.report.write_page import write_page
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run, Step


def can_be_made(run: Run) -> bool:
    """Whether the run was audited."""
    return bool(_audits(run))


def data_docs(spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run) -> Path:
    """Write the Data Docs of a run that was audited; returns where they are. Raises InputError for one that was not."""
    audits = _audits(run)
    if not audits:
        raise InputError(f"data docs: run {run.run_id} is {run.state}; take its step audit before its Data Docs")
    # These bring Great Expectations, which other pages do not wait for.
    from expectations.data_docs import page
    from expectations.descriptions import descriptions

    answers = report.checks_of(spark, lake, run)
    text = page(pipeline.name, lake.home, run.run_id, audits[-1].finished_at, answers, descriptions(pipeline))
    return write_page(text, lake.data_docs_file(run.run_id))


def _audits(run: Run) -> list[Step]:
    return [
        step for step in run.steps if step.step == StepName.AUDIT and step.state in (StepState.DONE, StepState.BLOCKED)
    ]
