"""A check is one expectation's answer about a run: what was expected, whether it holds, what was found."""

from __future__ import annotations

from dataclasses import dataclass


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
