"""Kinds of Delta tables: each maker writes the same history as a table that uses one of Delta's features.

Each has the history of `history.events`. Some also had rows or columns that the feature has taken away again. `KINDS`
names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.support import history
from tests.support.engine import frame_of

Rows = list[dict[str, Any]]

#: The columns of the history as SQL declares them.
COLUMNS = {
    "id": "BIGINT",
    "site": "STRING",
    "device": "STRING",
    "happened_at": "TIMESTAMP",
    "stored_at": "TIMESTAMP",
    "reading": "DOUBLE",
}
_SPARE_ID = 1_000_000


@dataclass(frozen=True)
class Kind:
    """Holds a maker of a table, and how a pipeline over it differs from one over a plain table.

    `names` are the table's names of the history's columns, where they are others. `is_native`: Comet reads its files.
    `is_one_file`: there is no file to skip. `needs_spark`: delta-rs cannot plan with it.
    """

    make: Callable[[SparkSession, str, Rows], None]
    settings: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    is_native: bool = True
    is_one_file: bool = False
    needs_spark: bool = False


def plain(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table without any feature, of two files."""
    for half in _halves(rows):
        history.land(spark, half, path)


def deleted_rows(spark: SparkSession, path: str, rows: Rows) -> None:
    """Rows of one file, and all rows of another, are deleted by deletion vectors."""
    _create(spark, path, COLUMNS, properties={"delta.enableDeletionVectors": "true"})
    first, second = _halves(rows)
    _append(frame(spark, [*first, *_spare(first)]), path)
    _append(frame(spark, _spare(second)), path)
    _append(frame(spark, second), path)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id >= {_SPARE_ID}")  # noqa: S608  an own path


def deleted_rows_of_a_partition(spark: SparkSession, path: str, rows: Rows) -> None:
    """Rows are deleted by deletion vectors in files below folders of partitions."""
    properties = {"delta.enableDeletionVectors": "true"}
    _create(spark, path, COLUMNS, "PARTITIONED BY (site)", properties=properties)
    for half in _halves(rows):
        _append(frame(spark, [*half, *_spare(half)]), path)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id >= {_SPARE_ID}")  # noqa: S608  an own path


def updated_rows(spark: SparkSession, path: str, rows: Rows) -> None:
    """Rows were changed by MERGE and UPDATE, with deletion vectors."""
    _create(spark, path, COLUMNS, properties={"delta.enableDeletionVectors": "true"})
    _append(
        frame(spark, rows).withColumn("reading", F.when(F.col("id") % 3 == 0, -1.0).otherwise(F.col("reading"))), path
    )
    right = frame(spark, rows).where("id % 3 = 0 and id % 2 = 0").alias("s")
    table = DeltaTable.forPath(spark, path)
    table.alias("t").merge(right, "t.id = s.id").whenMatchedUpdateAll().execute()
    for row in rows:
        if row["id"] % 30 == 3:
            _restore_reading(table, row["id"], row["reading"])
    rest = frame(spark, rows).where("id % 3 = 0 and id % 2 = 1 and id % 30 <> 3").alias("s")
    table.alias("t").merge(rest, "t.id = s.id").whenMatchedUpdateAll().execute()


def _restore_reading(table: DeltaTable, number: int, reading: float | None) -> None:
    table.update(f"id = {number}", {"reading": F.lit(reading).cast("double")})


def mapped_by_name(spark: SparkSession, path: str, rows: Rows) -> None:
    """Columns are mapped by name; one is renamed and one dropped."""
    _mapped(spark, path, rows, "name")


def mapped_by_id(spark: SparkSession, path: str, rows: Rows) -> None:
    """Columns are mapped by id; one is renamed and one dropped."""
    _mapped(spark, path, rows, "id")


def _mapped(spark: SparkSession, path: str, rows: Rows, mode: str) -> None:
    columns = {**_renamed(COLUMNS, {"device": "reading_of"}), "unit": "STRING"}
    _create(spark, path, columns, properties={"delta.columnMapping.mode": mode})
    first, second = _halves(rows)
    _append(frame(spark, first).withColumnRenamed("device", "reading_of").withColumn("unit", F.lit("C")), path)
    spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN reading_of TO device")
    spark.sql(f"ALTER TABLE delta.`{path}` DROP COLUMN unit")
    _append(frame(spark, second), path)


