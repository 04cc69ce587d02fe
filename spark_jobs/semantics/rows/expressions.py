"""An expression is a condition or value on one row's columns, in the part of SQL that SQLite and Spark read alike.

A column's name alone gives the column's value, whatever its type. So does the name of a field, as in `payload.page`.
Everything else is evaluated by the standard library's sqlite3. It may contain

    columns and fields, numbers and strings, = == <> != < <= > >= + - * ||, and or not, is [not] null, in, between,
    like, case, and the functions abs, coalesce, lower, nullif, upper

Comparisons with null are null. Division, casts, regular expressions and dates differ between SQLite and Spark, so an
expression with one of them is refused. Text is compared with text and numbers with numbers;
decimals become doubles.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any

from spark_jobs.semantics.rows.instants import micros

_LOGIC = ("and", "or", "not", "is", "null", "in", "between", "like", "true", "false")
_KEYWORDS = frozenset((*_LOGIC, "case", "when", "then", "else", "end"))
_PART = re.compile(r"`((?:[^`]|``)+)`|(\w+)")
_FUNCTIONS = frozenset(("abs", "coalesce", "lower", "nullif", "upper"))
_TOKEN = re.compile(
    r"""\s+
    | (?P<path>(?:[A-Za-z_]\w*|`(?:[^`]|``)+`)(?:\.(?:[A-Za-z_]\w*|`(?:[^`]|``)+`))+)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<number>\d+(\.\d+)?(?![\w.]))
    | (?P<text>'[^'\\]*'|"[^"\\]*")
    | (?P<mark>==|<>|!=|<=|>=|\|\||[=<>+\-*(),])""",
    re.VERBOSE,
)


class UnreadableExpressionError(ValueError):
    """An expression that the reference cannot evaluate: pass a Python function in its place to `reference.replay`."""


class UnknownColumnError(ValueError):
    """A column that a row does not have."""


class Expression:
    """A parsed expression. Raises UnreadableExpressionError for what lies outside the shared part of SQL."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self._tokens = _tokens(sql)
        self._names = tuple(dict.fromkeys(value for kind, value in self._tokens if kind == "column"))

    def evaluate(self, row: Mapping[str, Any]) -> Any:
        """Return the value on a row; None for null.

        Raises UnknownColumnError, and UnreadableExpressionError for a value that SQLite would treat otherwise than
        Spark.
        """
        columns = {name: _value(row, name) for name in self._names}
        if len(self._tokens) == 1 and self._names:
            return columns[self._names[0]]
        return self._computed([self._bound(name, value) for name, value in columns.items()])

    def _computed(self, parameters: list[Any]) -> Any:
        labels = {name: f"value{i}" for i, name in enumerate(self._names)}
        sql = " ".join(f":{labels[value]}" if kind == "column" else value for kind, value in self._tokens)
        named = dict(zip(labels.values(), parameters, strict=True))
        try:
            return _connection().execute(f"select ({sql})", named).fetchone()[0]
        except sqlite3.Error as error:
            raise _unreadable(self.sql, f"SQLite error: {error}") from None

    def _bound(self, name: str, value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and not math.isnan(value)):
            return value
        if isinstance(value, Decimal):
            return float(value)
        is_compared_with_text = any(kind == "text" for kind, _ in self._tokens)
        if isinstance(value, datetime) and not is_compared_with_text:
            return micros(value)
        if isinstance(value, date) and not is_compared_with_text:
            return value.toordinal()
        raise _unreadable(self.sql, f"column {name} holds {value!r}, which SQLite would not compare as Spark does")


def column(row: Mapping[str, Any], name: str) -> Any:
    """Return a column's value; as in Spark, the case of letters does not matter. Raises UnknownColumnError."""
    if name in row:
        return row[name]
    for candidate in row:
        if candidate.lower() == name.lower():
            return row[candidate]
    raise UnknownColumnError(f"found no column '{name}'; the row has {', '.join(row) or 'no columns'}")


def quoted(name: str) -> str:
    """Return a column's name in backticks, so that dots and blanks are part of the name."""
    return "`" + name.replace("`", "``") + "`"


def _value(row: Mapping[str, Any], path: str) -> Any:
    """Return the value of a column, or of a field inside; null inside a null struct."""
    first, *fields = (part.replace("``", "`") or word for part, word in _PART.findall(path))
    value = column(row, first)
    for name in fields:
        if value is not None and not isinstance(value, Mapping):
            raise _unreadable(path, f"found {value!r}, which has no field {name}")
        value = None if value is None else column(value, name)
    return value


def _tokens(sql: str) -> tuple[tuple[str, str], ...]:
    tokens: list[tuple[str, str]] = []
    depth = at = 0
    while at < len(sql):
        match = _TOKEN.match(sql, at)
        if match is None:
            raise _unreadable(sql, f"found {sql[at : at + 12]!r}")
        kind, value, at = match.lastgroup, match.group().strip(), match.end()
        depth += {"(": 1, ")": -1}.get(value, 0)
        # Two expressions, such as the inside of `count(a) + count(b)`, must not pass for one.
        if depth < 0:
            raise _unreadable(sql, "found ) without (")
        if kind is not None:
            tokens.append(_token(kind, value, is_call=sql[at:].lstrip().startswith("("), sql=sql))
    if not tokens or depth:
        raise _unreadable(sql, "found nothing" if not tokens else "found ( without )")
    return tuple(tokens)


def _token(kind: str, value: str, *, is_call: bool, sql: str) -> tuple[str, str]:
    if kind in ("path", "quoted"):
        return "column", value
    if kind == "text":
        # A double-quoted text is a name in SQLite and a text in Spark.
        return "text", "'" + value[1:-1].replace("'", "''") + "'"
    if kind != "name" or value.lower() in _KEYWORDS:
        return kind, value
    if not is_call:
        return "column", value
    if value.lower() not in _FUNCTIONS:
        raise _unreadable(sql, f"found the function {value}, known: {', '.join(sorted(_FUNCTIONS))}")
    return "function", value


def _unreadable(sql: str, reason: str) -> UnreadableExpressionError:
    return UnreadableExpressionError(
        f"the reference does not read '{sql}': {reason}; pass a Python function for it to reference.replay"
    )


@cache
def _connection() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("pragma case_sensitive_like = on")
    for name, function in (("lower", str.lower), ("upper", str.upper)):
        connection.create_function(name, 1, lambda text, f=function: None if text is None else f(text))
    return connection
