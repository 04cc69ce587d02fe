"""A join declares which rows of two inputs are a pair."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Join:
    """Which columns of two inputs must be equal, and how near their rows must be (rules 90-97).

    `names` and `key` are by input; the columns of `key` are compared one by one. By interval: the second row's time is
    from `lower_ms` to `upper_ms` behind the first's. Without both bounds the rows share a window. `second_when` splits
    one source: rows for which the SQL condition is true are the second input; None: two sources.
    """

    names: tuple[str, str] = ("left", "right")
    key: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    lower_ms: int | None = None
    upper_ms: int | None = None
    lower_inclusive: bool = True
    upper_inclusive: bool = True
    second_when: str | None = None

    @property
    def by_interval(self) -> bool:
        """True if rows join by the distance of their times, False if they join by window."""
        return self.lower_ms is not None
