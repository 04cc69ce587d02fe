"""Guesses of what a table's columns mean, from their types, names and statistics, each with its reason.

The arrival of a row is the time that never goes back from one commit to the next, that is not before the others, or
that is called so; the event time is the one before it.
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

#: 1990 to 2100: what an integer has to lie between, as a time, to be taken for one.
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
    """A column that may be a time. `unit` is of integers; `rises`: whether it never goes back between commits."""

    name: str
    filled: int
    unit: TimeUnit | None = None
    rises: bool | None = None


@dataclass(frozen=True)
class Facts:
    """What is known of a table: its rows, its times, and of other columns how many values they have, about.

    `texts` are those of them that hold text.
    `not_before` is the share of the rows in which the second time of a pair is not before the first, `mean_ms` how far
    it is behind on average.
    """

    rows: int
    moments: Sequence[Moment]
    distinct: Mapping[str, int] = field(default_factory=dict)
    texts: frozenset[str] = frozenset()
    not_before: Mapping[tuple[str, str], float] = field(default_factory=dict)
    mean_ms: Mapping[tuple[str, str], float] = field(default_factory=dict)


@dataclass(frozen=True)
class Guess:
    """A column, or none, and why."""

    column: str | None
    why: str
    others: tuple[str, ...] = ()


def epoch_unit(name: str, least: int | None, most: int | None) -> TimeUnit | None:
    """The unit in which integers are times of our days; None if there is none, or their name speaks of no time."""
    if least is None or most is None or not _is_called(_CLOCK, name):
        return None
    return next(
        (u for u, n in _PER_SECOND.items() if _EARLIEST_S * n <= least and most <= _LATEST_S * n),
        None,
    )


def times(facts: Facts) -> tuple[Guess, Guess]:
    """The event time and the arrival time of a table that has at least one time."""
    moments = {m.name: m for m in facts.moments}
    if len(moments) == 1:
        (only,) = moments
        return Guess(only, "the only time of the table"), Guess(None, "no other column tells when a row was stored")
    ranked = sorted(permutations(moments, 2), key=lambda pair: _score(pair, moments, facts), reverse=True)
    event, arrival = ranked[0]
    others = tuple(name for name in moments if name not in (event, arrival))
    return (
        Guess(event, _why_event(event, arrival), others),
        Guess(arrival, _why_arrival(event, arrival, moments, facts), others),
    )


def _score(pair: tuple[str, str], moments: Mapping[str, Moment], facts: Facts) -> tuple[float, float]:
    event, arrival = pair
    score = 3.0 * bool(moments[arrival].rises) - 3.0 * (bool(moments[event].rises) and not moments[arrival].rises)
    # Of a row that is stored first and happens then, something else is meant.
    score += 4.0 * (facts.not_before.get(pair, 0.0) >= 0.99) + 2.0 * facts.not_before.get(pair, 0.0)
    score += 2.0 * _is_called(_ARRIVAL, arrival) - 2.0 * _is_called(_ARRIVAL, event)
    score += 1.0 * _is_called(_EVENT, event) - 1.0 * _is_called(_EVENT, arrival)
    score -= 2.0 * (1 - moments[arrival].filled / facts.rows) if facts.rows else 0.0
    # Of two times before the arrival the nearer one.
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
    """The split that owns a watermark: a column of few values whose name speaks of one."""
    few = [name for name in _by_values(facts) if 2 <= facts.distinct[name] <= FEW and _is_allowed(name)]
    called = [name for name in few if _is_called(_SPLIT, name)]
    others = tuple(name for name in few if name not in called[:1])
    if not called:
        return Guess(None, "no column with few values is called like one", others)
    return Guess(called[0], f"{facts.distinct[called[0]]} values, and is called {called[0]}", others)


def key(facts: Facts, taken: str | None) -> Guess:
    """What windows are grouped by: a column with some values, but not one for every few rows."""
    most = min(MANY, max(2, facts.rows // 10))
    texts_first = sorted(_by_values(facts), key=lambda name: name not in facts.texts)
    few = [name for name in texts_first if 2 <= facts.distinct[name] <= most and name != taken]
    fit = [name for name in few if _is_allowed(name, result=True)]
    if not fit:
        return Guess(None, "no column has some values and many rows of each")
    return Guess(fit[0], f"about {facts.distinct[fit[0]]:,} values", tuple(fit[1:]))


def tie_break(facts: Facts) -> Guess:
    """What tells rows of one arrival time apart: a column with about as many values as rows."""
    told = [name for name in facts.distinct if facts.distinct[name] >= 0.9 * facts.rows > 0 and _is_allowed(name)]
    if not told:
        return Guess(None, "no column has a value for each row")
    return Guess(told[0], "about a value for each row", tuple(told[1:]))


def pipeline_name(table: str) -> str:
    """A valid name of a pipeline, after the table's own."""
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
