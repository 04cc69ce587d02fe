"""A join declares which rows of two inputs are a pair."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class AsOf(StrEnum):
    """What an as-of join does with a first row that has no version: leave it out, or return it with null."""

    INNER = "inner"
    LEFT_OUTER = "left_outer"


@dataclass(frozen=True)
class Join:
    """Which columns of two inputs must be equal, and how near their rows must be (rules 90-97, 100-104).

    `names` and `key` are by input; the columns of `key` are compared one by one. By interval: the second row's time is
    from `lower_ms` to `upper_ms` behind the first's. As of: the second row is the version at the first row's time.
    Without bounds and `as_of` the rows share a window. `second_when` splits one source: rows for which the SQL
    condition is true are the second input; None: two sources.
    """

    names: tuple[str, str] = ("left", "right")
    key: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    lower_ms: int | None = None
    upper_ms: int | None = None
    lower_inclusive: bool = True
    upper_inclusive: bool = True
    second_when: str | None = None
    as_of: AsOf | None = None

    @property
    def by_interval(self) -> bool:
        """True if rows join by the distance of their times."""
        return self.lower_ms is not None

    @property
    def is_as_of(self) -> bool:
        """True if a first row joins the version of its time."""
        return self.as_of is not None

    @property
    def by_window(self) -> bool:
        """True if rows join by the window that they share."""
        return not (self.by_interval or self.is_as_of)

    @property
    def keeps_unmatched(self) -> bool:
        """True if an as-of join returns first rows without a version."""
        return self.as_of is AsOf.LEFT_OUTER
