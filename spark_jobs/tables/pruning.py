"""Pruning: conditions that let Delta skip files without a matching row.

Delta compares the statistics of a file with plain comparisons of a column and constants. It cannot use a join, or a
function around a comparison.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.tables.interval import Interval

# A longer list costs more to plan than it saves by skipping files.
_MAX_CONSTANTS = 1_000


def is_among(name: str, values: DataFrame) -> Column | None:
    """Return the condition that the TIMESTAMP column `name` has a value of `values`; None if they are too many."""
    moments = values.select(F.unix_micros(name).alias("us")).distinct().limit(_MAX_CONSTANTS + 1).collect()
    if len(moments) > _MAX_CONSTANTS:
        return None
    # Read as microseconds: PySpark returns timestamps as naive local times.
    return F.col(name).isin(*(F.timestamp_micros(F.lit(row.us)) for row in moments)) if moments else F.lit(False)


def matching(rows: DataFrame, name: str, values: DataFrame) -> DataFrame:
    """Return the rows whose TIMESTAMP column `name` has a value of `values`, which has few rows."""
    condition = is_among(name, values)
    if condition is not None:
        return rows.where(condition)
    return rows.join(F.broadcast(values.select(name).distinct()), name, "left_semi")


def overlap_condition(names: Iterable[str], start: datetime | None, end: datetime | None) -> str:
    """Return the SQL condition that a file of a Delta table may have a time in `[start, end)`, by its `stats`.

    `names` are the TIMESTAMP columns with the times. A bound that is None is open. The condition is true for a file
    with missing statistics.
    """
    mins, maxs, unknown = [], [], []
    for name in names:
        lowest = f"cast(get_json_object(stats, '$.minValues.{name}') as timestamp)"
        mins.append(lowest)
        # Delta truncates statistics to milliseconds.
        maxs.append(f"cast(get_json_object(stats, '$.maxValues.{name}') as timestamp) + interval 1 millisecond")
        nulls, rows = (f"cast(get_json_object(stats, '$.{n}') as long)" for n in (f"nullCount.{name}", "numRecords"))
        unknown.append(f"({lowest} is null and not coalesce({nulls} = {rows}, false))")
    meets = []
    if end is not None:
        meets.append(f"{_of(mins, 'least')} < {_literal(end)}")
    if start is not None:
        meets.append(f"{_of(maxs, 'greatest')} >= {_literal(start)}")
    return f"({' or '.join(unknown)} or ({' and '.join(meets) or 'true'}))"


def may_reach(stats: str | None, names: Iterable[str], interval: Interval) -> bool:
    """Return whether a file with these statistics of Delta may have a time of the interval, in one of the columns."""
    spans_of_file = [span for name in names for span in spans(name, [{"add": {"stats": stats}}])]
    return any(Interval(start, end).overlaps(interval) for start, end in spans_of_file)


def spans(name: str, actions: Iterable[dict[str, Any]]) -> list[tuple[datetime | None, datetime | None]]:
    """Return the span `[start, end)` of the TIMESTAMP column `name` in each file that these actions add.

    A file without statistics has open bounds. A file without rows has no span.
    """
    file_spans: list[tuple[datetime | None, datetime | None]] = []
    for stats in (json.loads(action["add"].get("stats") or "{}") for action in actions if "add" in action):
        lowest, highest = (stats.get(bound, {}).get(name) for bound in ("minValues", "maxValues"))
        if lowest is not None and highest is not None:
            end = datetime.fromisoformat(highest) + timedelta(milliseconds=2)
            file_spans.append((datetime.fromisoformat(lowest), end))
        elif stats.get("numRecords") != 0:
            file_spans.append((None, None))
    return file_spans


def _of(values: list[str], function: str) -> str:
    return values[0] if len(values) == 1 else f"{function}({', '.join(values)})"


def _literal(moment: datetime) -> str:
    return f"timestamp_micros({round(moment.timestamp() * 1_000_000)})"
