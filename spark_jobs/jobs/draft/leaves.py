"""A leaf is a column with one value a row: a column of the table, or a field of a struct at any depth.

Arrays and maps hold several values a row, so the fields in them are no leaves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import types as T

from spark_jobs.pipeline.names import INTERNAL_PREFIX
from spark_jobs.replay.rows.quoting import quoted

#: The most leaves that are profiled.
MOST_LEAVES = 200

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Spark reads these words as values or as the beginning of an expression.
_NO_COLUMNS = frozenset(
    (
        *("null", "true", "false", "case", "cast", "not", "exists", "interval", "current_date", "current_timestamp"),
        *("current_time", "current_user", "localtimestamp", "user", "session_user", "extract", "position", "any"),
    )
)
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_CLOCK = re.compile(
    r"time|date|epoch|stamp|zeit|datum|uhr|\b(day|ts|at|on|when|ms|millis|us|micros|ns|nanos|sec|seconds)\b"
)
_ARRIVAL = re.compile(
    r"arriv|ingest|stored|land|receiv|load|written|insert|process|commit|append|recorded|logged|creat|updat|empfang"
)
_EVENT = re.compile(r"event|happen|occur|start|depart|observ|measur|taken|sent|click|captur|scanned")
_TIMES = (T.TimestampType, T.TimestampNTZType, T.DateType)
_NUMBERS = (T.IntegralType, T.FractionalType)


@dataclass(frozen=True)
class Leaf:
    """A column of single values: the names from the table's column down to the field, and the type."""

    path: tuple[str, ...]
    kind: T.DataType

    @property
    def expression(self) -> str:
        """The leaf in SQL: `payload.ts`, or with backticks where a name needs them."""
        first, *inner = self.path
        return ".".join([_in_sql(first, _NO_COLUMNS), *(_in_sql(name, frozenset()) for name in inner)])

    @property
    def is_nested(self) -> bool:
        """Whether the leaf is a field of a struct."""
        return len(self.path) > 1

    @property
    def words(self) -> str:
        """The words of all names of the path in lower case: `event ts` for `eventTs`."""
        return " ".join(_WORDS.sub(" ", name).lower() for name in self.path)

    @property
    def is_called_a_clock(self) -> bool:
        """Whether the leaf has a name of a time."""
        return _CLOCK.search(self.words) is not None

    @property
    def is_called_an_arrival(self) -> bool:
        """Whether the leaf has a name of an arrival time."""
        return _ARRIVAL.search(self.words) is not None

    @property
    def is_called_an_event(self) -> bool:
        """Whether the leaf has a name of an event time."""
        return _EVENT.search(self.words) is not None

    @property
    def is_time(self) -> bool:
        """Whether the type is that of a time."""
        return isinstance(self.kind, _TIMES)

    @property
    def is_text(self) -> bool:
        """Whether the leaf contains text."""
        return isinstance(self.kind, T.StringType)

    @property
    def is_number(self) -> bool:
        """Whether the leaf contains numbers."""
        return isinstance(self.kind, _NUMBERS)

    @property
    def is_countable(self) -> bool:
        """Whether the leaf can be a key or a source partition, by its type."""
        return isinstance(self.kind, (T.StringType, T.IntegralType))


def leaves(schema: T.StructType) -> tuple[list[Leaf], dict[str, str]]:
    """Return the leaves of a table in the order of its columns, and the reason for each column without one."""
    every: list[Leaf] = []
    left_out: dict[str, str] = {}
    for path, kind in _walk((), schema):
        if isinstance(kind, (T.ArrayType, T.MapType)):
            container = "an array" if isinstance(kind, T.ArrayType) else "a map"
            left_out[Leaf(path, kind).expression] = f"is in {container}, which has several values a row"
        elif path[0].lower().startswith(INTERNAL_PREFIX):
            left_out[Leaf(path, kind).expression] = f"its name begins with {INTERNAL_PREFIX}, which is reserved"
        else:
            every.append(Leaf(path, kind))
    return every, left_out


def most_likely(every: Sequence[Leaf], requested: Mapping[str, str]) -> tuple[list[Leaf], str | None]:
    """Return at most `MOST_LEAVES` leaves, by type and name, and a sentence about the others.

    `requested` has expressions that are never left out.
    """
    if len(every) <= MOST_LEAVES:
        return list(every), None
    ranked = sorted(every, key=lambda leaf: (leaf.expression not in requested, _rank(leaf)))
    chosen = set(ranked[:MOST_LEAVES])
    sentence = (
        f"The table has {len(every):,} columns, and {MOST_LEAVES} of them are looked at: times, names of times, "
        "text, then numbers."
    )
    return [leaf for leaf in every if leaf in chosen], sentence


def _rank(leaf: Leaf) -> int:
    if leaf.is_time:
        return 0
    if leaf.is_called_a_clock and (leaf.is_text or leaf.is_number):
        return 1
    return 2 if leaf.is_text else 3 if leaf.is_countable else 4


def _walk(path: tuple[str, ...], struct: T.StructType) -> Iterator[tuple[tuple[str, ...], T.DataType]]:
    for field in struct:
        inner = (*path, field.name)
        if isinstance(field.dataType, T.StructType):
            yield from _walk(inner, field.dataType)
        elif isinstance(field.dataType, T.ArrayType) and isinstance(field.dataType.elementType, T.StructType):
            for deeper, _ in _walk(inner, field.dataType.elementType):
                yield deeper, field.dataType
        else:
            yield inner, field.dataType


def _in_sql(name: str, reserved: frozenset[str]) -> str:
    is_plain = _IDENTIFIER.fullmatch(name) is not None and name.lower() not in reserved
    return name if is_plain else quoted(name)
