"""Values that Spark returned, as plain values: structs with names, times with a zone, variants as what they contain."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from pyspark.sql import types as T


def plain_value(value: Any, kind: T.DataType) -> Any:
    """Return a collected value of a type: a dict for a struct, a time in UTC, the content of a variant.

    PySpark returns times without a zone, in the time zone of this process.
    """
    match None if value is None else kind:
        case T.TimestampType():
            return value.astimezone(UTC)
        case T.VariantType():
            return value.toPython()
        case T.ArrayType(elementType=of_parts):
            return [plain_value(part, of_parts) for part in value]
        case T.StructType(fields=fields):
            return {field.name: plain_value(value[field.name], field.dataType) for field in fields}
        case T.MapType(keyType=of_keys, valueType=of_parts):
            return {plain_value(key, of_keys): plain_value(part, of_parts) for key, part in value.items()}
        case _:
            return value
