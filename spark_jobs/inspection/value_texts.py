"""The text of a value in groups, filters and addresses, which chooses the value again.

    null                              null
    a text that could be mistaken     in single quotes, each quote inside of it doubled: 'null', '', ' a', '''a'''
    any other value                   as SQL casts it to text; ISO 8601 for times and dates

Law: `is_of(value, of_value(value))` holds, and no text stands for two texts, or for a text and null.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from spark_jobs.inspection.sql_texts import literal, quoted

NULL = "null"
# The SQL of delta-rs reads the same pattern.
_MISTAKEN = r"^(?s:|null|\s.*|.*\s|'.*')$"
_QUOTED = re.compile(r"'(?:[^']|'')*'")


def quoted_text(text: str) -> str:
    """Return a text, in quotes if it could be mistaken."""
    return literal(text) if re.search(_MISTAKEN, text) else text


def _unquoted(text: str) -> str:
    return text[1:-1].replace("''", "'") if _QUOTED.fullmatch(text) else text


def of_value(value: Any) -> str:
    """Return the text of a value."""
    match value:
        case None:
            return NULL
        case bool():
            return str(value).lower()
        case date():
            return value.isoformat()
        case str():
            return quoted_text(value)
        case _:
            return str(value)


def is_of(value: Any, text: str) -> bool:
    """Return whether a text stands for a value, as the engine of delta-rs writes it."""
    try:
        match value:
            case str():
                return text != NULL and value == _unquoted(text)
            case float() | Decimal():
                return type(value)(text) == value
            case datetime():
                return datetime.fromisoformat(text).replace(tzinfo=None) == value.replace(tzinfo=None)
            case _:
                return text == of_value(value)
    except (ValueError, ArithmeticError):
        return False


def sql_of(column: str) -> str:
    """Return SQL with the text of a column."""
    text = f"CAST({quoted(column)} AS VARCHAR)"
    in_quotes = f"concat('''', replace({text}, '''', ''''''), '''')"
    is_mistaken = f"regexp_like({text}, {literal(_MISTAKEN)})"
    return f"CASE WHEN {text} IS NULL THEN {literal(NULL)} WHEN {is_mistaken} THEN {in_quotes} ELSE {text} END"


def sql_is(column: str, text: str) -> str:
    """Return SQL that is true for a column whose value has a text."""
    name = quoted(column)
    return f"{name} IS NULL" if text == NULL else f"CAST({name} AS VARCHAR) = {literal(_unquoted(text))}"
