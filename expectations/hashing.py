"""Hashing: several values as one number of 64 bits, equal where all of them are.

Spark's hash takes no notice of a null, so that 5 beside a null is a null beside 5. Here a null is a value like others.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

_NESTED = (T.ArrayType, T.MapType, T.StructType, T.VariantType)
_WITH_NULLS = {"ignoreNullFields": "false"}


def hashed(values: Iterable[tuple[Column, T.DataType]]) -> Column:
    """The number of values, each with its type, in their order; never null."""
    parts = (part for value, kind in values for part in _told(value, kind))
    return F.xxhash64(F.lit(0), *parts)


def _told(value: Column, kind: T.DataType) -> tuple[Column, ...]:
    # Of a map Spark has no hash, and of a null within another value it takes no notice either; text shows both.
    return (F.to_json(F.struct(value), _WITH_NULLS),) if isinstance(kind, _NESTED) else (value, value.isNull())
