r"""A partition label names a source partition: its column values as text, joined by '|'.

    label = 'null' for a missing value, 'true' and 'false' for booleans; '' where no column is declared

Different partitions have different labels. So a backslash is put before the text 'null', and before 'null' with
backslashes before it. With several columns, `|` within a text is `\|`, and backslashes before it and at the end of a
text are doubled. All other texts are as they are. A missing value names a partition like any other value. Rule 19.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_NULL = re.compile(r"\\*null")
_BAR, _END = re.compile(r"(\\*)\|"), re.compile(r"(\\+)\Z")


def label(values: Iterable[Any]) -> str:
    """Return the label of the partition with these column values."""
    texts = [_text(value) for value in values]
    return texts[0] if len(texts) == 1 else "|".join(_escaped(text) for text in texts)


def of_source(source: str, label: str) -> str:
    """Return the label of a partition of one of several sources, whose name has no special characters."""
    return f"{source}|{label}"


def _text(value: Any) -> str:
    if value is None:
        return "null"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"\\{text}" if _NULL.fullmatch(text) else text


def _escaped(text: str) -> str:
    return _END.sub(r"\1\1", _BAR.sub(r"\1\1\\|", text))
