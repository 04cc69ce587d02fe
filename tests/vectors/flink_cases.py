"""The cases of Flink's own test suite, and ours that pin what they leave open, by schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

Case = dict[str, Any]

CASES: list[Case] = [json.loads(path.read_text()) for path in sorted((Path(__file__).parent / "flink_tests").glob("*"))]


def of_schema(schema: str) -> pytest.MarkDecorator:
    """Give a test every case of a schema."""
    cases = [case for case in CASES if case["schema"] == schema]
    return pytest.mark.parametrize("case", cases, ids=lambda case: case["name"])
