"""The values of an answer as JSON: whatever a row contains, any reader of JSON reads the text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from typing import Any

from spark_jobs.cases.value_text import value_text


def json_value(value: Any) -> Any:
    """Return a value in the types of JSON.

    - a time: ISO 8601
    - `NaN`, `Infinity` and `-Infinity`: texts, as Spark writes them
    - bytes: their SQL
    - a key of a map: its text
    - a decimal, a date, a path: its text
    """
    match value:
        case None | bool() | int() | str():
            return value
        case datetime():
            return value.isoformat()
        case float() | bytes() | bytearray():
            return value if isinstance(value, float) and isfinite(value) else value_text(value)
        case Mapping():
            return {_name(name): json_value(part) for name, part in value.items()}
        case list() | tuple():
            return [json_value(part) for part in value]
        case _:
            return str(value)


def _name(key: Any) -> str:
    """Return the text of a key."""
    plain = json_value(key)
    return plain if isinstance(plain, str) else value_text(plain)
