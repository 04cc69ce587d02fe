"""Answers as JSON: every value of a row has a text that any reader of JSON reads."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from math import inf, nan
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from spark_jobs.cli.json_values import json_value
from spark_jobs.job_protocol import StepName

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (2**70, 2**70),
        (1.5, 1.5),
        (nan, "NaN"),
        (inf, "Infinity"),
        (-inf, "-Infinity"),
        (StepName.REPLAY, "replay"),
        (NOON, "2024-05-01T12:00:00+00:00"),
        (date(2024, 5, 1), "2024-05-01"),
        (Decimal("1.10"), "1.10"),
        (Path("lake/a"), "lake/a"),
        (b"\x00\xff", "X'00FF'"),
        (("a", [nan]), ["a", ["NaN"]]),
        (MappingProxyType({"a": {"b": inf}}), {"a": {"b": "Infinity"}}),
        ({NOON: 1, 2: 3, nan: 4, None: 5}, {"2024-05-01T12:00:00+00:00": 1, "2": 3, "NaN": 4, "null": 5}),
    ],
)
def test_a_value_is_in_the_types_of_json(value: Any, expected: Any) -> None:
    assert json.loads(json.dumps(json_value(value), allow_nan=False)) == expected
