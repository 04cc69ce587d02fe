"""Ratios: how many rows of a run may be late, too late or invalid, by a share that is set or one that is learned.

    late ratio       late rows / rows that belong to a window or could join
    too late ratio   rows too late / the same
    invalid ratio    invalid rows / rows read

A share is learned from r, the same ratio of up to 30 earlier runs, of 7 at least:

    usual = median(r) + 4 * 1.4826 * median(|r - median(r)|)

where 1.4826 makes the median of distances a standard deviation, of what is normally distributed. Of n rows as many may
be so as are by chance where the share is the usual one:

    n * usual + 3 * sqrt(n * usual) + 3
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from pyspark.sql import Column
from pyspark.sql import functions as F

from expectations.invariant import Invariant
from spark_jobs.pipeline.model import Learned, Quality

#: Earlier runs from which a share is learned: the newest of them, and how many it takes.
NEWEST, LEAST = 30, 7
_DEVIATIONS = 4 * 1.4826


@dataclass(frozen=True)
class Counted:
    """A ratio of a suite's one row: SQL for the rows that are so, and for those that they are of; what both are called.

    `remedy` is a sentence, or empty.
    """

    name: str
    rows: str
    of: str
    base: str
    told: str
    remedy: str = ""


def counted(late: str, too_late: str, of: str, belong: str, remedy: str) -> tuple[Counted, Counted]:
    """The ratios of the rows that belong to something."""
    base = f"the rows that {belong}"
    return (
        Counted("late", late, of, base, "are late", "A larger out_of_orderness waits for more of them."),
        Counted("too_late", too_late, of, base, "are too late for it", remedy),
    )


def invalid(rows: str, of: str) -> Counted:
    """The ratio of the rows without a usable time."""
    return Counted("invalid", rows, of, "the rows read", "have no usable time")


def usual(earlier: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """The usual share of each ratio, by its name, from the counts of earlier runs, oldest first.

    A ratio of which fewer than `LEAST` runs tell is left out.
    """
    told: dict[str, list[float]] = {}
    for counts in earlier:
        for name, ratio in _ratios(counts):
            told.setdefault(name, []).append(ratio)
    return {name: _learned(found[-NEWEST:]) for name, found in told.items() if len(found) >= LEAST}


def columns(earlier: Sequence[Mapping[str, int]]) -> dict[str, Column]:
    """The columns that the invariants of learned shares look at, which a suite adds to its one row."""
    learned = usual(earlier)
    return {f"usual_{name}": F.lit(learned.get(name)).cast("double") for name in ("late", "too_late", "invalid")}


def invariants(quality: Quality, ratios: Sequence[Counted]) -> tuple[Invariant, ...]:
    """The invariants of the ratios of which something is asked."""
    limits = {
        "late": quality.max_late_ratio,
        "too_late": quality.max_too_late_ratio,
        "invalid": quality.max_invalid_ratio,
    }
    asked = ((ratio, limits[ratio.name]) for ratio in ratios)
    return tuple(_invariant(ratio, limit) for ratio, limit in asked if limit is not None)


def _ratios(counts: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    late, too_late = counts.get("late", 0), counts.get("too_late", 0) + counts.get("too_late_behind", 0)
    if belong := counts.get("on_time", 0) + late + too_late:
        yield "late", late / belong
        yield "too_late", too_late / belong
    if read := counts.get("rows_read", 0):
        yield "invalid", counts.get("invalid", 0) / read


def _learned(ratios: Sequence[float]) -> float:
    middle = median(ratios)
    return middle + _DEVIATIONS * median(abs(ratio - middle) for ratio in ratios)


def _invariant(ratio: Counted, limit: float | Learned) -> Invariant:
    setting = f"quality.max_{ratio.name}_ratio"
    name = f"not_too_many_rows_are_{ratio.name}"
    share = f"round(coalesce(try_divide(100D * {ratio.rows}, {ratio.of}), 0), 3), ' %)'"
    found = f"{ratio.rows}, ' of ', {ratio.of}, ' rows (', {share}"
    remedy = f" {ratio.remedy}" if ratio.remedy else ""
    if isinstance(limit, Learned):
        known = f"usual_{ratio.name}"
        expected = f"{ratio.of} * {known}"
        return Invariant(
            name,
            f"Of {ratio.base} no larger share {ratio.told.removesuffix(' for it')} than is usual in earlier runs "
            f"({setting}, learned from {LEAST} to {NEWEST} runs).{remedy}",
            f"{known} IS NULL OR {ratio.rows} <= {expected} + 3 * sqrt({expected}) + 3",
            observed=(
                f"concat({found}, coalesce(concat('; usual are up to ', round(100 * {known}, 3), ' %'), "
                f"'; nothing is usual before {LEAST} earlier runs'))"
            ),
            blocks=False,
        )
    return Invariant(
        name,
        f"Of {ratio.base} at most {100 * limit:g} % {ratio.told} ({setting}).{remedy}",
        f"{ratio.rows} <= CAST({limit!r} AS DOUBLE) * {ratio.of}",
        observed=f"concat({found})",
    )
