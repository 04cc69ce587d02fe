"""Results of a live job beside the run's results, for `quality.compare_with`.

The tables may have the names of columns in different case. A live value is cast to the type of the run's column.
"""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations.errors import AuditError
from expectations.redaction import first_line
from expectations.staged import Staged
from expectations.windows import bounds
from spark_jobs.error_codes import ErrorCode

#: The name of the live job's table among the staged tables, if the pipeline compares with one.
LIVE = "live"


def shared_aggregates(staged: Staged) -> tuple[str, ...]:
    """Return the names of the aggregates that the live table also has.

    Raises AuditError if the live table has no such aggregate, or lacks the key or a window bound.
    """
    live_columns = staged.tables[LIVE].columns
    live_names = {name.lower() for name in live_columns}
    windows = staged.pipeline.windows
    shared = tuple(a.name for a in windows.aggregates if a.name.lower() in live_names)
    missing = [name for name in (*windows.key, *bounds(staged.pipeline)) if name.lower() not in live_names]
    if not missing and not shared:
        missing = ["for any aggregate"]
    if missing:
        raise AuditError(
            f"quality.compare_with: the table has no column {', '.join(missing)}; found {', '.join(live_columns)}",
            code=ErrorCode.LIVE_TABLE_BROKEN,
        )
    return shared


def own_results(staged: Staged) -> DataFrame:
    """Return every result of the run: `key`, the window's bounds and the shared aggregates."""
    return _compared_columns(staged, staged.tables["window_results"])


def live_results(staged: Staged) -> DataFrame:
    """Return the results of the live job, with the columns and types of `own_results`.

    Raises AuditError for a column that cannot be cast.
    """
    own_types = {field.name.lower(): field.dataType for field in staged.tables["window_results"].schema}
    names = [*staged.pipeline.windows.key, *bounds(staged.pipeline), *staged.once(shared_aggregates)]
    try:
        cast_rows = staged.tables[LIVE].select(
            *(F.col(f"`{name}`").cast(own_types[name.lower()]).alias(name) for name in names)
        )
    except AnalysisException as problem:
        raise AuditError(
            f"quality.compare_with: {first_line(str(problem))}", code=ErrorCode.LIVE_TABLE_BROKEN
        ) from problem
    return staged.keep(_compared_columns(staged, cast_rows))


def _compared_columns(staged: Staged, rows: DataFrame) -> DataFrame:
    shared = (F.col(f"`{name}`").alias(name) for name in staged.once(shared_aggregates))
    return rows.select(staged.key(rows).alias("key"), *bounds(staged.pipeline), *shared)
