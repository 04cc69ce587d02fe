"""Values in explanations, groups, comparisons and pages have one text each, which no other value has."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from math import inf, nan
from typing import Any

import pytest

from spark_jobs.cases.value_text import value_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("null", "'null'"),
        ("", "''"),
        (" a'b", "' a''b'"),
        ("north|1", "north|1"),
        (True, "true"),
        (nan, "NaN"),
        (-inf, "-Infinity"),
        (Decimal("3.30"), "3.3"),
        (b"\x00\xff", "X'00FF'"),
        (b"", "X''"),
        (date(1500, 1, 1), "1500-01-01"),
        (datetime(2024, 5, 1, 10, 12, 0, 250_000, UTC), "2024-05-01 10:12:00.25"),
        ({"x": None, "y": [1.0, nan]}, '{"x": null, "y": [1.0, NaN]}'),
        ({"x": [bytearray(b"\x00\xff")]}, '{"x": ["X\'00FF\'"]}'),
    ],
)
def test_a_value_has_its_text(value: Any, text: str) -> None:
    assert value_text(value) == text
