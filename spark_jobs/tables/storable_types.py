"""The types of columns that a Delta table can contain."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import types as T

_REFUSED = (T.DayTimeIntervalType, T.YearMonthIntervalType, T.CalendarIntervalType, T.TimeType, T.NullType)


def unstorable(kind: T.DataType) -> T.DataType | None:
    """Return the first type inside of `kind`, or `kind` itself, that no Delta table can contain; None without any."""
    return next(filter(_is_refused, _inner(kind)), None)


def _is_refused(kind: T.DataType) -> bool:
    if isinstance(kind, T.StringType):
        return not kind.isUTF8BinaryCollation()
    return isinstance(kind, _REFUSED)


def _inner(kind: T.DataType) -> Iterator[T.DataType]:
    """Yield a type and all types inside of it."""
    yield kind
    match kind:
        case T.ArrayType():
            parts = [kind.elementType]
        case T.MapType():
            parts = [kind.keyType, kind.valueType]
        case T.StructType():
            parts = [field.dataType for field in kind]
        case _:
            parts = []
    for part in parts:
        yield from _inner(part)
