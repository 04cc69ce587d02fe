"""Work by either engine: the native one, or Spark alone where the native one cannot do it.

Spark alone reads some rows that Comet refuses, such as texts that are no UTF-8. It also computes no value behind a
condition that is false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import BlockedError
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.sql_texts import of_results
from spark_jobs.runtime.native_engine import unlike_spark
from spark_jobs.session import leave_native_engine, return_to_native_engine
from spark_jobs.tables import error_causes

_Result = TypeVar("_Result")
# An attribute of errors that the work raised again after the native engine was left.
_FAILED_BY_BOTH = "failed_by_both_engines"


def by_either_engine(work: Callable[[], _Result], spark: SparkSession, report: Callable[[str], None]) -> _Result:
    """Return the result of `work`; if it fails by the native engine, its result by Spark alone, after a report.

    The session then uses Spark alone, unless the work fails by it too. What the first attempt has written stays. Work
    that contains such work is not tried again for a failure of both engines.
    """
    try:
        return work()
    except Exception as problem:
        if not leave_after(problem, [spark], report):
            raise
    try:
        return work()
    except BaseException as problem:
        return_to_native_engine(spark)
        setattr(problem, _FAILED_BY_BOTH, True)
        raise


def leave_after(problem: Exception, sessions: Iterable[SparkSession], report: Callable[[str], None]) -> bool:
    """Let Spark alone run further plans, after a report, if Comet may be why `problem` came; False if it is not."""
    if isinstance(problem, BlockedError) or _failed_by_both(problem) or not error_causes.is_native(problem):
        return False
    left = [spark for spark in sessions if leave_native_engine(spark)]
    if not left:
        return False
    report(f"Comet cannot run this ({error_causes.first_line(problem)}): Spark alone takes the step again")
    return True


def _failed_by_both(problem: BaseException | None) -> bool:
    """Return whether work by Spark alone raised this error, or an error that caused it."""
    passed: set[int] = set()
    while problem is not None and id(problem) not in passed:
        if getattr(problem, _FAILED_BY_BOTH, False):
            return True
        passed.add(id(problem))
        problem = problem.__cause__ or problem.__context__
    return False


def prepare_engine(spark: SparkSession, pipeline: Pipeline, report: Callable[[str], None], *, leave: bool) -> None:
    """Let Spark alone run the plans of a command: if it is to `leave` the native engine, or as in `engine_of`."""
    reason = reason_for_spark(pipeline)
    if (leave or reason is not None) and leave_native_engine(spark) and reason is not None:
        report(f"Spark alone runs this: {reason}")


@contextmanager
def engine_of(spark: SparkSession, pipeline: Pipeline, report: Callable[[str], None]) -> Iterator[None]:
    """Let Spark alone run the plans inside, if an expression of the pipeline may have another value by Comet."""
    reason = reason_for_spark(pipeline)
    if reason is None or not leave_native_engine(spark):
        yield
        return
    report(f"Spark alone runs this: {reason}")
    try:
        yield
    finally:
        return_to_native_engine(spark)


def reason_for_spark(pipeline: Pipeline) -> str | None:
    """Return why Spark alone runs the plans of a pipeline, with the key of the expression; None if Comet may."""
    for text in of_results(pipeline):
        if (reason := unlike_spark(text.text)) is not None:
            return f"{text.key}: {reason}"
    return None
