"""The check of a pipeline before any computation: its SQL, its sources, its expectations; and what it may not mean."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan.check_expectations import check_expectations
from spark_jobs.jobs.plan.check_join import check_join
from spark_jobs.jobs.plan.check_source import check_source
from spark_jobs.jobs.plan.expressions import require_allowed
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.panes import unstable_aggregates
from spark_jobs.tables import source
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.source_tables import tables_of


def checked(spark: SparkSession, pipeline: Pipeline) -> dict[str, int]:
    """Return the newest version of each source, as `source.newest_versions`. Raises InputError if one does not fit."""
    try:
        require_allowed(spark, pipeline)
    except InputError as problem:
        raise InputError(pipeline.all_located(str(problem)), code=problem.code) from problem
    try:
        versions = source.newest_versions(spark, pipeline)
        _check(*source.rows_of(spark, pipeline, versions), pipeline)
    except SourceError as problem:
        raise InputError(pipeline.all_located(str(problem)), code=problem.code) from problem
    except InputError as problem:
        located = pipeline.all_located(str(problem))
        read = (f"version {versions[name]} of {table}" for name, table in tables_of(pipeline).items())
        raise InputError(f"{located}\n(checked with {', '.join(read)})", code=problem.code) from problem
    return versions


def fits(spark: SparkSession, pipeline: Pipeline, columns: Mapping[str, T.StructType]) -> bool:
    """Return whether a pipeline fits sources with these columns, by their names. Reads no table, unlike `checked`.

    `checked` raises the error for a pipeline that does not fit.
    """
    try:
        require_allowed(spark, pipeline)
        _check(*source.no_rows_of(spark, pipeline, columns), pipeline)
    except (SourceError, InputError, AnalysisException):
        return False
    return True


def _check(left: DataFrame, right: DataFrame | None, pipeline: Pipeline) -> None:
    if pipeline.join is None:
        check_source(left, pipeline)
    else:
        check_join(left, right, pipeline)
    check_expectations(left, right, pipeline)


def warnings(spark: SparkSession, pipeline: Pipeline, versions: Mapping[str, int]) -> list[str]:
    """Return what a valid pipeline may not mean, a line each with the place in its file."""
    if pipeline.join is not None:
        return []
    events = source.events(spark, pipeline, versions)
    return [pipeline.located(warning) for warning in unstable_aggregates.warnings(events, pipeline)]
