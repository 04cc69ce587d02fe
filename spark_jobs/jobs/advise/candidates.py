"""Candidates: the settings that advice weighs. The recommended candidate reaches a target at the least delay.

Law: the sum bound + lateness decides which rows are too late, the bound which rows are late. So the recommended sum is
the least weighed sum that is complete enough,

    completeness = 1 - too late / rows in windows >= target

Of the settings with that sum, the recommended one has the least bound with 99 % of the rows on time. Then results
appear early, and few are revised. If no bound has 99 % on time, the greatest bound is recommended. All times are
milliseconds, in readable steps.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from spark_jobs.error_codes import ErrorCode
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

#: The share of rows on time to prefer a smaller bound.
MOSTLY = 0.99


@dataclass(frozen=True)
class Delay:
    """The effect of one delay on the history.

    `behind` rows of `rows` exceed the delay, and `windows_missing` of `windows` lack a row if no row is accepted after
    it. The watermark passes `fired` windows before the input ends. `mean_wait_ms` and `max_wait_ms` are the times from
    their ends to their firings (None: no window).
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
    """One bound and lateness, and the counts of a replay with them."""

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
    """Return the candidate of a bound and a lateness; `delays` has the bound and the sum of both."""
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
    """Return the settings that reach `target` at the least delay (see the law); None if no settings do."""
    judged = [candidate(bound, lateness, delays) for bound, lateness in settings]
    complete = [c for c in judged if reaches(c, target)]
    if not complete:
        return None
    least = min(c.final_after for c in complete)
    by_bound = sorted((c for c in complete if c.final_after == least), key=lambda c: c.out_of_orderness)
    rows = by_bound[0].on_time + by_bound[0].late + by_bound[0].too_late
    return next((c for c in by_bound if c.on_time >= MOSTLY * rows), by_bound[-1])


def reaches(weighed: Candidate, target: Fraction) -> bool:
    """Return whether a candidate is complete enough, in whole numbers."""
    rows = weighed.on_time + weighed.late + weighed.too_late
    return (rows - weighed.too_late) * target.denominator >= target.numerator * rows


def rounded_up(ms: int) -> int:
    """Return the least readable duration that is not shorter than `ms`; whole years beyond the longest step."""
    if ms <= LADDER[-1]:
        return LADDER[bisect_left(LADDER, ms)]
    return -(-ms // LADDER[-1]) * LADDER[-1]


def steps(least_ms: int, most_ms: int, grid_ms: int) -> list[int]:
    """Return the readable durations to weigh: 0, and from about `least_ms` to at least `most_ms`, on a grid."""
    first, last = rounded_up(least_ms), rounded_up(most_ms)
    between = {step for step in LADDER if first <= step <= last and step % grid_ms == 0}
    return sorted({0, *between, -(-last // grid_ms) * grid_ms})


def pairs(steps: Sequence[int]) -> list[tuple[int, int]]:
    """Return every pair of bound and lateness whose bound and sum are steps."""
    return [(bound, end - bound) for bound in steps for end in steps if end >= bound]


def settings_to_show(rungs: Iterable[int], own: tuple[int, int], best: Candidate | None) -> list[tuple[int, int]]:
    """Return the settings to show: the pipeline's, and each of `rungs` as a bound, alone and to the recommended sum."""
    weighed = {own}
    for bound in rungs:
        weighed.add((bound, 0))
        if best is not None and bound < best.final_after:
            weighed.add((bound, best.final_after - bound))
    if best is not None:
        weighed.add((best.out_of_orderness, best.allowed_lateness))
    return sorted(weighed)


def parse_target(text: str) -> Fraction:
    """Read a completeness such as `99.99%` or `0.9999`. Raises InputError."""
    percent = text.strip().endswith("%")
    try:
        share = Fraction(text.strip().removesuffix("%").strip()) / (100 if percent else 1)
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if not 0 <= share <= 1:
        raise InputError(
            f"--target '{text}': not a share of the rows. Give a share such as 99.99% or 0.9999",
            code=ErrorCode.OPTION_WRONG,
        )
    return share


def parse_durations(option: str, text: str) -> list[int]:
    """Read durations with commas between them. Raises InputError."""
    try:
        return sorted({parse_duration(part) for part in text.split(",")}) if text else []
    except DurationError as problem:
        raise InputError(f"{option} '{text}': {problem}", code=ErrorCode.OPTION_WRONG) from None


def in_words(best: Candidate, target: Fraction) -> str:
    """Return a recommendation as sentences, with its cost."""
    rows = best.on_time + best.late + best.too_late
    bound, lateness = format_duration(best.out_of_orderness), format_duration(best.allowed_lateness)
    sentences = [
        f"For {percent(float(target))} of the rows: out_of_orderness {bound}, allowed_lateness {lateness}.",
        f"Of {rows:,} rows {best.on_time:,} ({percent(best.on_time / rows if rows else 1)}) are on time",
    ]
    sentences[-1] += f", {best.late:,} revise results that have appeared" if best.late else ""
    if best.too_late:
        are = "is" if best.too_late == 1 else "are"
        missing = f"missing from {best.windows_missing_rows:,} of {best.windows:,} windows"
        sentences[-1] += f", {best.too_late:,} {are} too late and {missing}."
    else:
        sentences[-1] += ", none is too late."
    if best.mean_wait is not None and best.max_wait is not None:
        mean, most = rough(best.mean_wait), rough(best.max_wait)
        sentences.append(f"A result appears {mean} after its window's end on average, {most} at most")
        if best.allowed_lateness:
            sentences[-1] += f"; rows are taken until the watermark is {lateness} further"
        sentences[-1] += "."
    else:
        sentences.append("The watermark passes no window's end before the input ends.")
    return " ".join(sentences)


def percent(share: float) -> str:
    """Return a share as text: never 100 % of less than all."""
    text = f"{share * 100:.4f}".rstrip("0").rstrip(".")
    return "99.9999%" if text == "100" and share < 1 else f"{text}%"


def rough(ms: float) -> str:
    """Return a measured duration in its two greatest units, such as `4h 31m`."""
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
