"""A check is one expectation's answer about a run: what was expected, whether it holds, what was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Check:
    """One answer.

    `unexpected_count` is how many rows or values break the expectation, None where that is no number of rows.
    `details` shows a few of them, one a line, without any column of the source but the key; empty for a success.
    `blocks` is false of one that only warns where it fails. `table` is the one that a declared expectation names.
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
    """What is kept of a check: a check is one, and a row of the table `quality`."""

    @property
    def suite(self) -> str:
        """Which suite asked."""

    @property
    def expectation(self) -> str:
        """What was asked."""

    @property
    def success(self) -> bool:
        """Whether it holds."""

    @property
    def observed(self) -> str:
        """What was found."""

    @property
    def unexpected_count(self) -> int | None:
        """How many rows or values break it, where that is a number of rows."""

    @property
    def details(self) -> str:
        """Some of what breaks it, a line each."""