def column_of_a_dropped_name(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table in which a mapped column was dropped, and a new one has its name: the old values are gone."""
    _create(spark, path, COLUMNS, properties={"delta.columnMapping.mode": "name"})
    first, second = _halves(rows)
    _append(frame(spark, first).withColumn("device", F.lit("gone")), path)
    spark.sql(f"ALTER TABLE delta.`{path}` DROP COLUMN device")
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN device STRING")
    DeltaTable.forPath(spark, path).alias("t").merge(frame(spark, first).alias("s"), "t.id = s.id").whenMatchedUpdate(
        set={"device": "s.device"}
    ).execute()
    _append(frame(spark, second), path)


def widened_types(spark: SparkSession, path: str, rows: Rows) -> None:
    """Columns have been widened from INT to BIGINT and from FLOAT to DOUBLE: files of both types."""
    columns = {**COLUMNS, "id": "INT", "reading": "FLOAT"}
    _create(spark, path, columns, properties={"delta.enableTypeWidening": "true"})
    first, second = _halves(rows)
    narrow = frame(spark, first).withColumn("id", F.col("id").cast("int"))
    _append(narrow.withColumn("reading", F.col("reading").cast("float")), path)
    spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN id TYPE BIGINT")
    spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN reading TYPE DOUBLE")
    _append(frame(spark, second), path)


def widened_times(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table in which a column of dates, which the run does not use, has been widened to TIMESTAMP_NTZ."""
    columns = {**COLUMNS, "day": "DATE"}
    properties = {"delta.enableTypeWidening": "true", "delta.feature.timestampNtz": "supported"}
    _create(spark, path, columns, properties=properties)
    first, second = _halves(rows)
    _append(frame(spark, first).withColumn("day", F.col("stored_at").cast("date")), path)
    spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN day TYPE TIMESTAMP_NTZ")
    _append(frame(spark, second).withColumn("day", F.col("stored_at").cast("timestamp_ntz")), path)


def added_column(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table whose first file lacks a column that was added later, before the others."""
    first, second = _halves(rows)
    history.land(spark, first, path)
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN unit STRING FIRST")
    _append(frame(spark, second).withColumn("unit", F.lit("C")), path)


def generated_columns(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table in which a column is generated from another."""
    _create(spark, path, {**COLUMNS, "day": "DATE GENERATED ALWAYS AS (CAST(stored_at AS DATE))"})
    for half in _halves(rows):
        _append(frame(spark, half), path)


def identity_columns(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table in which a column numbers the rows."""
    _create(spark, path, {**COLUMNS, "number": "BIGINT GENERATED ALWAYS AS IDENTITY"})
    for half in _halves(rows):
        _append(frame(spark, half), path)


def clustered(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table that is clustered by time, and has been optimized."""
    _create(spark, path, COLUMNS, "CLUSTER BY (stored_at, site)")
    for half in _halves(rows):
        _append(frame(spark, half), path)
    spark.sql(f"OPTIMIZE delta.`{path}`")


def partitioned(spark: SparkSession, path: str, rows: Rows) -> None:
    """Two columns that the run uses are partition columns; one has nulls."""
    _create(spark, path, COLUMNS, "PARTITIONED BY (site, device)")
    for half in _halves(rows):
        _append(frame(spark, half), path)


def partitioned_by_a_generated_date(spark: SparkSession, path: str, rows: Rows) -> None:
    """Partitions are by a date that is generated from the arrival time."""
    day = "DATE GENERATED ALWAYS AS (CAST(stored_at AS DATE))"
    _create(spark, path, {**COLUMNS, "day": day}, "PARTITIONED BY (day)")
    for half in _halves(rows):
        _append(frame(spark, half), path)


def partitioned_by_a_time(spark: SparkSession, path: str, rows: Rows) -> None:
    """Partitions are by a timestamp, whose values have to be escaped in folders."""
    _create(spark, path, {**COLUMNS, "hour": "TIMESTAMP"}, "PARTITIONED BY (hour)")
    for half in _halves(rows):
        _append(frame(spark, half).withColumn("hour", F.date_trunc("hour", "stored_at")), path)


def partitioned_by_hard_values(spark: SparkSession, path: str, rows: Rows) -> None:
    """Values of partitions have blanks, slashes and other characters, are empty or null."""
    hard = ["a b", "a/b", "50% [x]", "k=v:w", "Zürich", "'q\"", "#?&+", "..", "", None]
    _create(spark, path, {**COLUMNS, "place": "STRING"}, "PARTITIONED BY (place)")
    place = F.element_at(F.array(*map(F.lit, hard)), (F.col("id") % len(hard) + 1).cast("int"))
    for half in _halves(rows):
        _append(frame(spark, half).withColumn("place", place), path)


def constraints(spark: SparkSession, path: str, rows: Rows) -> None:
    """Rows have to satisfy NOT NULL and a CHECK."""
    _create(spark, path, {**COLUMNS, "id": "BIGINT NOT NULL"})
    spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT positive CHECK (id >= 0)")
    for half in _halves(rows):
        _append(frame(spark, half), path)


def bounded_texts(spark: SparkSession, path: str, rows: Rows) -> None:
    """Texts are of the types VARCHAR and CHAR."""
    _create(spark, path, {**COLUMNS, "site": "VARCHAR(8)", "device": "VARCHAR(3)", "unit": "CHAR(4)"})
    for half in _halves(rows):
        _append(frame(spark, half).withColumn("unit", F.lit("C")), path)


def change_data_feed(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table whose change data feed is on, and the table has been changed."""
    _create(spark, path, COLUMNS, properties={"delta.enableChangeDataFeed": "true"})
    for half in _halves(rows):
        _append(frame(spark, [*half, *_spare(half)]), path)
    spark.sql(f"UPDATE delta.`{path}` SET reading = 1 WHERE id >= {_SPARE_ID}")  # noqa: S608  an own path
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id >= {_SPARE_ID}")  # noqa: S608  an own path


def checkpoints_with_sidecars(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table whose log has a checkpoint of version 2 with sidecars, and the commits before it are gone."""
    properties = {"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "5"}
    _many_commits(spark, path, rows, properties)


def checkpoint_of_several_parts(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table whose log has a classic checkpoint of several parts, and the commits before it are gone."""
    _many_commits(spark, path, rows, {"delta.checkpointInterval": "5"})


def checkpoint_of_one_part(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table whose log has a classic checkpoint of one file, and the commits before it are gone."""
    _many_commits(spark, path, rows, {"delta.checkpointInterval": "5"}, files_of_a_part=10_000)


def _many_commits(
    spark: SparkSession, path: str, rows: Rows, properties: Mapping[str, str], *, files_of_a_part: int = 2
) -> None:
    setting = "spark.databricks.delta.checkpoint.partSize"
    spark.conf.set(setting, str(files_of_a_part))
    try:
        _create(spark, path, COLUMNS, properties=properties)
        for first in range(0, len(rows), -(-len(rows) // 7)):
            _append(frame(spark, rows[first : first + -(-len(rows) // 7)]), path)
    finally:
        spark.conf.unset(setting)
    log = Path(path) / "_delta_log"
    assert any("checkpoint" in file.name and f"{5:020}" in file.name for file in log.iterdir())
    for version in range(5):
        for file in (
            f"{version:020}.json",
            f".{version:020}.json.crc",
            f"{version:020}.crc",
            f".{version:020}.crc.crc",
        ):
            (log / file).unlink(missing_ok=True)


def made_by_delta_rs(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table that is written by delta-rs."""
    import pyarrow as pa
    from deltalake import write_deltalake

    for half in _halves(rows):
        write_deltalake(path, pa.Table.from_pylist(half, history.SCHEMA), mode="append", partition_by=["site"])


def deleted_by_delta_rs(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table that is written, and rows of it are deleted, by delta-rs."""
    import pyarrow as pa
    from deltalake import DeltaTable as OtherTable
    from deltalake import write_deltalake

    for half in _halves(rows):
        write_deltalake(path, pa.Table.from_pylist([*half, *_spare(half)], history.SCHEMA), mode="append")
    table = OtherTable(path)
    table.delete(f"id >= {_SPARE_ID}")
    table.optimize.compact()
    table.create_checkpoint()


def nested_columns(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table that has a struct, an array and a map that the run does not use."""
    columns = {"tags": "ARRAY<STRING>", "labels": "MAP<STRING, INT>", "part": "STRUCT<a: INT, b: STRUCT<c: STRING>>"}
    _create(spark, path, {**COLUMNS, **columns})
    for half in _halves(rows):
        _append(
            frame(spark, half)
            .withColumn("tags", F.array(F.lit("a"), F.col("site")))
            .withColumn("labels", F.create_map(F.col("site"), F.lit(1)))
            .withColumn("part", F.expr("named_struct('a', 1, 'b', named_struct('c', site))")),
            path,
        )


def variants(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table that has a VARIANT that the run does not use."""
    _create(spark, path, {**COLUMNS, "payload": "VARIANT"})
    for half in _halves(rows):
        _append(frame(spark, half).withColumn("payload", F.expr("""parse_json('{"a": [1, "x"]}')""")), path)


def local_times(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table whose event time is a TIMESTAMP_NTZ."""
    _create(spark, path, {**COLUMNS, "happened_at": "TIMESTAMP_NTZ"})
    for half in _halves(rows):
        _append(frame(spark, half).withColumn("happened_at", F.col("happened_at").cast("timestamp_ntz")), path)


def default_values(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table in which a column has a default value."""
    feature = {"delta.feature.allowColumnDefaults": "supported"}
    _create(spark, path, {**COLUMNS, "unit": "STRING DEFAULT 'C'"}, properties=feature)
    first, second = _halves(rows)
    _append(frame(spark, first).withColumn("unit", F.lit("F")), path)
    frame(spark, second).createOrReplaceTempView("rest_of_history")
    names = ", ".join(COLUMNS)
    spark.sql(f"INSERT INTO delta.`{path}` ({names}) SELECT {names} FROM rest_of_history")  # noqa: S608  own names


def row_tracking(spark: SparkSession, path: str, rows: Rows) -> None:
    """Rows are tracked, and have been since the second commit."""
    first, second = _halves(rows)
    history.land(spark, first, path)
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    _append(frame(spark, [*second, *_spare(second)]), path)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id >= {_SPARE_ID}")  # noqa: S608  an own path


def commit_timestamps(spark: SparkSession, path: str, rows: Rows) -> None:
    """Commits have their time inside since the second."""
    first, second = _halves(rows)
    history.land(spark, first, path)
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')")
    _append(frame(spark, second), path)


def shallow_clone(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table whose files of the first half lie in the folder of the table of which this is a clone."""
    first, second = _halves(rows)
    origin = f"{path} ori'gin"
    history.land(spark, first, origin)
    spark.sql(f"CREATE TABLE delta.`{path}` SHALLOW CLONE delta.`{origin}`")
    _append(frame(spark, second), path)


def hard_names(spark: SparkSession, path: str, rows: Rows) -> None:
    """Names of columns have dots, umlauts and capitals."""
    names = HARD_NAMES
    _create(spark, path, {f"`{name}`": kind for name, kind in _renamed(COLUMNS, names).items()})
    for half in _halves(rows):
        _append(_with_names(frame(spark, half), names), path)


def mapped_hard_names(spark: SparkSession, path: str, rows: Rows) -> None:
    """Names of columns have blanks and brackets, under a mapping."""
    names, properties = HARDER_NAMES, {"delta.columnMapping.mode": "name"}
    columns = {f"`{name}`": kind for name, kind in _renamed(COLUMNS, names).items()}
    _create(spark, path, columns, properties=properties)
    for half in _halves(rows):
        _append(_with_names(frame(spark, half), names), path)


def replaced(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table that was replaced by another of other columns."""
    spark.range(10).write.format("delta").save(path)
    frame(spark, rows).write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(path)


def restored(spark: SparkSession, path: str, rows: Rows) -> None:
    """Make a table that was restored to an earlier version."""
    history.land(spark, rows, path)
    history.land(spark, _spare(rows), path)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 2 = 0")  # noqa: S608  an own path
    spark.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF 0")


HARD_NAMES = {
    "site": "Anlage.Nr",
    "device": "Gerät",
    "happened_at": "Happened.At",
    "stored_at": "STORED",
    "reading": "größe",
}
HARDER_NAMES = {
    "site": "site (of it)",
    "happened_at": "happened, at",
    "stored_at": "Stored At",
}


def _settings(names: Mapping[str, str]) -> dict[str, Any]:
    """Return the overrides of a pipeline over columns of other names."""
    quoted = {name: f"`{names.get(name, name)}`" for name in COLUMNS}
    reading = quoted["reading"]
    return {
        "source__event_time": {"column": quoted["happened_at"]},
        "source__arrival_time": {"column": quoted["stored_at"]},
        "source__source_partition": [names.get("site", "site")],
        "source__where": f"coalesce({reading}, 0) <= 47",
        "windows__key": [names.get("device", "device")],
        "windows__aggregates": {
            "readings": "count(*)",
            "total": f"sum({reading})",
            "mean": f"avg({reading})",
            "most": f"max({reading})",
        },
    }


#: Each kind by its name.
KINDS: dict[str, Kind] = {
    kind.make.__name__: kind
    for kind in (
        Kind(deleted_rows, is_native=False),
        Kind(deleted_rows_of_a_partition, is_native=False),
        Kind(updated_rows, is_native=False),
        Kind(mapped_by_name, is_native=False),
        Kind(mapped_by_id, is_native=False),
        Kind(column_of_a_dropped_name, is_native=False),
        Kind(widened_types, is_native=False),
        Kind(widened_times, is_native=False),
        Kind(added_column),
        Kind(generated_columns),
        Kind(identity_columns),
        Kind(clustered, is_one_file=True),
        Kind(partitioned),
        Kind(partitioned_by_a_generated_date),
        Kind(partitioned_by_a_time),
        Kind(partitioned_by_hard_values),
        Kind(constraints),
        Kind(bounded_texts, is_native=False),
        Kind(change_data_feed),
        Kind(checkpoints_with_sidecars),
        Kind(checkpoint_of_several_parts),
        Kind(checkpoint_of_one_part),
        Kind(made_by_delta_rs),
        Kind(deleted_by_delta_rs, is_one_file=True),
        Kind(nested_columns),
        Kind(variants, is_native=False),
        Kind(local_times, settings={"source__event_time": {"column": "happened_at", "timezone": "UTC"}}),
        Kind(default_values),
        Kind(row_tracking),
        Kind(commit_timestamps),
        Kind(shallow_clone),
        Kind(hard_names, settings=_settings(HARD_NAMES), names=HARD_NAMES),
        Kind(mapped_hard_names, settings=_settings(HARDER_NAMES), names=HARDER_NAMES, is_native=False),
        Kind(replaced, is_one_file=True),
        Kind(restored, is_one_file=True),
    )
}


def frame(spark: SparkSession, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Return rows of the history in one partition."""
    return frame_of(spark, rows, history.SCHEMA).coalesce(1)


def _halves(rows: Rows) -> tuple[Rows, Rows]:
    return rows[: len(rows) // 2], rows[len(rows) // 2 :]


def _spare(rows: Rows) -> Rows:
    """Return rows which are no part of the history: all that is done with them is to take them away."""
    return [{**row, "id": row["id"] + _SPARE_ID} for row in rows]


def _create(
    spark: SparkSession,
    path: str,
    columns: Mapping[str, str],
    layout: str = "",
    *,
    properties: Mapping[str, str] | None = None,
) -> None:
    declared = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in (properties or {}).items())
    settings = f"TBLPROPERTIES ({pairs})" if pairs else ""
    spark.sql(f"CREATE TABLE delta.`{path}` ({declared}) USING delta {layout} {settings}")


def _append(rows: DataFrame, path: str) -> None:
    rows.write.format("delta").mode("append").save(path)


def _renamed(columns: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    return {names.get(name, name): kind for name, kind in columns.items()}


def _with_names(rows: DataFrame, names: Mapping[str, str]) -> DataFrame:
    return rows.toDF(*(names.get(name, name) for name in rows.columns))
