"""The check of declared expectations before a run: their types, arguments and columns, on tables without rows."""

from __future__ import annotations

from pyspark.sql import DataFrame

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.result_tables import empty_tables
from spark_jobs.pipeline.model import Pipeline


def check_expectations(left: DataFrame, right: DataFrame | None, pipeline: Pipeline) -> None:
    """Raise InputError with a line for each expectation that the audit of a run could not compute.

    The pipeline fits its rows: `left` alone, or both inputs of a join.
    """
    if all(expectation.quarantines for expectation in pipeline.quality.expectations):
        return
    # Great Expectations takes seconds to import.
    from expectations import AuditError, declared

    try:
        declared.resolve(pipeline.quality.expectations, empty_tables(pipeline, left, right))
    except AuditError as problem:
        raise InputError(str(problem), code=problem.code) from problem
