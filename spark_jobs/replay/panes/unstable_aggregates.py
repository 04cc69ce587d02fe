"""Unstable aggregates: functions whose value may change with the files of a table, although its rows are the same.

They keep a summary of the rows that depends on the order in which Spark reads them. All other built-in aggregates have
the same bits in every order: by themselves, or as `floats.compiled` computes them.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.allowed_sql import functions_of

#: Functions that summarize rows in the order in which Spark reads them, by the beginnings of their names.
SUMMARIES = ("approx_top_k", "histogram_numeric", "hll_", "kll_", "theta_")


def warnings(events: DataFrame, pipeline: Pipeline) -> Iterator[str]:
    """Yield a warning for each aggregate whose value may change with the files of the source: `key: text`."""
    for aggregate in pipeline.windows.aggregates:
        functions = {function.name for function in functions_of(events.sparkSession, aggregate.expression)}
        if unstable := sorted(name for name in functions if name.startswith(SUMMARIES)):
            yield (
                f"windows.aggregates.{aggregate.name}: {unstable[0]}() depends on the order in which Spark reads rows, "
                "which is not that of arrival. Use a function that does not, such as max or percentile"
            )
