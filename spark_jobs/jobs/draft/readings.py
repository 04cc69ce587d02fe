"""A reading is one way to read a leaf as a time: a time field of the pipeline file.

The values of a sample decide on unit and pattern. The profile then checks each reading on all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from pyspark.sql import types as T

from spark_jobs.jobs.draft.leaves import Leaf
from spark_jobs.jobs.draft.text_forms import text_forms, unreadable
from spark_jobs.pipeline.model import TimeField, TimeUnit

#: 1990 to 2100: the times that a number may count.
EARLIEST_S, LATEST_S = 631_152_000, 4_102_444_800
_PER_SECOND = {
    TimeUnit.SECONDS: 1,
    TimeUnit.MILLISECONDS: 1_000,
    TimeUnit.MICROSECONDS: 1_000_000,
    TimeUnit.NANOSECONDS: 1_000_000_000,
}
_MOSTLY = 0.8
_DIGITS = "numbers that would be times"


@dataclass(frozen=True)
class Reading:
    """A leaf as a time. `is_local`: its clock has no zone, and is read in the zone of `field`."""

    leaf: Leaf
    field: TimeField
    is_local: bool = False

    @property
    def column(self) -> str:
        """The leaf in SQL."""
        return self.leaf.expression


def readings(leaf: Leaf, values: Sequence[Any], *, requested: bool = False) -> tuple[list[Reading], str | None]:
    """Return the readings of a leaf, or the reason why a leaf that looks like a time has none.

    `values` is a sample. A leaf that the user has `requested` needs no name of a time.
    """
    if leaf.is_time:
        return [Reading(leaf, TimeField(leaf.expression), isinstance(leaf.kind, T.TimestampNTZType))], None
    filled = [value for value in values if value is not None]
    if leaf.is_text:
        return _of_text(leaf, [str(value) for value in filled], requested=requested)
    if leaf.is_number:
        return _of_numbers(leaf, filled, leaf.expression, requested=requested)
    return [], None


def epoch_unit(values: Sequence[Any]) -> TimeUnit | None:
    """Return the unit in which most of the numbers are times from 1990 to 2100; None without one."""
    numbers = [number for value in values if (number := _number(value)) is not None and number != 0]
    for unit, scale in _PER_SECOND.items():
        inside = sum(EARLIEST_S * scale <= number <= LATEST_S * scale for number in numbers)
        if numbers and inside >= _MOSTLY * len(numbers):
            return unit
    return None


def _of_text(leaf: Leaf, texts: Sequence[str], *, requested: bool) -> tuple[list[Reading], str | None]:
    present = [text for text in texts if text.strip()]
    forms = text_forms(present)
    if forms:
        return [
            Reading(leaf, TimeField(leaf.expression, format=form.pattern), is_local=not form.has_zone) for form in forms
        ], None
    if epoch_unit(present) is None:
        return [], unreadable(present)
    is_whole = all(number == number.to_integral_value() for text in present if (number := _number(text)) is not None)
    kind = "bigint" if is_whole else "decimal(28,9)"
    return _of_numbers(leaf, present, f"try_cast({leaf.expression} AS {kind})", requested=requested)


def _of_numbers(
    leaf: Leaf, values: Sequence[Any], expression: str, *, requested: bool
) -> tuple[list[Reading], str | None]:
    is_likely = requested or leaf.is_called_a_clock
    unit = epoch_unit(values)
    if unit is not None:
        if is_likely:
            return [Reading(leaf, TimeField(expression, unit))], None
        return [], f"{_DIGITS} in {unit.value}, but it has no name of a time"
    forms = text_forms([str(value) for value in values]) if isinstance(leaf.kind, T.IntegralType) else []
    if not forms:
        return [], None
    if not is_likely:
        return [], f"{_DIGITS} as {forms[0].pattern}, but it has no name of a time"
    return [Reading(leaf, TimeField(f"CAST({expression} AS STRING)", format=forms[0].pattern), is_local=True)], None


def _number(value: Any) -> Decimal | None:
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
