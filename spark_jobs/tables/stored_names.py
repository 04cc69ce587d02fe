"""Stored names: the names of columns in the files of the lake, which differ from the published names where Delta must.

Delta refuses the characters space, comma, `;{}()=`, tab and newline in a name, unless a table maps its columns. Law:

    stored name = the name itself, or for a name with such a character
                  `__tmc_` and the name with each such character, and each %, as % and two hexadecimal digits

A staged table has the stored names. A published table maps its columns to them if one differs
(`table_metadata.mapped`). The stored name depends on the name alone. So files of different runs agree, and files from
before the mapping agree with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

#: What Delta keeps in a column's metadata about its mapping.
COLUMN_ID, PHYSICAL_NAME = "delta.columnMapping.id", "delta.columnMapping.physicalName"

_PREFIX = "__tmc_"
_REFUSED = re.compile(r"[ ,;{}()\n\t=]")
_ESCAPED = re.compile(r"[ ,;{}()\n\t=%]")


def stored_name(name: str) -> str:
    """Return the name of a column or field in files."""
    if _REFUSED.search(name) is None and not name.startswith(_PREFIX):
        return name
    return _PREFIX + _ESCAPED.sub(lambda mark: f"%{ord(mark[0]):02x}", name)


def original_name(stored: str) -> str:
    """Return the name of a column or field from its stored name."""
    return unquote(stored.removeprefix(_PREFIX)) if stored.startswith(_PREFIX) else stored


def stored_schema(schema: T.StructType) -> T.StructType:
    """Return the schema with stored names, without a mapping."""
    return T.StructType([_field(field, stored_name) for field in schema])


def original_schema(schema: T.StructType) -> T.StructType:
    """Return the schema with the original names of stored names."""
    return T.StructType([_field(field, original_name) for field in schema])


def stored(rows: DataFrame) -> DataFrame:
    """Return `rows` under stored names; `rows` themselves if no name differs."""
    return _renamed(rows, stored_schema(rows.schema))


def original(rows: DataFrame) -> DataFrame:
    """Return `rows`, which have stored names, under the original names; `rows` themselves if no name differs."""
    return _renamed(rows, original_schema(rows.schema))


def _renamed(rows: DataFrame, schema: T.StructType) -> DataFrame:
    """Return `rows` as `schema`, which differs in names alone."""
    if rows.schema.simpleString() == schema.simpleString():
        return rows
    numbered = rows.toDF(*(f"c{i}" for i in range(len(schema))))
    return numbered.select(
        *(F.col(f"c{i}").cast(f.dataType).alias(f.name, metadata=f.metadata) for i, f in enumerate(schema))
    )


def _with_names(kind: T.DataType, name: Callable[[str], str]) -> T.DataType:
    if isinstance(kind, T.StructType):
        return T.StructType([_field(field, name) for field in kind])
    if isinstance(kind, T.ArrayType):
        return T.ArrayType(_with_names(kind.elementType, name), kind.containsNull)
    if isinstance(kind, T.MapType):
        return T.MapType(_with_names(kind.keyType, name), _with_names(kind.valueType, name), kind.valueContainsNull)
    return kind


def _field(field: T.StructField, name: Callable[[str], str]) -> T.StructField:
    metadata = {key: value for key, value in field.metadata.items() if key not in (COLUMN_ID, PHYSICAL_NAME)}
    return T.StructField(name(field.name), _with_names(field.dataType, name), field.nullable, metadata)
