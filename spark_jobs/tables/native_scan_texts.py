"""Texts that the native engine reads as Spark does: those that are UTF-8.

Spark keeps the bytes of every text. Comet replaces bytes that are no UTF-8 where it decodes binary values, so that
different texts become one. It does so too where Spark hands it rows at a shuffle. Law: `checked_texts` and
`checked_bytes` return the same rows, or reading these fails with a condition of `error_causes.is_native`. Then Spark
alone reads them again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.runtime.native_engine import COMET_ENABLED

#: Of a value and its type: a condition that is true, or fails if the value is no UTF-8; None for other types.
Condition = Callable[[Column, T.DataType], Column | None]


def checked_texts(rows: DataFrame, *, stored_apart: Collection[str] = ()) -> DataFrame:
    """Return rows that Spark reads from files such that reading a text that is no UTF-8 fails.

    Where Comet reads the files, it refuses such texts itself. `stored_apart` are columns whose values are not in the
    files. A column that nobody reads costs nothing. Without Comet, the result is `rows`.
    """
    return _checked(rows, _of_text, lambda name: name not in stored_apart)


def checked_bytes(rows: DataFrame, expressions: Iterable[str]) -> DataFrame:
    """Return rows such that reading bytes that are no UTF-8 fails, in columns that `expressions` of SQL name.

    Spark's own code decodes such columns here, with both engines. Without Comet, the result is `rows`.
    """
    sql = "\n".join(expressions).lower()
    return _checked(rows, _of_bytes, lambda name: name.lower() in sql)


def _checked(rows: DataFrame, of_value: Condition, concerns: Callable[[str], bool]) -> DataFrame:
    if rows.sparkSession.conf.get(COMET_ENABLED, "false") != "true":
        return rows
    conditions = {
        field.name: condition
        for field in rows.schema
        if concerns(field.name)
        and (condition := _condition(F.col(_quoted(field.name)), field.dataType, of_value)) is not None
    }
    if not conditions:
        return rows
    return rows.select(*(_field(field, conditions.get(field.name)) for field in rows.schema))


def _field(field: T.StructField, condition: Column | None) -> Column:
    value = F.col(_quoted(field.name))
    if condition is None:
        return value
    same = F.when(condition, value)
    if not field.nullable and isinstance(field.dataType, (T.StringType, T.BinaryType)):
        # The condition is never false. Like this the column stays one without nulls.
        same = same.otherwise(F.lit("").cast(field.dataType))
    return same.alias(field.name, metadata=field.metadata)


def _of_text(value: Column, kind: T.DataType) -> Column | None:
    return value.isNull() | F.validate_utf8(value).isNotNull() if isinstance(kind, T.StringType) else None


def _of_bytes(value: Column, kind: T.DataType) -> Column | None:
    return value.isNull() | F.decode(value, "UTF-8").isNotNull() if isinstance(kind, T.BinaryType) else None


def _condition(value: Column, kind: T.DataType, of_value: Condition) -> Column | None:
    """Return a condition that is true, or fails if a part of a value is no UTF-8; None if no part can be refused."""
    if isinstance(kind, T.StructType):
        parts = [_condition(value.getField(field.name), field.dataType, of_value) for field in kind]
        return _all([part for part in parts if part is not None])
    if isinstance(kind, T.ArrayType):
        return _of_elements(value, kind.elementType, of_value)
    if isinstance(kind, T.MapType):
        of_keys = _of_elements(F.map_keys(value), kind.keyType, of_value)
        of_values = _of_elements(F.map_values(value), kind.valueType, of_value)
        return _all([part for part in (of_keys, of_values) if part is not None])
    return of_value(value, kind)


def _of_elements(values: Column, kind: T.DataType, of_value: Condition) -> Column | None:
    if _condition(F.lit(None), kind, of_value) is None:
        return None

    def is_fine(element: Column) -> Column:
        condition = _condition(element, kind, of_value)
        return F.lit(True) if condition is None else condition

    return F.coalesce(F.forall(values, is_fine), F.lit(True))


def _all(conditions: list[Column]) -> Column | None:
    return reduce(Column.__and__, conditions) if conditions else None


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
