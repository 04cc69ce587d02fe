"""Measured bits: what the census finds out about the values of each sum, and the layout that follows (`exact_sum`).

For a value x, over the valid and kept rows of a census group:

    magnitude   sum of |x|, without values that are not finite
    fraction    sum of the distances of x from the nearest multiple of 2^-10; 0 if all values are such multiples, NaN
                if a value is not finite
    inverse     sum of 1 / |x|: at least 1 / |x| of the least value that is not 0; infinite values add 0, NaN nothing

A call with FILTER has a value only in rows that fulfil the condition.

The nearest multiple is `(x + m) - m` as in `exact_sum`. A value has at most 53 bits, so its lowest bit is at most 52
below its highest. Hence 2^-52 times the least magnitude is a bound for all lowest bits. A `float` has 24 bits.

Sums are measured because Comet computes them natively, unlike the least and greatest of doubles. A measure may be off
by rounding; the layouts leave a margin for that (`exact_sum.MARGIN`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.floats.array_sum import INFINITY
from spark_jobs.replay.floats.exact_sum import MARGIN, Grids
from spark_jobs.replay.rows.prepare import fills_windows

_FRACTION_BIT = -10
_FRACTION = f"{math.ldexp(1.5, 52 + _FRACTION_BIT)!r}D"
# Below this sum of magnitudes, each value is small enough for the measured fraction.
_FRACTION_HOLDS = 2.0**41
_MOST_BITS, _BITS_OF_FLOAT = 53, 24
_LEAST_BIT = -1074


@dataclass(frozen=True)
class Measured:
    """A value that is measured: its number in the census, its SQL as a DOUBLE in brackets, and whether it is a FLOAT.

    `is_narrow`: the column has the type FLOAT, whose values have 24 bits.
    """

    number: int
    value: str
    is_narrow: bool

    @property
    def names(self) -> tuple[str, str, str]:
        """The columns of the census: magnitude, fraction, inverse."""
        magnitude, fraction, inverse = (f"value_{self.number}_{of}" for of in ("magnitude", "fraction", "inverse"))
        return magnitude, fraction, inverse

    @property
    def columns(self) -> dict[str, Column]:
        """Aggregates of prepared rows: the measures by name; null without a value."""
        value, constant = self.value, _FRACTION
        texts = (
            f"if(abs({value}) >= {INFINITY}, null, abs({value}))",
            f"abs({value} - (({value} + {constant}) - {constant}))",
            f"if(isnan({value}), null, 1.0D / nullif(abs({value}), 0.0D))",
        )
        return {
            name: F.sum(F.when(fills_windows(), F.expr(text))) for name, text in zip(self.names, texts, strict=True)
        }

    def grids(self, measures: Mapping[str, Any], rows: int, overlapping: int) -> Grids:
        """Return the layout for the greatest `measures` of a window, of which `overlapping` may share `rows` rows."""
        magnitude, fraction, inverse = (measures[name] for name in self.names)
        if fraction is None:
            # No row has a value.
            return Grids.of(0.0, 0, rows, are_finite=True)
        total = overlapping * (magnitude or 0.0)
        lowest = 0 if inverse is None else self._lowest_bit(inverse)
        if fraction == 0 and total <= _FRACTION_HOLDS:
            lowest = max(lowest, _FRACTION_BIT)
        return Grids.of(total, lowest, rows, are_finite=not math.isnan(fraction))

    def _lowest_bit(self, inverse: float) -> int:
        """Return an exponent that no value has a bit below."""
        if inverse == 0:
            # No value is finite, except 0.
            return 0
        if not 0 < inverse < math.inf:
            return _LEAST_BIT
        highest_of_least = math.frexp(1 / (inverse * MARGIN))[1] - 1
        return max(_LEAST_BIT, highest_of_least + 1 - (_BITS_OF_FLOAT if self.is_narrow else _MOST_BITS))


def columns(values: Sequence[Measured]) -> dict[str, Column]:
    """Return the aggregates that the census computes besides its own, by name."""
    return {name: column for value in values for name, column in value.columns.items()}


def grids(groups: DataFrame, values: Sequence[Measured], pipeline: Pipeline) -> Mapping[str, Grids]:
    """Return the layout of each value by its SQL; `groups` is the census. One small job."""
    counted = [value for value in values if set(value.names) <= set(groups.columns)]
    if not counted:
        return {}
    spec = pipeline.windows
    filling = groups.where(F.col("reason").isNull() & F.col("kept"))
    merges = (F.sum, F.max, F.max)
    measures = [merge(name).alias(name) for v in counted for merge, name in zip(merges, v.names, strict=True)]
    # The rows of a session may come from anywhere; those of a sliding window lie in as many newest windows as overlap.
    together = [] if spec.is_session else ["window_ms"]
    overlapping = -(-spec.longest_ms // spec.period_ms) + 1 if spec.is_sliding else 1
    of_windows = filling.groupBy(*together).agg(F.sum("row_count").alias("rows"), *measures)
    greatest = of_windows.agg(F.max("rows").alias("rows"), *(F.max(n).alias(n) for v in counted for n in v.names))
    row = greatest.collect()[0].asDict()
    rows = overlapping * (row["rows"] or 0)
    return {value.value: value.grids(row, rows, overlapping) for value in counted}
