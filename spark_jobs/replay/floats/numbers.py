"""Sums and averages of numbers as aggregates in SQL, by the type of the argument.

    FLOAT, DOUBLE, STRING     the exact sum (`exact_sum`), or the sum in arrival order; the average is sum / count
    BIGINT and smaller        the sum stays as it is; the average is the sum, rounded once to a double, / count
    all other types           stay as they are: sums of decimals and intervals do not round

A BIGINT is summed for its average in two parts, the upper and the lower 32 bits. Neither sum overflows for up to 2^31
rows of a pane. Of different values, the sum is one of decimals. `try_sum` of a BIGINT is put together from the same
parts: null only if the real sum is no BIGINT. Spark's own sum may overflow on the way, in one order and not in another.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import types as T

from spark_jobs.replay.floats.array_sum import let, of_array
from spark_jobs.replay.floats.calls import Call
from spark_jobs.replay.floats.exact_sum import ExactSum, Grids, exact_sum

#: The aggregates of a number, with one argument.
SUMS = frozenset(("sum", "try_sum"))
AVERAGES = frozenset(("avg", "mean", "try_avg"))

_LOWER = 4_294_967_295
_QUOTIENT = "(case when {count} > 0 then {total} / cast({count} as double) end)"
_WHOLE_TOTAL = "try_cast(cast({0} as decimal(38, 0)) * 4294967296 + {1} as bigint)"
# The sum of upper and lower parts, rounded once: what the upper part loses as a double is added to the lower part.
_UPPER = "({0} + shiftright({1}, 32))"
_LOST = f"({_UPPER} - cast(cast({_UPPER} as double) as bigint))"
_LONG_TOTAL = (
    f"(cast({_UPPER} as double) * 4294967296.0D + cast(shiftleft({_LOST}, 32) + ({{1}} & {_LOWER}L) as double))"
)


@dataclass(frozen=True)
class Number:
    """A call's argument: its SQL in brackets, its type, and the grids of its exact sum; None adds in arrival order."""

    text: str
    kind: T.DataType
    grids: Grids | None

    @property
    def is_floating(self) -> bool:
        """Whether sums of it are sums of doubles."""
        return is_floating(self.kind)

    @property
    def double(self) -> str:
        """The argument as a DOUBLE."""
        return as_double(self.text, self.kind)


def is_floating(kind: T.DataType) -> bool:
    """Return whether a sum of this type is a sum of doubles."""
    return isinstance(kind, (T.FloatType, T.DoubleType, T.StringType))


def is_number(kind: T.DataType) -> bool:
    """Return whether Spark adds values of this type as numbers."""
    return isinstance(kind, T.NumericType) or is_floating(kind)


def as_double(text: str, kind: T.DataType) -> str:
    """Return SQL in brackets for a value as a DOUBLE."""
    return f"({text})" if isinstance(kind, T.DoubleType) else f"(cast(({text}) as double))"


def summed(call: Call, number: Number, listed: str) -> ExactSum | None:
    """Return the sum of a call; None if Spark's own has the same bits. `listed` are the values in arrival order."""
    if not number.is_floating:
        return _tried(call, number) if call.name == "try_sum" and isinstance(number.kind, T.LongType) else None
    if call.is_distinct:
        return _of_list(of_array("v"), f"collect_set({number.double} + 0.0D)")
    if number.grids is None:
        return _of_list(in_order("v"), listed)
    return exact_sum(number.double, number.grids)


def _tried(call: Call, number: Number) -> ExactSum:
    if call.is_distinct:
        return ExactSum((("", f"sum({_different(number)})"),), "try_cast({0} as bigint)")
    return ExactSum(_halves(number), _WHOLE_TOTAL)


def averaged(call: Call, number: Number, listed: str) -> ExactSum | None:
    """Return the average of a call; None if Spark's own has the same bits. `listed` as for `summed`."""
    if number.is_floating:
        return _average_of_doubles(call, number, listed)
    return _average_of_longs(call, number) if isinstance(number.kind, T.IntegralType) else None


def _average_of_doubles(call: Call, number: Number, listed: str) -> ExactSum:
    if call.is_distinct:
        return _of_list(f"{of_array('v')} / cast(size(v) as double)", f"collect_set({number.double} + 0.0D)")
    if number.grids is None:
        return _of_list(f"{in_order('v')} / cast(size(v) as double)", listed)
    total = exact_sum(number.double, number.grids)
    return _divided(total.parts, total.total, number)


def _average_of_longs(call: Call, number: Number) -> ExactSum:
    if call.is_distinct:
        quotient = _QUOTIENT.format(count="{1}", total="cast({0} as double)")
        return ExactSum((("", f"sum({_different(number)})"), ("", f"count({_different(number)})")), quotient)
    if isinstance(number.kind, T.LongType):
        return _divided(_halves(number), _LONG_TOTAL, number)
    return _divided((("sum", f"cast({number.text} as bigint)"),), "cast({0} as double)", number)


def in_order(array: str) -> str:
    """Return the sum of an array of doubles, one after the other from the first, as SQL."""
    return f"aggregate({array}, cast(null as double), (a, x) -> if(a is null, x, a + x))"


def _halves(number: Number) -> tuple[tuple[str, str], ...]:
    """Return the sums of the upper and of the lower 32 bits of a BIGINT."""
    return ("sum", f"shiftright({number.text}, 32)"), ("sum", f"({number.text} & {_LOWER}L)")


def _different(number: Number) -> str:
    """Return the different values of a whole number as decimals, whose sum does not overflow."""
    return f"distinct cast({number.text} as decimal(19, 0))"


def _divided(parts: tuple[tuple[str, str], ...], total: str, number: Number) -> ExactSum:
    count = f"{{{len(parts)}}}"
    # Without ANSI, a text that is no number is no value.
    counted = number.double if isinstance(number.kind, T.StringType) else number.text
    return ExactSum((*parts, ("count", counted)), _QUOTIENT.format(count=count, total=f"({total})"))


def _of_list(body: str, values: str) -> ExactSum:
    """Return a value of an array `v` of values; null for an empty array. Its only part cannot be merged."""
    return ExactSum((("", values),), let("{0}", "v", f"if(size(v) = 0, null, {body})"))
