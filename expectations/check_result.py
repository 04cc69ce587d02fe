"""The result of one check: the expectation, whether it succeeded, and the observed value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Check:
    """The result of one check of a run.

    - `unexpected_count`: the number of rows or values that violate the expectation; None if it does not count any;
    - `details`: some of them, one a line, without any source column except the key; empty for a success;
    - `blocks`: false if a failure only warns;
    - `table`: the staged table that the check is about; None for the source.
    """

    suite: str
    expectation: str
    description: str
    success: bool
    observed: str
    unexpected_count: int | None
    details: str
    blocks: bool = True
    table: str | None = None


class Answer(Protocol):
    """The stored part of a check: a `Check`, or a row of the table `quality`."""

    @property
    def suite(self) -> str:
        """The name of the suite."""

    @property
    def expectation(self) -> str:
        """The name of the expectation."""

    @property
    def success(self) -> bool:
        """True if no row or value violates the expectation."""

    @property
    def observed(self) -> str:
        """The observed value, as text."""

    @property
    def unexpected_count(self) -> int | None:
        """The number of rows or values that violate the expectation; None if it does not count any."""

    @property
    def details(self) -> str:
        """Some rows or values that violate the expectation, one a line."""
