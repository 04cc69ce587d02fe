r"""A partition label names a source partition: its column values as text, joined by '|'.

    missing      null                                   boolean     true or false
    text         as it is                               integer     its digits
    decimal      all digits of its scale, as 1.50       date        2024-03-01
    timestamp    2024-03-01 06:30:00, in UTC; with parts of a second as far as they are not zero
    no column    the empty text, for the only partition

A TIMESTAMP_NTZ is written as it is, without a zone. Other types are refused (`REFUSED`). The text of a float differs
from one version of Java to the next, and other values have no text that names them.

Different partitions have different labels. So a backslash is put before the text 'null', and before 'null' with
backslashes before it. With several columns, `|` within a text is `\|`, and backslashes before it and at the end of a
text are doubled. All other texts are as they are. A missing value names a partition like any other value. Rule 19.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

#: Why a column of another type cannot name source partitions, and what to do; follows the column's name and type.
REFUSED = (
    "a source partition is named by texts, integers, decimals, booleans, dates or timestamps. "
    "Declare its text in source.columns, and name that column in source.source_partition"
)

_NULL = re.compile(r"\\*null")
_BAR, _END = re.compile(r"(\\*)\|"), re.compile(r"(\\+)\Z")


class PartitionTypeError(ValueError):
    """A column of a source partition whose values have no clear text."""


def of_row(values: Iterable[tuple[str, Any]]) -> str:
    """Return the label of a row's partition; `values` are its columns with their values. Raises PartitionTypeError."""
    columns = list(values)
    for name, value in columns:
        if value is not None and not isinstance(value, (str, int, Decimal, date)):
            raise PartitionTypeError(f"'{name}' gave {value!r}, of type {type(value).__name__}: {REFUSED}")
    return label(value for _, value in columns)


def label(values: Iterable[Any]) -> str:
    """Return the label of the partition with these column values; a declared float is text, as the file has it."""
    texts = [_text(value) for value in values]
    return texts[0] if len(texts) == 1 else "|".join(_escaped(text) for text in texts)


def of_source(source: str, label: str) -> str:
    """Return the label of a partition of one of several sources, whose name has no special characters."""
    return f"{source}|{label}"


def _text(value: Any) -> str:
    if value is None:
        return "null"
    text = _plain(value)
    return f"\\{text}" if _NULL.fullmatch(text) else text


def _plain(value: Any) -> str:
    """Return a value's text as Spark casts it."""
    match value:
        case bool():
            return str(value).lower()
        case Decimal():
            return f"{value:f}"
        case datetime():
            local = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
            parts = f".{local.microsecond:06}".rstrip("0") if local.microsecond else ""
            return local.isoformat(" ", "seconds") + parts
        case _:
            return str(value)


def _escaped(text: str) -> str:
    return _END.sub(r"\1\1", _BAR.sub(r"\1\1\\|", text))
