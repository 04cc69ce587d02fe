"""A partition label names a source partition: its column values as text, joined by '|'.

    label = 'null' for a missing value, 'true' and 'false' for booleans; '' where no column is declared

Rows with equal labels are in one partition; a missing value names a partition like any other value. Rule 19.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def label(values: Iterable[Any]) -> str:
    """Return the label of the partition with these column values."""
    return "|".join(_text(value) for value in values)


def _text(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
