"""Pruning: conditions that Delta can look through, so that files without a row that is meant are not read.

What it knows of a file it holds against plain comparisons of a column with constants. A join tells it nothing, nor does
a function around a comparison.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

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


def reaching(names: Iterable[str], start: datetime | None, end: datetime | None) -> str:
    """Whether a file of a Delta table may hold a moment of `[start, end)`, by the `stats` of its action: in SQL.

    `names` are the TIMESTAMP columns that tell moments; null is without bound. True of files that tell too little.
    """
    mins, maxs, unknown = [], [], []
    for name in names:
        lowest = f"cast(get_json_object(stats, '$.minValues.{name}') as timestamp)"
        mins.append(lowest)
        # Delta cuts off what is finer than a millisecond.
        maxs.append(f"cast(get_json_object(stats, '$.maxValues.{name}') as timestamp) + interval 1 millisecond")
        nulls, rows = (f"cast(get_json_object(stats, '$.{n}') as long)" for n in (f"nullCount.{name}", "numRecords"))
        unknown.append(f"({lowest} is null and not coalesce({nulls} = {rows}, false))")
    meets = []
    if end is not None:
        meets.append(f"{_of(mins, 'least')} < {_literal(end)}")
    if start is not None:
        meets.append(f"{_of(maxs, 'greatest')} >= {_literal(start)}")
    return f"({' or '.join(unknown)} or ({' and '.join(meets) or 'true'}))"


def spans(name: str, actions: Iterable[dict[str, Any]]) -> list[tuple[datetime | None, datetime | None]]:
    """The spans `[start, end)` of the TIMESTAMP column `name` in the files that these actions add, as their stats tell.

    One of a file that tells nothing is without bounds; a file without rows has none.
    """
    found: list[tuple[datetime | None, datetime | None]] = []
    for told in (json.loads(action["add"].get("stats") or "{}") for action in actions if "add" in action):
        lowest, highest = (told.get(bound, {}).get(name) for bound in ("minValues", "maxValues"))
        if lowest is not None and highest is not None:
            end = datetime.fromisoformat(highest) + timedelta(milliseconds=2)
            found.append((datetime.fromisoformat(lowest), end))
        elif told.get("numRecords") != 0:
            found.append((None, None))
    return found


def _of(values: list[str], function: str) -> str:
    return values[0] if len(values) == 1 else f"{function}({', '.join(values)})"


def _literal(moment: datetime) -> str:
    return f"timestamp_micros({round(moment.timestamp() * 1_000_000)})"
