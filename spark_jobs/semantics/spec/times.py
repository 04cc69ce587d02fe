"""A time field declares where a row's time stands and how its values are read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

#: A day, in milliseconds.
DAY_MS = 86_400_000
#: Longer than any two times of a table are apart; a sum of a table's time and this duration fits into 64 bits.
FOREVER_MS = 2**61


class TimeUnit(StrEnum):
    """The unit of a numeric time column."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"


@dataclass(frozen=True)
class TimeField:
    """A time of a row: a column or SQL expression, and how to read its values.

    `unit` is set for numeric times, `format` (a Spark datetime pattern) for text. With neither, the expression is a
    TIMESTAMP, TIMESTAMP_NTZ or DATE. `timezone` is the zone of local times: of text without an offset, of TIMESTAMP_NTZ
    and of DATE.
    """

    expression: str
    unit: TimeUnit | None = None
    format: str | None = None
    timezone: str = "UTC"
