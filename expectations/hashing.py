"""Hash several values into one 64-bit number: equal values have equal hashes.

Spark's hash ignores nulls, so (5, null) and (null, 5) have the same hash. Here, null is a value like any other.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

_NESTED = (T.ArrayType, T.MapType, T.StructType, T.VariantType)
_WITH_NULLS = {"ignoreNullFields": "false"}


def hashed(values: Iterable[tuple[Column, T.DataType]]) -> Column:
    """Return the hash of the values, in their order, each with its type. It is never null."""
    inputs = (part for value, kind in values for part in _hash_inputs(value, kind))
    return F.xxhash64(F.lit(0), *inputs)


def _hash_inputs(value: Column, kind: T.DataType) -> tuple[Column, ...]:
    # Spark cannot hash a map, and its hash ignores a null inside a nested value. JSON keeps both.
    return (F.to_json(F.struct(value), _WITH_NULLS),) if isinstance(kind, _NESTED) else (value, value.isNull())
