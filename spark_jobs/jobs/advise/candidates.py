"""Candidates are settings worth weighing, and the recommended one is that which reaches a target at the least delay.

Law: rows are too late by the sum bound + lateness alone, and late by the bound alone. So the recommended sum is the
least of those weighed that is complete enough,

    completeness = 1 - too late / rows in windows >= target

and of the settings with that sum the one with the least bound that has 99 % of the rows on time (results appear early,
and few of them are revised); where none has, the one with the greatest bound. Milliseconds; steps are readable ones.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from spark_jobs.jobs.errors import InputError
from spark_jobs.pipeline.durations import DurationError, format_duration, parse_duration

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000

#: Durations that people write.
LADDER = (
    0,
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(n * _SECOND for n in (1, 2, 5, 10, 15, 20, 30)),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 20, 30, 45)),
    *(n * _HOUR for n in (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)),
    *(n * _DAY for n in (1, 2, 3, 5, 7, 10, 14, 21, 30, 60, 90, 180, 365)),
)

#: Of the results, how many should not have to be revised.
MOSTLY = 0.99


@dataclass(frozen=True)
class Delay:
    """What one delay makes of the history.

    `behind` rows of `rows` come too late for it, and `windows_missing` of `windows` lack a row if nothing is accepted
    after it. The watermark passes `fired` windows before the input ends, `mean_wait_ms` and `max_wait_ms` after their
    ends (None: no window).
    """

    delay_ms: int
    behind: int
    windows_missing: int
    rows: int
    windows: int
    fired: int
    mean_wait_ms: float | None
    max_wait_ms: float | None


@dataclass(frozen=True)
class Candidate:
    """One bound and lateness, and what a replay with them would count."""

    out_of_orderness: int
    allowed_lateness: int
    on_time: int
    late: int
    too_late: int
    completeness: float
    windows: int
    windows_missing_rows: int
    final_after: int
    windows_fired: int
    mean_wait: float | None
    max_wait: float | None


def candidate(bound_ms: int, lateness_ms: int, delays: Mapping[int, Delay]) -> Candidate:
    """What a bound and a lateness make of the rows; both they and their sum are in `delays`."""
    first, last = delays[bound_ms], delays[bound_ms + lateness_ms]
    return Candidate(
        out_of_orderness=bound_ms,
        allowed_lateness=lateness_ms,
        on_time=first.rows - first.behind,
        late=first.behind - last.behind,
        too_late=last.behind,
        completeness=1 - last.behind / last.rows if last.rows else 1.0,
        windows=last.windows,
        windows_missing_rows=last.windows_missing,
        final_after=bound_ms + lateness_ms,
        windows_fired=first.fired,
        mean_wait=first.mean_wait_ms,
        max_wait=first.max_wait_ms,
    )


def recommended(settings: Iterable[tuple[int, int]], delays: Mapping[int, Delay], target: Fraction) -> Candidate | None:
    """The settings that reach `target` at the least delay (see the law); None if none of them does."""
    judged = [candidate(bound, lateness, delays) for bound, lateness in settings]
    complete = [c for c in judged if reaches(c, target)]
    if not complete:
        return None
    least = min(c.final_after for c in complete)
    by_bound = sorted((c for c in complete if c.final_after == least), key=lambda c: c.out_of_orderness)
    rows = by_bound[0].on_time + by_bound[0].late + by_bound[0].too_late
    return next((c for c in by_bound if c.on_time >= MOSTLY * rows), by_bound[-1])


def reaches(found: Candidate, target: Fraction) -> bool:
    """Whether a candidate is complete enough, in whole numbers."""
    rows = found.on_time + found.late + found.too_late
    return (rows - found.too_late) * target.denominator >= target.numerator * rows


def rounded_up(ms: int) -> int:
    """The least readable duration that is not shorter; whole years beyond the last of them."""
    if ms <= LADDER[-1]:
        return LADDER[bisect_left(LADDER, ms)]
    return -(-ms // LADDER[-1]) * LADDER[-1]


def steps(least_ms: int, most_ms: int, grid_ms: int) -> list[int]:
    """The readable durations worth a look: none, and those from about `least_ms` to at least `most_ms`, on a grid."""
    first, last = rounded_up(least_ms), rounded_up(most_ms)
    between = {step for step in LADDER if first <= step <= last and step % grid_ms == 0}
    return sorted({0, *between, -(-last // grid_ms) * grid_ms})


def pairs(steps: Sequence[int]) -> list[tuple[int, int]]:
    """Every bound and lateness whose bound and sum are steps."""
    return [(bound, end - bound) for bound in steps for end in steps if end >= bound]


def shown(rungs: Iterable[int], own: tuple[int, int], best: Candidate | None) -> list[tuple[int, int]]:
    """Settings to show: the pipeline's own, and each of `rungs` as a bound, alone and with the recommended sum."""
    found = {own}
    for bound in rungs:
        found.add((bound, 0))
        if best is not None and bound < best.final_after:
            found.add((bound, best.final_after - bound))
    if best is not None:
        found.add((best.out_of_orderness, best.allowed_lateness))
    return sorted(found)


