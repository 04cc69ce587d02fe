"""The check of a pipeline's SQL before its source is read: every text is allowed SQL."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import Misfit, require_fit
from spark_jobs.pipeline import code
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.sql_texts import of_checks, of_results
from spark_jobs.replay import allowed_sql


def require_allowed(spark: SparkSession, pipeline: Pipeline) -> None:
    """Raise InputError with every text of SQL that reaches out of its rows, or has another value in another run."""
    texts = (*of_results(pipeline), *of_checks(pipeline.quality))
    require_fit(_refused(allowed_sql.forbidden(spark, texts, allow_code=code.is_allowed(os.environ))))


def unrepeatable(events: DataFrame, pipeline: Pipeline) -> Iterator[Misfit]:
    """Yield each expression that decides on results by a function without parentheses, such as `current_date`."""
    yield from _refused(allowed_sql.forbidden(events.sparkSession, of_results(pipeline), events.columns))


def _refused(problems: Iterable[str]) -> Iterator[Misfit]:
    return (Misfit(problem, ErrorCode.SQL_REFUSED) for problem in problems)
