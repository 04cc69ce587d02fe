"""Column roles: guesses of the role of each column of a table, from types, names and statistics, with reasons.

A column is the arrival time if it never goes back from one commit to the next, if it is not before the other times, or
if it is named so. The event time is the time before it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.model import TimeUnit
from spark_jobs.pipeline.names import result_column, source_column

_ARRIVAL = re.compile(
    r"arriv|ingest|stored|land|receiv|load|written|insert|process|commit|append|recorded|logged|creat|updat"
)
_EVENT = re.compile(r"event|happen|occur|start|depart|observ|measur|taken|sent|click|captur")
_CLOCK = re.compile(r"time|date|epoch|stamp|\b(ts|at|on|ms|millis|us|micros|ns|nanos|sec|seconds)\b")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
_SPLIT = re.compile(
    r"partition|shard|broker|site|region|zone|origin|source|topic|host|server|plant|country|store|tenant"
)

#: 1990 to 2100: the range in which an integer counts as a time.
_EARLIEST_S, _LATEST_S = 631_152_000, 4_102_444_800
_PER_SECOND = {
    TimeUnit.SECONDS: 1,
    TimeUnit.MILLISECONDS: 1_000,
    TimeUnit.MICROSECONDS: 1_000_000,
    TimeUnit.NANOSECONDS: 1_000_000_000,
}

FEW, MANY = 64, 10_000


@dataclass(frozen=True)
class Moment:
    """A column that may be a time. `unit` is set for integers; `rises`: it never goes back between commits."""

    name: str
    filled: int
    unit: TimeUnit | None = None
    rises: bool | None = None


@dataclass(frozen=True)
class Facts:
    """The statistics of a table: its rows, its times, and the approximate number of values of other columns.

    - `texts`: the other columns that contain text
    - `not_before`: the share of the rows in which the second time of a pair is not before the first
    - `mean_ms`: the mean difference of a pair
    """

    rows: int
    moments: Sequence[Moment]
    distinct: Mapping[str, int] = field(default_factory=dict)
    texts: frozenset[str] = frozenset()
    not_before: Mapping[tuple[str, str], float] = field(default_factory=dict)
    mean_ms: Mapping[tuple[str, str], float] = field(default_factory=dict)


@dataclass(frozen=True)
class Guess:
    """A column, or none, and the reason."""

    column: str | None
    why: str
    others: tuple[str, ...] = ()


def epoch_unit(name: str, least: int | None, most: int | None) -> TimeUnit | None:
    """Return the unit in which integers are times from 1990 to 2100; None without one, or for another name."""
    if least is None or most is None or not _is_called(_CLOCK, name):
        return None
    return next(
        (u for u, n in _PER_SECOND.items() if _EARLIEST_S * n <= least and most <= _LATEST_S * n),
        None,
    )


def times(facts: Facts) -> tuple[Guess, Guess]:
    """Return the event time and the arrival time of a table that has at least one time."""
    moments = {m.name: m for m in facts.moments}
    if len(moments) == 1:
        (only,) = moments
        return Guess(only, "the only time of the table"), Guess(
            None, "no other column is the time when a row was stored"
        )
    ranked = sorted(permutations(moments, 2), key=lambda pair: _score(pair, moments, facts), reverse=True)
    event, arrival = ranked[0]
    further = tuple(name for name in moments if name not in (event, arrival))
    return (
        Guess(event, _why_event(event, arrival), further),
        Guess(arrival, _why_arrival(event, arrival, moments, facts), further),
    )


def _score(pair: tuple[str, str], moments: Mapping[str, Moment], facts: Facts) -> tuple[float, float]:
    event, arrival = pair
    score = 3.0 * bool(moments[arrival].rises) - 3.0 * (bool(moments[event].rises) and not moments[arrival].rises)
    # A row cannot be stored before it happens: such a pair is of other columns.
    score += 4.0 * (facts.not_before.get(pair, 0.0) >= 0.99) + 2.0 * facts.not_before.get(pair, 0.0)
    score += 2.0 * _is_called(_ARRIVAL, arrival) - 2.0 * _is_called(_ARRIVAL, event)
    score += 1.0 * _is_called(_EVENT, event) - 1.0 * _is_called(_EVENT, arrival)
    score -= 2.0 * (1 - moments[arrival].filled / facts.rows) if facts.rows else 0.0
    # If two times are before the arrival, the nearer one counts more.
    return score, -abs(facts.mean_ms.get(pair, 0.0))


def _why_event(event: str, arrival: str) -> str:
    called = f", and is called {event}" if _is_called(_EVENT, event) else ""
    return f"the time before {arrival}{called}"


def _why_arrival(event: str, arrival: str, moments: Mapping[str, Moment], facts: Facts) -> str:
    reasons = []
    if moments[arrival].rises:
        reasons.append("never goes back from one commit of the table to the next")
    share = facts.not_before.get((event, arrival), 0.0)
    if share > 0:
        reasons.append(f"is not before {event} in {share:.2%} of the rows")
    if _is_called(_ARRIVAL, arrival):
        reasons.append(f"is called {arrival}")
    return "; ".join(reasons) or "the other time of the table"


def source_partition(facts: Facts) -> Guess:
    """Return the source partition: a column of few values with a name of a partition."""
    few = [name for name in _by_values(facts) if 2 <= facts.distinct[name] <= FEW and _is_allowed(name)]
    called = [name for name in few if _is_called(_SPLIT, name)]
    further = tuple(name for name in few if name not in called[:1])
    if not called:
        return Guess(None, "no column with few values has such a name", further)
    return Guess(called[0], f"{facts.distinct[called[0]]} values, and is called {called[0]}", further)


def key(facts: Facts, partition: str | None) -> Guess:
    """Return the key of windows: a column with several values, but many rows for each value."""
    most = min(MANY, max(2, facts.rows // 10))
    texts_first = sorted(_by_values(facts), key=lambda name: name not in facts.texts)
    few = [name for name in texts_first if 2 <= facts.distinct[name] <= most and name != partition]
    fit = [name for name in few if _is_allowed(name, result=True)]
    if not fit:
        return Guess(None, "no column has several values and many rows of each")
    return Guess(fit[0], f"about {facts.distinct[fit[0]]:,} values", tuple(fit[1:]))


def tie_break(facts: Facts) -> Guess:
    """Return the tie break for rows of one arrival time: a column with about as many values as rows."""
    unique = [name for name in facts.distinct if facts.distinct[name] >= 0.9 * facts.rows > 0 and _is_allowed(name)]
    if not unique:
        return Guess(None, "no column has a value for each row")
    return Guess(unique[0], "about a value for each row", tuple(unique[1:]))


def pipeline_name(table: str) -> str:
    """Return a valid name of a pipeline, from the name of the table."""
    last = re.split(r"[/.\\]", table.rstrip("/\\"))[-1]
    name = re.sub(r"[^a-z0-9]+", "_", last.lower()).strip("_")[:100].rstrip("_")
    return name if name[:1].isalpha() else f"table_{name}"[:100].rstrip("_")


def _by_values(facts: Facts) -> list[str]:
    return sorted(facts.distinct, key=lambda name: facts.distinct[name])


def _is_called(names: re.Pattern[str], name: str) -> bool:
    return names.search(_WORDS.sub(" ", name).lower()) is not None


def _is_allowed(name: str, *, result: bool = False) -> bool:
    try:
        (result_column if result else source_column)(name)
    except RefusedError:
        return False
    return True