def parse_target(text: str) -> Fraction:
    """Read a completeness such as `99.99%` or `0.9999`. Raises InputError."""
    percent = text.strip().endswith("%")
    try:
        share = Fraction(text.strip().removesuffix("%").strip()) / (100 if percent else 1)
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if not 0 <= share <= 1:
        raise InputError(f"--target: found '{text}', expected a share of the rows such as 99.99% or 0.9999")
    return share


def parse_durations(option: str, text: str) -> list[int]:
    """Read durations with commas between them. Raises InputError."""
    try:
        return sorted({parse_duration(part) for part in text.split(",")}) if text else []
    except DurationError as problem:
        raise InputError(f"{option}: found '{text}': {problem}") from None


def in_words(best: Candidate, target: Fraction) -> str:
    """A recommendation as sentences, with what it costs."""
    rows = best.on_time + best.late + best.too_late
    bound, lateness = format_duration(best.out_of_orderness), format_duration(best.allowed_lateness)
    told = [
        f"For {percent(float(target))} of the rows: out_of_orderness {bound}, allowed_lateness {lateness}.",
        f"Of {rows:,} rows {best.on_time:,} ({percent(best.on_time / rows if rows else 1)}) are on time",
    ]
    told[-1] += f", {best.late:,} revise results that have appeared" if best.late else ""
    if best.too_late:
        are = "is" if best.too_late == 1 else "are"
        missing = f"missing from {best.windows_missing_rows:,} of {best.windows:,} windows"
        told[-1] += f", {best.too_late:,} {are} too late and {missing}."
    else:
        told[-1] += ", none is too late."
    if best.mean_wait is not None and best.max_wait is not None:
        mean, most = rough(best.mean_wait), rough(best.max_wait)
        told.append(f"A result appears {mean} after its window's end on average, {most} at most")
        if best.allowed_lateness:
            told[-1] += f"; rows are taken until the watermark is {lateness} further"
        told[-1] += "."
    else:
        told.append("The watermark passes no window's end before the input ends.")
    return " ".join(told)


def percent(share: float) -> str:
    """A share as people read it: never 100 % where something is missing."""
    text = f"{share * 100:.4f}".rstrip("0").rstrip(".")
    return "99.9999%" if text == "100" and share < 1 else f"{text}%"


def rough(ms: float) -> str:
    """A measured duration in its two greatest units, such as `4h 31m`."""
    sign, left = "-" if ms < 0 else "", abs(round(ms))
    names = (("d", _DAY), ("h", _HOUR), ("m", _MINUTE), ("s", _SECOND), ("ms", 1))
    at = next((i for i, (_, unit) in enumerate(names) if left >= unit), None)
    if at is None:
        return "0s"
    if at == len(names) - 1:
        return f"{sign}{left}ms"
    (name, unit), (finer, part) = names[at], names[at + 1]
    count, rest = divmod(left, unit)
    more = rest // part
    return f"{sign}{count}{name}" + (f" {more}{finer}" if more and finer != "ms" else "")
