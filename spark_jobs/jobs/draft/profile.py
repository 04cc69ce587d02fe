"""The profile of a table: what a sample and one scan of all rows show about its leaves.

- a sample of the first rows shows units and patterns
- the scan counts the values that each reading reads, the pairs of times in order, and the values of each leaf
- the commits show which times never go back

No row passes through Python but those of the sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.jobs.draft.leaves import Leaf
from spark_jobs.jobs.draft.readings import EARLIEST_S, LATEST_S, Reading, readings
from spark_jobs.replay.rows import event_time

SAMPLE = 2_000
#: The most readings that are checked, and the most that are compared with each other.
MOST_READINGS, MOST_COMPARED = 24, 8
#: The difference of two clocks in milliseconds.
SKEW_MS = 1_000
_STEPS = ((86_400_000_000, "day"), (3_600_000_000, "hour"), (60_000_000, "minute"), (1_000_000, "second"))
_MOSTLY = 0.995
_EDGES = (0.005, 0.995)


@dataclass(frozen=True)
class Moment:
    """A reading and its values: how many rows it reads, does not read (with two samples), or reads as no likely time.

    - `unlikely`: the times before 1990 or after 2100
    - `step`: the finest unit of nearly all times: day, hour, minute, second or finer
    - `first`, `last`: the times between which 99 % of the rows are, in microseconds
    - `rival`: a pattern of the same column that reads as many rows
    - `rises`: the share of the commits that are not before an earlier commit; None if it is unknown
    """

    reading: Reading
    read: int
    unread: int = 0
    samples: tuple[str, ...] = ()
    unlikely: int = 0
    step: str = "finer"
    first: int | None = None
    last: int | None = None
    rival: str | None = None
    rises: float | None = None

    @property
    def column(self) -> str:
        """The leaf in SQL."""
        return self.reading.column

    @property
    def span_us(self) -> int:
        """The time from the first to the last row, without outliers."""
        return 0 if self.first is None or self.last is None else self.last - self.first


@dataclass(frozen=True)
class Pair:
    """Two times of the same rows: the share of rows in which the second is not before the first, and the mean delay.

    The share allows a small difference of clocks.
    """

    in_order: float
    mean_ms: float


@dataclass(frozen=True)
class Values:
    """The values of a leaf: their approximate number, and the rows without one."""

    distinct: int
    nulls: int = 0


@dataclass(frozen=True)
class Profile:
    """What the rows of a table show. `values` and `pairs` have columns as keys, in SQL."""

    rows: int
    moments: Sequence[Moment]
    values: Mapping[str, Values]
    pairs: Mapping[tuple[str, str], Pair]
    leaves: Mapping[str, Leaf]
    left_out: Mapping[str, str]
    note: str | None = None

    def moment(self, column: str) -> Moment:
        """Return the time of a column."""
        return next(moment for moment in self.moments if moment.column == column)


@dataclass(frozen=True)
class Scan:
    """What is counted in one scan: the readings, the pairs of readings to compare, and the leaves to count."""

    readings: Sequence[Reading]
    compared: Sequence[tuple[int, int]]
    counted: Sequence[Leaf]


def sampled(
    events: DataFrame, leaves: Sequence[Leaf], requested: Mapping[str, str]
) -> tuple[list[Reading], dict[str, str]]:
    """Return the readings of the leaves by a sample of the rows, and the reason for each leaf that is left out."""
    looked_at = [leaf for leaf in leaves if leaf.is_time or leaf.is_text or leaf.is_number]
    texts = [leaf for leaf in looked_at if not leaf.is_time]
    columns = [F.expr(leaf.expression).alias(f"value_{i}") for i, leaf in enumerate(texts)]
    rows = events.select(columns).limit(SAMPLE).collect() if columns else []
    values = {leaf: [row[i] for row in rows] for i, leaf in enumerate(texts)}
    every: list[Reading] = []
    left_out: dict[str, str] = {}
    for leaf in looked_at:
        possible, reason = readings(leaf, values.get(leaf, ()), requested=leaf.expression in requested)
        every += possible
        if reason is not None:
            left_out[leaf.expression] = reason
    every.sort(key=lambda reading: (reading.column not in requested, _rank(reading)))
    left_out |= {
        reading.column: f"{MOST_READINGS} other columns are more likely times" for reading in every[MOST_READINGS:]
    }
    return every[:MOST_READINGS], left_out


def scanned(
    events: DataFrame, scan: Scan, rises: Mapping[str, float]
) -> tuple[int, list[Moment], dict[tuple[str, str], Pair], dict[str, Values]]:
    """Return the number of rows, the moments, the pairs and the values, from one scan of all rows."""
    columns = {f"us_{i}": event_time.micros(events, reading.field) for i, reading in enumerate(scan.readings)}
    columns |= {f"raw_{i}": F.expr(reading.column) for i, reading in enumerate(scan.readings)}
    columns |= {f"value_{i}": _countable(leaf) for i, leaf in enumerate(scan.counted)}
    statistics = {"rows": F.count("*")}
    for i in range(len(scan.readings)):
        statistics |= _of_reading(i)
    for a, b in scan.compared:
        statistics |= _of_pair(a, b)
    for i in range(len(scan.counted)):
        statistics[f"distinct_{i}"] = F.hll_sketch_estimate(F.hll_sketch_agg(f"value_{i}", 12))
        statistics[f"filled_{i}"] = F.count(f"value_{i}")
    timed = events.select(*(column.alias(name) for name, column in columns.items()))
    row = timed.agg(*(value.alias(name) for name, value in statistics.items())).collect()[0].asDict()
    rows = int(row["rows"])
    moments = [_moment(row, i, reading, rises) for i, reading in enumerate(scan.readings)]
    pairs = {}
    for a, b in scan.compared:
        names = scan.readings[a].column, scan.readings[b].column
        pairs[names] = _pair(row, a, b, "forward", 1)
        pairs[names[::-1]] = _pair(row, a, b, "back", -1)
    values = {
        leaf.expression: Values(min(rows, int(row[f"distinct_{i}"] or 0)), rows - int(row[f"filled_{i}"]))
        for i, leaf in enumerate(scan.counted)
    }
    return rows, moments, pairs, values


def compared(every: Sequence[Reading], requested: Mapping[str, str]) -> list[tuple[int, int]]:
    """Return the pairs of readings to compare: readings of different leaves, with the likeliest names."""
    ranked = sorted(range(len(every)), key=lambda i: (every[i].column not in requested, _likeness(every[i]), i))
    likely = sorted(ranked[:MOST_COMPARED])
    return [(a, b) for a, b in combinations(likely, 2) if every[a].leaf != every[b].leaf]


def best(moments: Sequence[Moment]) -> list[Moment]:
    """Return the best reading of each leaf: it reads the most rows, and is the first of those that do."""
    by_column: dict[str, Moment] = {}
    for moment in moments:
        earlier = by_column.get(moment.column)
        if earlier is None or moment.read > earlier.read:
            by_column[moment.column] = moment
        elif moment.read == earlier.read:
            by_column[moment.column] = replace(earlier, rival=moment.reading.field.format)
    return list(by_column.values())


def _rank(reading: Reading) -> tuple[int, int]:
    return _likeness(reading), 0 if reading.leaf.is_time else 1


def _likeness(reading: Reading) -> int:
    leaf = reading.leaf
    return 0 if leaf.is_called_an_arrival or leaf.is_called_an_event else 1 if leaf.is_called_a_clock else 2


def _countable(leaf: Leaf) -> Column:
    value = F.expr(leaf.expression)
    return value if isinstance(leaf.kind, T.StringType) else value.cast("long")


def _of_reading(i: int) -> dict[str, Column]:
    us, raw = F.col(f"us_{i}"), F.col(f"raw_{i}").cast("string")
    is_unread = us.isNull() & (F.length(F.trim(raw)) > 0)
    unread = F.when(is_unread, F.substring(raw, 1, 40))
    likely = us.between(EARLIEST_S * 1_000_000, LATEST_S * 1_000_000)
    return {
        f"read_{i}": F.count(us),
        f"unread_{i}": F.count_if(is_unread),
        f"least_{i}": F.min(unread),
        f"most_{i}": F.max(unread),
        f"unlikely_{i}": F.count_if(~likely),
        f"edges_{i}": F.percentile_approx(F.when(likely, us), list(_EDGES), 1_000),
        **{f"off_{name}_{i}": F.count_if(us % F.lit(step) != 0) for step, name in _STEPS},
    }


def _of_pair(a: int, b: int) -> dict[str, Column]:
    delay = F.col(f"us_{b}") - F.col(f"us_{a}")
    skew = F.lit(SKEW_MS * 1_000)
    return {
        f"both_{a}_{b}": F.count(delay),
        f"forward_{a}_{b}": F.count_if(delay >= -skew),
        f"back_{a}_{b}": F.count_if(delay <= skew),
        f"mean_{a}_{b}": F.avg(delay.cast("double") / 1_000),
    }


def _moment(row: Mapping[str, Any], i: int, reading: Reading, rises: Mapping[str, float]) -> Moment:
    read, edges = int(row[f"read_{i}"]), row[f"edges_{i}"] or (None, None)
    steps = [name for _, name in _STEPS if row[f"off_{name}_{i}"] <= (1 - _MOSTLY) * read]
    samples = dict.fromkeys(text for text in (row[f"least_{i}"], row[f"most_{i}"]) if text is not None)
    return Moment(
        reading=reading,
        read=read,
        unread=int(row[f"unread_{i}"]),
        samples=tuple(samples),
        unlikely=int(row[f"unlikely_{i}"]),
        step=steps[0] if steps and read else "finer",
        first=edges[0],
        last=edges[1],
        rises=rises.get(reading.column),
    )


def _pair(row: Mapping[str, Any], a: int, b: int, direction: str, sign: int) -> Pair:
    rows = int(row[f"both_{a}_{b}"])
    share = int(row[f"{direction}_{a}_{b}"]) / rows if rows else 0.0
    return Pair(share, sign * float(row[f"mean_{a}_{b}"] or 0))
