"""Change files: the change data feed of a commit to a published table, where its data files would show other changes.

Without such files, Delta derives the feed of a commit from its data files. Each row of a removed file is deleted, and
each row of an added file is inserted. Law: with them, the feed has exactly their rows instead. So they are written only
for a commit that moves rows from one file into another.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from typing import Any
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.tables import columns, commit_files, data_files, delta_log, delta_transaction, stored_names
from spark_jobs.tables.errors import LakeError
from spark_jobs.tables.lake import Lake, changes_folder, has_rows_of_other_files, staged_folder
from spark_jobs.tables.objects import Objects
from spark_jobs.tables.table_metadata import CHANGE_TYPE, DELETE, INSERT

_COUNT = "__tm_count"


@dataclass(frozen=True)
class ChangeFiles:
    """The writer of the change files of a run's commit to `table`, on its version `version`."""

    spark: SparkSession
    lake: Lake
    run_id: str
    table: str
    version: int

    def of_rows(self, deletes: DataFrame, inserts: Sequence[DataFrame]) -> list[dict[str, Any]]:
        """Write the rows that the commit takes away and adds; return its `cdc` actions."""
        deleted = deletes.withColumn(CHANGE_TYPE, F.lit(DELETE))
        inserted = [rows.withColumn(CHANGE_TYPE, F.lit(INSERT)) for rows in inserts]
        return self._write(
            reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), [deleted, *inserted])
        )

    def of_files(
        self, removed: Sequence[str], added: Sequence[str], schemas: tuple[T.StructType, T.StructType]
    ) -> list[dict[str, Any]] | None:
        """Write the changes of a commit that replaces files, named as in the log; return its `cdc` actions.

        The result is empty, and none is needed, if no row can be in a removed and in an added file. Rows that are in
        both are no change, each as often as it is in both. If all of them are, the result is None. `schemas` are the
        table's before and after the commit.
        """
        # Rows are carried over by runs with the same types of columns alone.
        has_moved_rows = removed and added and any(map(has_rows_of_other_files, [*removed, *added]))
        if not has_moved_rows or columns.clashes(*schemas):
            return []
        schema = columns.merged_schema(*schemas)
        keys, values = ([f"{letter}{i}" for i in range(len(schema))] for letter in "kv")
        sides = [
            self._rows_of(schema, names).toDF(*values).withColumn(_COUNT, F.lit(sign))
            for names, sign in ((removed, -1), (added, 1))
        ]
        compared = [
            _comparable(field, value).alias(key) for field, key, value in zip(schema, keys, values, strict=True)
        ]
        counted = (
            reduce(DataFrame.union, sides)
            .groupBy(*compared)
            .agg(F.sum(_COUNT).cast("int").alias(_COUNT), *(F.any_value(value).alias(value) for value in values))
            .where(F.col(_COUNT) != 0)
        )
        each = counted.select(*values, _COUNT, F.explode(F.array_repeat(F.lit(0), F.abs(_COUNT))))
        kind = F.when(F.col(_COUNT) > 0, INSERT).otherwise(DELETE)
        names = [field.name for field in schema]
        # Delta writes no file without rows.
        return self._write(each.select(*values, kind).toDF(*names, CHANGE_TYPE)) or None

    def _rows_of(self, schema: T.StructType, names: Sequence[str]) -> DataFrame:
        return data_files.read(self.spark, schema, [f"{self.lake.path(self.table)}/{unquote(name)}" for name in names])

    def _write(self, changes: DataFrame) -> list[dict[str, Any]]:
        folder = changes_folder(self.run_id, self.version)
        target = self.lake.staged(self.table, folder)
        try:
            writer = stored_names.stored(changes).write.format("delta").mode("append")
            writer.options(**delta_transaction.PLAIN_NAMES).save(target)
        except Exception:
            with suppress(LakeError):
                Objects(self.lake.path(self.table)).remove(staged_folder(folder))
            raise
        return [
            {
                "cdc": {
                    "path": f"{staged_folder(folder)}/{file['path']}",
                    "partitionValues": {},
                    "size": file["size"],
                    "dataChange": False,
                }
            }
            for file in delta_log.live_files(commit_files.actions(Objects(target)))
        ]


def _comparable(field: T.StructField, name: str) -> Column:
    """Return a column by which equal values are grouped. Spark groups no variants, but their text."""
    return F.to_json(F.struct(name)) if "variant" in field.dataType.simpleString() else F.col(name)
