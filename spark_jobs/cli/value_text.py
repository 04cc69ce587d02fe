"""Values of rows as text: numbers, lists and structs as a file of cases contains them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from spark_jobs.cases.cells import cell


def value_text(value: Any) -> str:
    """Return the text of a value: `null`, `NaN`, JSON for a list or struct, SQL for bytes.

    A text is in quotes if it is `null` or empty, or has blanks around it.
    """
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, str):
        is_plain = value == value.strip() and value not in ("", "null")
        return value if is_plain else "'" + value.replace("'", "''") + "'"
    if isinstance(value, (bytes, bytearray)):
        return f"X'{value.hex().upper()}'"
    return cell(value)


def time_text(moment: datetime | None) -> str:
    """Return a time without the digits that are zero behind its seconds; nothing for None."""
    if moment is None:
        return ""
    digits = f"{moment:%f}".rstrip("0")
    return f"{moment:%Y-%m-%d %H:%M:%S}{'.' * bool(digits)}{digits}"
