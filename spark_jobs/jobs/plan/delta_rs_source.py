"""A source of a pipeline, read by delta-rs at its newest version: its columns, and the statistics of its files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as T

from spark_jobs.pipeline.model import Source, TimeField
from spark_jobs.tables.objects import HASTY, storage_options
from spark_jobs.tables.source_tables import absolute_path

if TYPE_CHECKING:
    from deltalake import DeltaTable

_COLUMN = re.compile(r"\w+|`(?:[^`]|``)+`")
_MAPPING = "delta.columnMapping.mode"


class NeedsSparkError(Exception):
    """A plan that only Spark can make; the message is the reason."""


class DeltaRsSource:
    """A source at its newest version, as a pipeline declares it. Raises NeedsSparkError if delta-rs cannot read it."""

    def __init__(self, declared: Source, table: str) -> None:
        self._declared = declared
        self.path = absolute_path(table)
        self.delta = opened(self.path)
        self.version, self._configuration = int(self.delta.version()), self.delta.metadata().configuration
        self.table_id = str(self.delta.metadata().id)
        self.struct = struct_of(self.delta)
        self.schema = self.struct.json()

    def time_column(self, field: TimeField) -> str | None:
        """Return the column whose values are the times of `field`; None if only Spark can compute them."""
        if field.unit or field.format or not _COLUMN.fullmatch(field.expression):
            return None
        if self._declared.columns or _MAPPING in self._configuration:
            return None
        name = field.expression.strip("`").lower()
        column = next((column for column in self.struct if column.name.lower() == name), None)
        return column.name if column is not None and isinstance(column.dataType, T.TimestampType) else None

    def arrived(self, add: Mapping[str, Any], covered: datetime) -> bool:
        """Return whether the log proves that no row of an added file arrived before `covered`."""
        field, statistics = self._declared.arrival_time, json.loads(add.get("stats") or "{}")
        name = None if field is None else self.time_column(field)
        if name is None:
            return False
        oldest = statistics.get("minValues", {}).get(name)
        if oldest is None:
            return bool(statistics.get("nullCount", {}).get(name) == statistics.get("numRecords", -1))
        with suppress(ValueError):  # Python has no years before 1 and after 9999.
            # Statistics are cut to milliseconds.
            return datetime.fromisoformat(oldest) >= covered
        return False


def opened(path: str, version: int | None = None) -> DeltaTable:
    """Return a table at a version, by default the newest. Raises NeedsSparkError."""
    from deltalake import DeltaTable

    try:
        return DeltaTable(path, version=version, storage_options=storage_options(path, HASTY))
    except Exception as problem:
        raise NeedsSparkError(f"{path} cannot be read by delta-rs: {problem}") from problem


def struct_of(delta: DeltaTable) -> T.StructType:
    """Return the columns of a table as Spark's."""
    return T.StructType.fromJson(json.loads(delta.schema().to_json()))
