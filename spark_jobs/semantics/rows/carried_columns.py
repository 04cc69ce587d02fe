"""Carried columns: the names under which a table of source rows has the columns of the source.

Law: the table's own columns keep their names. A source column with such a name, in any case of letters, is carried as
`source_<name>`. The prefix is repeated until the name differs from every other column of the source and of the table.
In a stored table, the column's metadata contains its name in the source (`ORIGIN`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

#: The key of a column's metadata with its name in the source, for a column that is carried under another name.
ORIGIN = "tidemark.source_column"

_PREFIX = "source_"


class _Field(Protocol):
    """A column of a schema: its name and metadata."""

    @property
    def name(self) -> str: ...

    @property
    def metadata(self) -> Mapping[str, Any] | None: ...


def carried_names(source: Iterable[str], own: Iterable[str]) -> dict[str, str]:
    """Return the name in the table for each column of the source; `own` are the columns that the table adds."""
    names = list(source)
    own_names = {name.lower() for name in own}
    used = own_names | {name.lower() for name in names}
    carried = {}
    for name in names:
        free = name
        while name.lower() in own_names and free.lower() in used:
            free = _PREFIX + free
        used.add(free.lower())
        carried[name] = free
    return carried


def origins(fields: Iterable[_Field]) -> dict[str, str]:
    """Return the name in the source by name in the table, for the columns of a table that have another name."""
    pairs = ((field.name, (field.metadata or {}).get(ORIGIN)) for field in fields)
    return {name: str(origin) for name, origin in pairs if origin is not None}


def carried_name(fields: Iterable[_Field], name: str) -> str:
    """Return the name in the table of the source column `name`; `fields` are the columns of the table."""
    return next((table for table, origin in origins(fields).items() if origin.lower() == name.lower()), name)
