"""Columns of two versions of a table: which columns have clashing types, and the schema with the columns of both.

Law: a table that takes rows with other columns has the columns of both, and null where a row's table lacked a column. A
column has one type. Nothing is cast, because a reader of old rows must read the values that were written.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import types as T

from spark_jobs.pipeline.published_tables import Table

_TYPES: dict[str, T.DataType] = {
    "bigint": T.LongType(),
    "boolean": T.BooleanType(),
    "int": T.IntegerType(),
    "map<string,string>": T.MapType(T.StringType(), T.StringType()),
    "map<string,bigint>": T.MapType(T.StringType(), T.LongType()),
    "map<string,double>": T.MapType(T.StringType(), T.DoubleType()),
    "string": T.StringType(),
    "timestamp": T.TimestampType(),
}


@dataclass(frozen=True)
class Clash:
    """A column with different types in two tables; `a.b` for a field of a struct."""

    name: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"'{self.name}' was {self.before.upper()} and is {self.after.upper()} now"


def schema(table: Table) -> T.StructType:
    """Return the schema of a table that no pipeline extends; a column with a condition for null is nullable."""
    return T.StructType([T.StructField(c.name, _TYPES[c.type], bool(c.null)) for c in table.own_columns])


def described(schema: T.StructType) -> list[str]:
    """Return each column as its name and its type in SQL. Two equal lists have the same columns in one order."""
    return [f"{field.name} {field.dataType.simpleString()}" for field in schema]


def clashes(before: T.StructType, after: T.StructType) -> list[Clash]:
    """Return the columns that both schemas have with different types. Names are compared without case."""
    different, fields_before = [], {field.name.lower(): field for field in before}
    for field in after:
        old = fields_before.get(field.name.lower())
        if old is None or old.dataType.simpleString() == field.dataType.simpleString():
            continue
        if isinstance(old.dataType, T.StructType) and isinstance(field.dataType, T.StructType):
            inner = clashes(old.dataType, field.dataType)
            different += [Clash(f"{field.name}.{clash.name}", clash.before, clash.after) for clash in inner]
        else:
            different.append(Clash(field.name, old.dataType.simpleString(), field.dataType.simpleString()))
    return different


def merged_schema(before: T.StructType, after: T.StructType) -> T.StructType:
    """Return the columns of both schemas, which must not clash: those of `after`, then the others of `before`."""
    other_fields = {field.name.lower(): field for field in before}
    fields = []
    for field in after:
        old = other_fields.pop(field.name.lower(), None)
        kind = field.dataType
        if old is not None and isinstance(old.dataType, T.StructType) and isinstance(kind, T.StructType):
            kind = merged_schema(old.dataType, kind)
        # Keep the spelling of the table: Delta looks a column up in files by its exact name.
        fields.append(T.StructField(field.name if old is None else old.name, kind, True, field.metadata))
    return T.StructType([*fields, *other_fields.values()])
