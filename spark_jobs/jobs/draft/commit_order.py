"""The order of commits as evidence: an arrival time does not go back from one commit of a table to the next.

Delta's log has the least and the greatest value of each file. Only commits that add rows count: a file that is
rewritten or compacted, or whose rows are deleted, is no arrival.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from spark_jobs.jobs.draft.leaves import Leaf
from spark_jobs.semantics.rows.instants import EPOCH
from spark_jobs.tables import delta_log, source_tables

#: The most commits that are read.
MOST_COMMITS = 200
_PHYSICAL = "delta.columnMapping.physicalName"
_Range = tuple[int | float, int | float]


def rising(spark: SparkSession, table: str, leaves: Sequence[Leaf]) -> dict[str, float]:
    """Return for each time with statistics in Delta the share of commits that do not begin before an earlier commit.

    Text has no usable statistics. Empty for a table with a single commit, and for a table in a catalog.
    """
    if not source_tables.is_path(table):
        return {}
    path = source_tables.absolute_path(table)
    schema = delta_log.schema(spark, path)
    stored = {leaf.expression: _stored(schema, leaf.path) for leaf in leaves if not leaf.is_text}
    ranges: dict[str, list[_Range]] = {column: [] for column in stored}
    for actions in _newest_commits(spark, path):
        if any("remove" in action for action in actions):
            continue
        statistics = [json.loads(a["add"]["stats"]) for a in actions if "add" in a and a["add"].get("stats")]
        for column, names in stored.items():
            if (values := _range(statistics, names)) is not None:
                ranges[column].append(values)
    return {column: never_back(of[::-1]) for column, of in ranges.items() if len(of) > 1}


def _newest_commits(spark: SparkSession, path: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the actions of at most `MOST_COMMITS` commits, the newest first, as far back as Delta has their log."""
    newest = delta_log.version(spark, path) or 0
    for version in range(newest, max(-1, newest - MOST_COMMITS), -1):
        actions = delta_log.changes(spark, path, version - 1, version)
        if actions is None:
            return
        yield actions[version]


def never_back(ranges: Sequence[_Range]) -> float:
    """Return the share of ranges, in order, whose least value is not below the greatest value of the range before."""
    steps = [least >= most for (_, most), (least, _) in pairwise(ranges)]
    return sum(steps) / len(steps)


def _stored(schema: T.StructType, path: Sequence[str]) -> list[str]:
    """Return the names by which Delta stores a leaf: with column mapping they are others."""
    names: list[str] = []
    struct: T.DataType = schema
    for name in path:
        field = struct[name]  # type: ignore[index]  # a path leads through structs
        names.append(str(field.metadata.get(_PHYSICAL, name)))
        struct = field.dataType
    return names


def _range(statistics: Sequence[Mapping[str, Any]], names: Sequence[str]) -> _Range | None:
    least = [value for of_file in statistics if (value := _at(of_file.get("minValues"), names)) is not None]
    most = [value for of_file in statistics if (value := _at(of_file.get("maxValues"), names)) is not None]
    if not least or not most:
        return None
    # Delta cuts times to milliseconds, and lifts the greatest by one.
    lifted = isinstance(most[0], str)
    return min(map(_comparable, least)), max(map(_comparable, most)) - lifted


def _at(values: Any, names: Sequence[str]) -> Any:
    for name in names:
        if not isinstance(values, Mapping):
            return None
        values = values.get(name)
    return values


def _comparable(value: float | str | Decimal) -> int | float:
    if not isinstance(value, str):
        return float(value) if isinstance(value, Decimal) else value
    moment = datetime.fromisoformat(value)
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // timedelta(milliseconds=1)
