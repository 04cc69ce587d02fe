"""Pruning: conditions that Delta can look through, so that files without a row that is meant are not read.

What it knows of a file it holds against plain comparisons of a column with constants. A join tells it nothing, nor does
a function around a comparison.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

# A longer list costs more to plan than the files that it may leave out.
_MOST = 1_000


def among(name: str, found: DataFrame) -> Column | None:
    """Whether the TIMESTAMP column `name` is one of those of `found`; None if they are too many for a condition."""
    moments = found.select(F.unix_micros(name).alias("us")).distinct().limit(_MOST + 1).collect()
    if len(moments) > _MOST:
        return None
    # As numbers: PySpark hands out timestamps as naive local times.
    return F.col(name).isin(*(F.timestamp_micros(F.lit(row.us)) for row in moments)) if moments else F.lit(False)


def matching(rows: DataFrame, name: str, found: DataFrame) -> DataFrame:
    """The rows whose TIMESTAMP column `name` is one of those of `found`, which are few beside them."""
    condition = among(name, found)
    if condition is not None:
        return rows.where(condition)
    return rows.join(F.broadcast(found.select(name).distinct()), name, "left_semi")
