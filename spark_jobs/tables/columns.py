"""Columns of two tables of one name, of which the later one has some more, some less, or some of another type.

Law: a table that takes up rows with other columns has those of both, and null where a row's table had none. What has
one name has one type: nothing is cast, for a reader of old rows must find in them what was written.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import types as T

from spark_jobs.pipeline.published_tables import Table

_TYPES: dict[str, T.DataType] = {
    "bigint": T.LongType(),
    "boolean": T.BooleanType(),
    "int": T.IntegerType(),
    "map<string,bigint>": T.MapType(T.StringType(), T.LongType()),
    "string": T.StringType(),
    "timestamp": T.TimestampType(),
}


@dataclass(frozen=True)
class Clash:
    """A column that two tables have with different types, `a.b` for a field of a struct."""

    name: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"'{self.name}' was {self.before.upper()} and is {self.after.upper()} now"


def schema(table: Table) -> T.StructType:
    """Return the schema of a table that no pipeline extends; a column with a condition for null is nullable."""
    return T.StructType([T.StructField(c.name, _TYPES[c.type], bool(c.null)) for c in table.own_columns])


def clashes(before: T.StructType, after: T.StructType) -> list[Clash]:
    """The columns that both have with types that do not go together; names are the same in any case of letters."""
    found, known = [], {field.name.lower(): field for field in before}
    for field in after:
        old = known.get(field.name.lower())
        if old is None or old.dataType.simpleString() == field.dataType.simpleString():
            continue
        if isinstance(old.dataType, T.StructType) and isinstance(field.dataType, T.StructType):
            within = clashes(old.dataType, field.dataType)
            found += [Clash(f"{field.name}.{one.name}", one.before, one.after) for one in within]
        else:
            found.append(Clash(field.name, old.dataType.simpleString(), field.dataType.simpleString()))
    return found


def united(before: T.StructType, after: T.StructType) -> T.StructType:
    """The columns of both: those of `after` in its order, then the others of `before`. There must be no clashes."""
    known = {field.name.lower(): field for field in before}
    fields = []
    for field in after:
        old = known.pop(field.name.lower(), None)
        kind = field.dataType
        if old is not None and isinstance(old.dataType, T.StructType) and isinstance(kind, T.StructType):
            kind = united(old.dataType, kind)
        # As the table has called it: Delta finds a column in files by its letters.
        fields.append(T.StructField(field.name if old is None else old.name, kind, True, field.metadata))
    return T.StructType([*fields, *known.values()])
