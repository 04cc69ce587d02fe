"""A source whose rows are edited behind the runs: the same edits of a Delta table and of plain rows."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from spark_jobs.tables import delta_log
from tests.support import history
from tests.support.engine import frame_of

Row = dict[str, Any]
_FIRST_NEW_ID = 10_000


@dataclass
class EditedSource:
    """A table and the rows that it contains; ids are unique."""

    spark: SparkSession
    path: Path
    rows: list[Row]
    _next_id: int = field(default=_FIRST_NEW_ID)

    def land(self) -> None:
        """Write the rows in three commits."""
        third = -(-len(self.rows) // 3)
        for start in range(0, len(self.rows), third):
            history.land(self.spark, self.rows[start : start + third], self.path)

    def mark_deleted_rows(self) -> None:
        """Let deletes mark rows instead of rewriting files."""
        self.spark.sql(
            f"ALTER TABLE delta.`{self.path}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = true)"
        ).collect()

    @property
    def version(self) -> int:
        """The newest version of the table."""
        version = delta_log.version(self.spark, str(self.path))
        assert version is not None
        return version

    def append(self, rows: list[Row]) -> None:
        """Append rows."""
        self.rows += rows
        history.land(self.spark, rows, self.path)

    def delete(self, ids: set[int]) -> None:
        """Delete the rows with these ids."""
        self.rows = [row for row in self.rows if row["id"] not in ids]
        self._table.delete(f"id in ({', '.join(map(str, ids))})")

    def update(self, rows: list[Row]) -> None:
        """Replace the rows with the ids of `rows`, and add those with new ids, in one commit."""
        ids = {row["id"] for row in rows}
        self.rows = [*(row for row in self.rows if row["id"] not in ids), *rows]
        changed = frame_of(self.spark, rows, history.SCHEMA)
        merge = self._table.alias("t").merge(changed.alias("s"), "t.id = s.id")
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    def compact(self) -> None:
        """Rewrite all files into one, with the same rows."""
        self._table.optimize().executeCompaction()

    def draw_edit(self, draw: random.Random) -> str:
        """Make one drawn edit; returns its kind."""
        kind = draw.choice(["insert", "insert", "update", "update", "update", "delete", "compact", "append"])
        some = draw.sample(self.rows, draw.choice([1, 1, 2, 5, 20]))
        match kind:
            case "insert":
                self.update([self._new(draw, row) for row in some])
            case "update":
                self.update([_mended(draw, row) for row in some])
            case "delete":
                self.delete({row["id"] for row in some})
            case "append":
                last = max(self.rows, key=lambda row: (row["stored_at"] is not None, str(row["stored_at"])))
                self.append([self._new(draw, last) for _ in some])
            case "compact":
                self.compact()
        return kind

    def _new(self, draw: random.Random, like: Row) -> Row:
        """A new row about the time of another."""
        self._next_id += 1
        return _mended(draw, {**like, "id": self._next_id})

    @property
    def _table(self) -> DeltaTable:
        return DeltaTable.forPath(self.spark, str(self.path))


def _mended(draw: random.Random, row: Row) -> Row:
    """The row with other values, mostly with times that stay close."""
    mended = dict(row)
    for name in draw.sample(["reading", "device", "site", "happened_at", "stored_at"], draw.randint(1, 3)):
        match name:
            case "reading":
                mended[name] = draw.choice([None, draw.randrange(-40, 200) / 4])
            case "device":
                mended[name] = draw.choice(["a", "b", "c", None])
            case "site":
                mended[name] = draw.choice(["north", "south", "east"])
            case _ if mended[name] is not None:
                shift = draw.choice([-7200, -600, -61, -1, 1, 30, 600, 3600])
                mended[name] = draw.choice([mended[name] + timedelta(seconds=shift)] * 7 + [None])
    return mended
