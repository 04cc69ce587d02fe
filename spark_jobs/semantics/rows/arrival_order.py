"""The arrival order is the total order in which a replay reads the rows; a row's position is its place in that order.

    arrival       (arrival time, source partition columns, tie-break columns, all other columns by name)
    event_time    (event time, and then as above)
    commit        (commit time, commit version, event time, and then as above)
    offset        (clock of the round, partition, offset, and then as above); see `watermark.rounds`

Positions are compared field by field, a missing value first. Times are in microseconds, and the first one is the clock.
Of rows that differ in nothing but the sign of a zero, -0.0 comes before 0.0: the last field has the signs.
Rows with equal positions are identical, so their order changes no result. Semantics B2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from spark_jobs.semantics.rows.expressions import column

Comparable = tuple[Any, ...]

#: Columns of Delta's change data feed: the version and the time of the commit that added the row.
COMMIT_VERSION, COMMIT_TIMESTAMP = "_commit_version", "_commit_timestamp"


def position(row: Mapping[str, Any], first: Sequence[int], declared: Sequence[str]) -> Comparable:
    """Return a row's position; `first` are the times it begins with, `declared` the partition and tie-break columns."""
    rest = sorted(name for name in row if name not in declared)
    values = [column(row, name) for name in (*declared, *rest)]
    return (*first, *map(comparable, values), tuple(map(_signs, values)))


def comparable(value: Any) -> Comparable:
    """Return a hashable stand-in that sorts as Spark sorts the value: null first, NaN last, lists item by item.

    Two values have equal stand-ins exactly when Spark groups them together. A struct is compared field by field, a map
    entry by entry, in their order.
    """
    if value is None:
        return (0,)
    if isinstance(value, float):
        # Spark groups 0.0 and -0.0 together.
        return (2,) if math.isnan(value) else (1, value + 0.0)
    if isinstance(value, (list, tuple)):
        return (1, tuple(comparable(item) for item in value))
    if isinstance(value, Mapping):
        return (1, tuple((comparable(name), comparable(item)) for name, item in value.items()))
    return (1, value)


def _signs(value: Any) -> Comparable | float:
    """Return -1 for -0.0, 1 for 0.0, and 0 for any other number or text; item by item."""
    if isinstance(value, (list, tuple)):
        return tuple(map(_signs, value))
    if isinstance(value, Mapping):
        return tuple((_signs(name), _signs(item)) for name, item in value.items())
    return math.copysign(1, value) if isinstance(value, float) and value == 0 else 0
