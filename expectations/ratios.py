"""Ratios: limits for the share of a run's rows that are late, too late or invalid.

    late ratio       late rows / rows that belong to a window or could join
    too late ratio   rows too late / rows that belong to a window or could join
    invalid ratio    invalid rows / rows read

A limit is a fixed share, or learned from the ratios r of the newest 30 earlier runs, of at least 7:

    usual = median(r) + 4 * 1.4826 * median(|r - median(r)|)

The factor 1.4826 turns the median distance of normally distributed values into their standard deviation. A run of n
rows may exceed the usual number of rows by chance, so its limit is:

    n * usual + 3 * sqrt(n * usual) + 3
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from pyspark.sql import Column
from pyspark.sql import functions as F

from expectations import invalid_reasons
from expectations.invariant import Invariant
from expectations.staged_tables import StagedTables
from spark_jobs.pipeline.model import Learned, Quality

#: A share is learned from at most `NEWEST` and at least `LEAST` earlier runs.
NEWEST, LEAST = 30, 7
_DEVIATIONS = 4 * 1.4826


@dataclass(frozen=True)
class Ratio:
    """A ratio over the one row of a suite.

    - `numerator`, `denominator`: SQL for the counted rows and for all rows that they are a share of;
    - `base`, `counted`: descriptions of these rows, "the rows read" and "have no usable time";
    - `remedy`: a sentence for the description of the check, or empty;
    - `examples`: as `Invariant.examples`.
    """

    name: str
    numerator: str
    denominator: str
    base: str
    counted: str
    remedy: str = ""
    examples: Callable[[StagedTables], Sequence[str]] | None = None


def late_ratios(late: str, too_late: str, denominator: str, belong: str, remedy: str) -> tuple[Ratio, Ratio]:
    """Return the late ratio and the too late ratio of the rows that `belong` describes."""
    base = f"the rows that {belong}"
    return (
        Ratio("late", late, denominator, base, "are late", "A larger out_of_orderness waits for more of them."),
        Ratio("too_late", too_late, denominator, base, "are too late for it", remedy),
    )


def invalid_ratio(invalid: str, denominator: str) -> Ratio:
    """Return the ratio of the rows without a usable time."""
    remedy = "Correct the time with the most frequent reason in the pipeline file."
    return Ratio("invalid", invalid, denominator, "the rows read", "have no usable time", remedy, invalid_reasons.lines)


def usual(earlier: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """Return the usual share of each ratio by its name, from the counts of earlier runs, oldest first.

    A ratio with fewer than `LEAST` runs is left out.
    """
    history: dict[str, list[float]] = {}
    for counts in earlier:
        for name, ratio in _ratios(counts):
            history.setdefault(name, []).append(ratio)
    return {name: _learned(ratios[-NEWEST:]) for name, ratios in history.items() if len(ratios) >= LEAST}


def columns(earlier: Sequence[Mapping[str, int]]) -> dict[str, Column]:
    """Return the columns `usual_<ratio>` (DOUBLE, null if not learned), which a suite adds to its one row."""
    learned = usual(earlier)
    return {f"usual_{name}": F.lit(learned.get(name)).cast("double") for name in ("late", "too_late", "invalid")}


def invariants(quality: Quality, ratios: Sequence[Ratio]) -> tuple[Invariant, ...]:
    """Return the invariants of the ratios that have a limit."""
    limits = {
        "late": quality.max_late_ratio,
        "too_late": quality.max_too_late_ratio,
        "invalid": quality.max_invalid_ratio,
    }
    limited = ((ratio, limits[ratio.name]) for ratio in ratios)
    return tuple(_invariant(ratio, limit) for ratio, limit in limited if limit is not None)


def _ratios(counts: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    late, too_late = counts.get("late", 0), counts.get("too_late", 0) + counts.get("too_late_behind", 0)
    if denominator := counts.get("on_time", 0) + late + too_late:
        yield "late", late / denominator
        yield "too_late", too_late / denominator
    if read := counts.get("rows_read", 0):
        yield "invalid", counts.get("invalid", 0) / read


def _learned(ratios: Sequence[float]) -> float:
    middle = median(ratios)
    return middle + _DEVIATIONS * median(abs(ratio - middle) for ratio in ratios)


def _invariant(ratio: Ratio, limit: float | Learned) -> Invariant:
    setting = f"quality.max_{ratio.name}_ratio"
    name = f"not_too_many_rows_are_{ratio.name}"
    share = f"round(coalesce(try_divide(100D * {ratio.numerator}, {ratio.denominator}), 0), 3), ' %)'"
    observed = f"{ratio.numerator}, ' of ', {ratio.denominator}, ' rows (', {share}"
    remedy = f" {ratio.remedy}" if ratio.remedy else ""
    if isinstance(limit, Learned):
        usual_share = f"usual_{ratio.name}"
        expected = f"{ratio.denominator} * {usual_share}"
        return Invariant(
            name,
            f"The share of {ratio.base} that {ratio.counted.removesuffix(' for it')} is not larger than usual in "
            f"earlier runs ({setting}, learned from {LEAST} to {NEWEST} runs).{remedy}",
            f"{usual_share} IS NULL OR {ratio.numerator} <= {expected} + 3 * sqrt({expected}) + 3",
            observed=(
                f"concat({observed}, coalesce(concat('; usual are up to ', round(100 * {usual_share}, 3), ' %'), "
                f"'; nothing is usual before {LEAST} earlier runs'))"
            ),
            blocks=False,
            examples=ratio.examples,
        )
    return Invariant(
        name,
        f"At most {100 * limit:g} % of {ratio.base} {ratio.counted} ({setting}).{remedy}",
        f"{ratio.numerator} <= CAST({limit!r} AS DOUBLE) * {ratio.denominator}",
        observed=f"concat({observed})",
        examples=ratio.examples,
    )
