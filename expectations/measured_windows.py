"""Measures of each window over all keys, for `quality.drift`."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations.errors import AuditError
from expectations.redaction import first_line
from expectations.staged import Staged

#: The name, among the staged tables, of the published results that the run does not replace.
EARLIER = "earlier"


def measured_windows(staged: Staged) -> DataFrame:
    """Return one row for each window of the run, and for each earlier published window.

    Columns: `window_start`; `measured`, a struct with a DOUBLE field for each measure; `is_own`, true for a window of
    the run. Raises AuditError for a measure that is not a number.
    """
    try:
        windows = _measured(staged, staged.tables["window_results"], is_own=True)
        if EARLIER in staged.tables:
            # The query runs in the session of its first table, and the earlier windows may be many.
            windows = _measured(staged, staged.tables[EARLIER], is_own=False).unionByName(windows)
    except AnalysisException as problem:
        raise AuditError(f"quality.drift.measures: {first_line(str(problem))}") from problem
    return staged.keep(windows)


def _measured(staged: Staged, results: DataFrame, *, is_own: bool) -> DataFrame:
    drift = staged.pipeline.quality.drift
    measures = drift.measures if drift else ()
    measured = F.struct(*(F.expr(m.expression).cast("double").alias(m.name) for m in measures))
    return results.groupBy("window_start").agg(measured.alias("measured")).withColumn("is_own", F.lit(is_own))
