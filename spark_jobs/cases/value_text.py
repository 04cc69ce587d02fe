"""Values of rows as text, for the terminal and for pages: null, numbers, lists and structs as in a file of cases."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from spark_jobs.cases.cells import cell
from spark_jobs.inspection.value_texts import quoted_text


def value_text(value: Any) -> str:
    """Return the text of a value: `null`, `NaN`, JSON for a list or struct, SQL for bytes.

    A text is in quotes if it could be mistaken: `null`, nothing, blanks around it, or quotes around it.
    """
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, str):
        return quoted_text(value)
    return cell(_without_bytes(value))


def time_text(moment: datetime | None) -> str:
    """Return a time without the digits that are zero behind its seconds; nothing for None."""
    if moment is None:
        return ""
    digits = f"{moment:%f}".rstrip("0")
    return f"{moment:%Y-%m-%d %H:%M:%S}{'.' * bool(digits)}{digits}"


def _without_bytes(value: Any) -> Any:
    """Return a value with the SQL of bytes in place of bytes, also inside of lists and structs."""
    match value:
        case bytes() | bytearray():
            return f"X'{value.hex().upper()}'"
        case Mapping():
            return {name: _without_bytes(part) for name, part in value.items()}
        case list() | tuple():
            return [_without_bytes(part) for part in value]
        case _:
            return value
