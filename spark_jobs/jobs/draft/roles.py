"""Roles: the guess of what each leaf is for, by names and numbers, with the evidence and the runner-up.

- arrival time: it does not go back from one commit to the next, and is not before the event time
- event time: the time before it that is finest, read in most rows, and nearest
- source partition: few values, and a name of a partition
- key: several values, and many rows of each
- tie break: about a value for each row

A guess is thin if the runner-up is about as good, or if only a name supports it. The user has to choose then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from spark_jobs.jobs.draft.profile import Moment, Pair, Profile
from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.names import source_column

_SPLIT = re.compile(
    r"partition|shard|broker|site|region|zone|origin|source|topic|host|server|plant|country|store|tenant"
)
_SURELY_SPLIT = re.compile(r"\b(partition|shard|broker)\b")
FEW, MANY = 64, 10_000
#: A role is thin if the score of the runner-up is nearer than this.
_CLEAR = 2.0
_COARSE = {"day": 3.0, "hour": 1.0}


@dataclass(frozen=True)
class Guess:
    """A leaf in SQL, or none, with the evidence, the alternatives (the runner-up first), and whether that is thin."""

    column: str | None
    why: str
    alternatives: tuple[str, ...] = ()
    is_thin: bool = False


#: The guess for a table without a second time.
NO_ARRIVAL = Guess(None, "no other column is the time when a row was stored", is_thin=True)


def times(profile: Profile, event: str | None = None, arrival: str | None = None) -> tuple[Guess, Guess]:
    """Return the event time and the arrival time of a table that has at least one time.

    A column that the user has chosen as `event` or `arrival` is taken.
    """
    moments = {m.column: m for m in profile.moments if m.read or m.column in (event, arrival)}
    scores = {
        pair: _score(pair, moments, profile)
        for pair in permutations(moments, 2)
        if event in (None, pair[0]) and arrival in (None, pair[1])
    }
    if not scores:
        return _alone(moments[event or arrival or next(iter(moments))], profile, event), NO_ARRIVAL
    ranked = sorted(scores, key=lambda pair: (scores[pair], -_mean(pair, profile)), reverse=True)
    best = ranked[0]
    order = profile.pairs.get(best)
    by_event = [pair for pair in ranked if pair[0] != best[0] and pair[1] == best[1]]
    by_arrival = [pair for pair in ranked if pair[1] not in best and pair[0] == best[0]]
    is_near_event, is_near_arrival = (_is_near(best, pairs[:1], scores) for pairs in (by_event, by_arrival))
    return (
        Guess(
            best[0],
            _why_event(moments[best[0]], best[1], order, profile),
            tuple(pair[0] for pair in by_event),
            event is None and (is_doubtful(moments[best[0]]) or is_near_event or _is_disordered(order)),
        ),
        Guess(
            best[1],
            _why_arrival(moments[best[1]], best[0], order, profile),
            tuple(pair[1] for pair in by_arrival),
            arrival is None and (is_near_arrival or _is_disordered(order)),
        ),
    )


def alone(profile: Profile, event: str | None = None) -> Guess:
    """Return the event time of a table without an arrival time: the best time, or the `event` that the user chose."""
    ranked = sorted(profile.moments, key=lambda m: (m.column == event, m.read, m.step not in _COARSE), reverse=True)
    return _alone(ranked[0], profile, event)


def _alone(moment: Moment, profile: Profile, event: str | None) -> Guess:
    further = tuple(other.column for other in profile.moments if other.column != moment.column)
    is_thin = event is None and (is_doubtful(moment) or bool(further))
    only = "" if further else "the only time; "
    return Guess(moment.column, f"{only}{facts(moment, profile)}", further, is_thin)


def source_partition(profile: Profile, without: Sequence[str | None] = ()) -> Guess:
    """Return the source partition: a leaf of few values with a name of a partition."""
    few = [c for c in _by_values(profile, without) if 2 <= profile.values[c].distinct <= FEW and is_allowed(c)]
    names = {column: profile.leaves[column].words for column in few}
    sure = [column for column in few if _SURELY_SPLIT.search(names[column])]
    called = [*sure, *(column for column in few if column not in sure and _SPLIT.search(names[column]))]
    alternatives = tuple(column for column in few if column not in called[:1])
    if not called:
        return Guess(None, "no column with few values has such a name", alternatives)
    column = called[0]
    why = f"{profile.values[column].distinct} values, and is called {column}"
    return Guess(column, why, alternatives, is_thin=column not in sure)


def key(profile: Profile, without: Sequence[str | None] = ()) -> Guess:
    """Return the key of windows: a leaf with several values, but many rows for each value; text first."""
    most = min(MANY, max(2, profile.rows // 10))
    ranked = sorted(_by_values(profile, without), key=lambda column: not profile.leaves[column].is_text)
    fit = [column for column in ranked if 2 <= profile.values[column].distinct <= most and is_allowed(column)]
    if not fit:
        return Guess(None, "no column has several values and many rows of each")
    values = profile.values[fit[0]]
    why = f"about {values.distinct:,} values, {profile.rows // values.distinct:,} rows of each"
    why += f", null in {values.nulls:,} rows" if values.nulls else ""
    return Guess(fit[0], why, tuple(fit[1:]), is_thin=len(fit) > 1)


def tie_break(profile: Profile) -> Guess:
    """Return the tie break for rows of one arrival time: a leaf at the top level with about a value for each row."""
    unique = [
        column
        for column, values in profile.values.items()
        if values.distinct >= 0.9 * profile.rows > 0 and is_allowed(column) and not profile.leaves[column].is_nested
    ]
    if not unique:
        return Guess(None, "no column has a value for each row")
    return Guess(unique[0], f"about {profile.values[unique[0]].distinct:,} values", tuple(unique[1:]))


def without_role(profile: Profile, guesses: Mapping[str, Guess]) -> dict[str, str]:
    """Return the reason for each leaf that might have been a time, a key or a source partition, but has no role."""
    mentioned = {name for guess in guesses.values() for name in (guess.column, *guess.alternatives)}
    reasons = dict(profile.left_out)
    for column, values in profile.values.items():
        if column in mentioned or column in reasons:
            continue
        if values.nulls == profile.rows:
            reasons[column] = "is null in all rows"
        elif values.distinct <= 1:
            reasons[column] = "has one value"
        else:
            reasons[column] = f"has about {values.distinct:,} values, too many for a key of {profile.rows:,} rows"
    return reasons


def facts(moment: Moment, profile: Profile) -> str:
    """Return the numbers of a time in a few words."""
    missing = profile.rows - moment.read - moment.unread
    step = "" if moment.step == "finer" else f", to the {moment.step}"
    parts = [f"{moment.read:,} of {profile.rows:,} rows{step}"]
    if missing > 0:
        parts.append(f"{missing:,} empty")
    if moment.unread:
        parts.append(f"{moment.unread:,} not readable ({', '.join(map(repr, moment.samples))})")
    if moment.rival is not None:
        parts.append(f"{moment.rival} reads as many")
    if moment.unlikely:
        parts.append(f"{moment.unlikely:,} before 1990 or after 2100")
    return "; ".join(parts)


def is_allowed(column: str) -> bool:
    """Return whether a pipeline file accepts the names of a leaf."""
    try:
        source_column(column)
    except RefusedError:
        return False
    return True


def _score(pair: tuple[str, str], moments: Mapping[str, Moment], profile: Profile) -> float:
    event, arrival = moments[pair[0]], moments[pair[1]]
    in_order = profile.pairs[pair].in_order if pair in profile.pairs else 0.0
    score = 3.0 * _rises(arrival) - 3.0 * max(0.0, _rises(event) - _rises(arrival))
    # A row cannot be stored before it happens: such a pair is of other columns.
    score += 4.0 * (in_order >= 0.99) + 2.0 * in_order
    first, second = event.reading.leaf, arrival.reading.leaf
    score += 2.0 * second.is_called_an_arrival - 2.0 * first.is_called_an_arrival
    score += 2.0 * first.is_called_an_event - 1.0 * second.is_called_an_event
    for moment in (event, arrival):
        score -= 4.0 * (1 - moment.read / profile.rows) if profile.rows else 0.0
        score -= _COARSE.get(moment.step, 0.0)
        score -= 2.5 * moment.reading.leaf.is_text
    return score


def _rises(moment: Moment) -> float:
    """Return the evidence of the commits: an order that one commit in ten breaks is none."""
    return moment.rises if moment.rises is not None and moment.rises >= 0.9 else 0.0


def _mean(pair: tuple[str, str], profile: Profile) -> float:
    # If two times are before the arrival, the nearer one counts more.
    return abs(profile.pairs[pair].mean_ms) if pair in profile.pairs else float("inf")


def _is_near(
    chosen: tuple[str, str], runner_up: Sequence[tuple[str, str]], scores: Mapping[tuple[str, str], float]
) -> bool:
    return any(scores[chosen] - scores[pair] < _CLEAR for pair in runner_up)


def _is_disordered(order: Pair | None) -> bool:
    return order is None or order.in_order < 0.95


def is_doubtful(moment: Moment) -> bool:
    """Return whether the values of a time leave its zone, its order of day and month, or its time of day open."""
    return moment.reading.is_local or moment.rival is not None or moment.step == "day"


def _why_event(moment: Moment, arrival: str, order: Pair | None, profile: Profile) -> str:
    reasons = [facts(moment, profile)]
    if order is not None:
        reasons.append(f"not after {arrival} in {order.in_order:.2%} of the rows")
    if moment.reading.leaf.is_called_an_event:
        reasons.append("has the name of an event time")
    return "; ".join(reasons)


def _why_arrival(moment: Moment, event: str, order: Pair | None, profile: Profile) -> str:
    reasons = [facts(moment, profile)]
    if _rises(moment) == 1:
        reasons.append("never goes back from one commit of the table to the next")
    elif _rises(moment):
        reasons.append(f"does not go back in {moment.rises:.0%} of the commits")
    if order is not None:
        reasons.append(f"is not before {event} in {order.in_order:.2%} of the rows")
    if moment.reading.leaf.is_called_an_arrival:
        reasons.append("has the name of an arrival time")
    return "; ".join(reasons)


def _by_values(profile: Profile, without: Sequence[str | None]) -> list[str]:
    return sorted((c for c in profile.values if c not in without), key=lambda column: profile.values[column].distinct)
