"""The staging area of a run: what it would publish, as Delta tables that anyone can look at and no reader sees.

Each part of a staged table is written once: a part that an earlier attempt has committed is left as it is, so the same
command finishes what a killed one began.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline import published_tables
from spark_jobs.tables import delta_log, files
from spark_jobs.tables.lake import Lake, behind_folder

# Columns of this prefix serve the run itself: they are staged, and no published table has them.
WORKING_PREFIX = "__tm_"

# The last word of the names of parts of `panes` that hold retractions and no panes.
RETRACTIONS = "retractions"

_STAGED = tuple(table.name for table in published_tables.ALL if table.statistics)


def stage(rows: DataFrame, lake: Lake, run_id: str, table: str, part: str, *, folder: str | None = None) -> None:
    """Add `rows` (contract columns without `run_id`) to what the run stages for `table`, unless `part` is there.

    They go into the run's own folder, or into `folder`, which is published otherwise.
    """
    (
        rows.withColumn("run_id", F.lit(run_id))
        .write.format("delta")
        .mode("append")
        .option("txnAppId", part)
        .option("txnVersion", 0)
        .option(*looked_up(table, (*rows.columns, "run_id")))
        .save(lake.staged(table, folder or run_id))
    )


def begin(rows: DataFrame, lake: Lake, run_id: str, table: str) -> None:
    """Make the staged table for `rows`, unless it is there: of several processes that make it at once only one can.

    A process that finds it there has nothing to compute again when another is quicker to add its first rows.
    """
    if not delta_log.exists(rows.sparkSession, lake.staged(table, run_id)):
        delta_log.tried_again(lambda: stage(rows.limit(0), lake, run_id, table, "begin"))


def looked_up(table: str, columns: Collection[str]) -> tuple[str, str]:
    """The option of a new `table`, and its value: the columns whose minima and maxima Delta keeps."""
    names = published_tables.BY_NAME[table].statistics
    return "delta.dataSkippingStatsColumns", ",".join(name for name in names if name in columns)


def staged(spark: SparkSession, lake: Lake, run_id: str, table: str) -> DataFrame:
    """The rows that the run would publish into `table`, read as in `part`."""
    home = lake.staged(table, run_id)
    # Looked up anew, for other processes may have staged since Spark read the log.
    if delta_log.version(spark, home) is None:
        return spark.read.format("delta").load(home)  # says best what is missing
    rows = _read(spark, home, delta_log.live_files(delta_log.actions(spark, home)))
    return rows.select(*published_columns(rows.columns))


def part(spark: SparkSession, lake: Lake, run_id: str, table: str, name: str) -> DataFrame:
    """The rows that the run has staged for `table` as the part `name`, also their columns that are not published.

    Read from its files, as the log names them: Delta would take several jobs to know the table after every commit.
    Raises LookupError for a part that has not been staged.
    """
    home = lake.staged(table, run_id)
    commit = next((c for c in delta_log.commits(spark, home) if _is_part(c, name)), None)
    if commit is None:
        raise LookupError(f"{home}: asked for the part {name}, which no commit has added")
    return _read(spark, home, [action["add"] for action in commit if "add" in action])


def _read(spark: SparkSession, home: str, added: Sequence[Mapping[str, Any]]) -> DataFrame:
    schema = delta_log.schema(spark, home)
    names = [f"{home}/{unquote(file['path'])}" for file in added]
    return spark.read.schema(schema).parquet(*names) if names else spark.createDataFrame([], schema)


def _is_part(commit: list[dict[str, Any]], name: str) -> bool:
    return any(action["txn"]["appId"] == name for action in commit if "txn" in action)


def tidy(spark: SparkSession, lake: Lake, run_id: str) -> None:
    """Delete what a failed attempt has written of parts that it has not staged: room that the next one may need."""
    for table in _STAGED:
        for folder in (run_id, behind_folder(run_id)):
            home = lake.staged(table, folder)
            found = [file.path for file in files.below(spark, home)]
            if not found:
                continue
            kept = {unquote(file["path"]) for file in delta_log.live_files(delta_log.actions(spark, home))}
            files.delete(spark, [f"{home}/{path}" for path in found if path not in kept and not _is_logged(path)])


def _is_logged(path: str) -> bool:
    """Whether a file of a staged table is part of its log, and no commit that has failed."""
    return path.startswith("_delta_log/") and not path.endswith(".tmp")


def row_count(spark: SparkSession, lake: Lake, run_id: str, table: str) -> int:
    """How many rows the run has staged for `table`, from what Delta wrote down of its files."""
    return sum(told["numRecords"] for told in _statistics(spark, lake, run_id, table))


def panes_by_timing(spark: SparkSession, lake: Lake, run_id: str) -> Counter[str]:
    """How many panes of each timing the run has staged, as in `row_count`: a file of panes holds one timing.

    Retractions are counted as "retractions".
    """
    counts: Counter[str] = Counter()
    for commit in delta_log.commits(spark, lake.staged("panes", run_id)):
        retracts = any(action["txn"]["appId"].endswith(RETRACTIONS) for action in commit if "txn" in action)
        for told in (json.loads(action["add"]["stats"]) for action in commit if "add" in action):
            if told["numRecords"]:
                counts[RETRACTIONS if retracts else told["minValues"]["timing"]] += told["numRecords"]
    return counts


def _statistics(spark: SparkSession, lake: Lake, run_id: str, table: str) -> list[dict[str, Any]]:
    live = delta_log.live_files(delta_log.actions(spark, lake.staged(table, run_id)))
    return [json.loads(file["stats"]) for file in live]


def published_columns(names: list[str]) -> list[str]:
    """Those of a staged table's columns that are published."""
    return [name for name in names if not name.startswith(WORKING_PREFIX)]


def found(spark: SparkSession, lake: Lake, run_id: str, name: str) -> DataFrame:
    """What the run has kept under `name`."""
    return spark.read.parquet(lake.work(run_id, name))


def kept(rows: DataFrame, lake: Lake, run_id: str, name: str, *, reader: SparkSession | None = None) -> DataFrame:
    """`rows`, computed once for the run and read from storage from then on, by `reader` if it is another session."""
    path = lake.work(run_id, name)
    spark = reader or rows.sparkSession
    if not files.exists(spark, f"{path}/_SUCCESS"):
        rows.write.mode("overwrite").parquet(path)
    return spark.read.schema(rows.schema).parquet(path)
