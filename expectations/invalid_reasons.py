"""The reasons of a run's invalid rows, each with its number of rows and some of the values that were read.

A value is of the time that the reason is about, shortened. No other source column is shown.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations.reread_source_columns import source_rows_of_invalid
from expectations.staged_tables import StagedTables
from spark_jobs.pipeline.model import Pipeline, Source
from spark_jobs.pipeline.sources import SOURCE
from spark_jobs.semantics.rows import time_faults

#: The most characters of a value that are shown.
LONGEST_VALUE = 40


def lines(staged: StagedTables) -> Sequence[str]:
    """Return a line of JSON for each reason, most rows first: `{reason, rows, values}`; least and greatest."""
    rows = source_rows_of_invalid(staged.tables["invalid_events"])
    value = F.substring(_read_value(rows, staged.pipeline), 1, LONGEST_VALUE)
    values = F.array_distinct(F.array_compact(F.array(F.min(value), F.max(value))))
    grouped = rows.groupBy("reason").agg(F.count("*").alias("rows"), values.alias("values"))
    counted = grouped.orderBy(F.desc("rows"), "reason").collect()
    return [json.dumps(_line(row.asDict()), ensure_ascii=False) for row in counted]


def _line(row: dict[str, object]) -> dict[str, object]:
    return row if row["values"] else {name: row[name] for name in ("reason", "rows")}


def _read_value(rows: DataFrame, pipeline: Pipeline) -> Column:
    """Return the value of the time that the reason is about, as text; null where it cannot be read again."""
    sources = {united.name: united.source for united in pipeline.sources} or {"": pipeline.source}
    columns = [(name, _value_of(rows, source)) for name, source in sources.items()]
    if len(columns) == 1:
        return columns[0][1]
    whens = (F.when(F.col(SOURCE) == name, column) for name, column in columns)
    return reduce(F.coalesce, whens)


def _value_of(rows: DataFrame, source: Source) -> Column:
    event = _text(rows, source.event_time.expression)
    if source.arrival_time is None:
        return event
    is_arrival = F.col("reason").startswith(time_faults.ARRIVAL_TIME)
    return F.when(is_arrival, _text(rows, source.arrival_time.expression)).otherwise(event)


def _text(rows: DataFrame, expression: str) -> Column:
    value = F.expr(expression).cast("string")
    try:
        rows.select(value)
    except AnalysisException:
        # The rows of several inputs may have the column twice, or of two types.
        return F.lit(None).cast("string")
    return value
