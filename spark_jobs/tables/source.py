"""The source: a Delta table read at one pinned version, or several of them united."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.sources import SOURCE
from spark_jobs.tables import commits, delta_log
from spark_jobs.tables.errors import SourceError


def is_path(table: str) -> bool:
    """Whether `table` is a path or URI; otherwise it is a name in the catalog."""
    return "/" in table or table.startswith(".")


def pinned_version(spark: SparkSession, table: str) -> int:
    """The table's newest version. Raises SourceError if there is no Delta table."""
    missing = (
        f"source.table: asked for the Delta table '{table}', found none there. "
        "Give the path of a Delta table (its folder holds _delta_log) or a name as catalog.schema.table."
    )
    if is_path(table):
        version = delta_log.version(spark, located(table))
        if version is None:
            raise SourceError(missing)
        return version
    try:
        newest = spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").head()
    except AnalysisException as problem:
        raise SourceError(missing) from problem
    if newest is None:
        raise SourceError(missing)
    return int(newest["version"])


def located(table: str) -> str:
    """The path of a table in full: Delta does not know the folder that a relative one starts from."""
    return table if urlsplit(table).scheme else str(Path(table).absolute())


def read(spark: SparkSession, table: str, version: int) -> DataFrame:
    """The rows of the table at `version`. Raises SourceError if that version can no longer be read."""
    reader = spark.read.format("delta").option("versionAsOf", version)
    try:
        return reader.load(located(table)) if is_path(table) else reader.table(table)
    except AnalysisException as problem:
        raise SourceError(
            f"source.table: version {version} of '{table}' was planned, but can no longer be read: plan again "
            "to take the newest version."
        ) from problem


def tables_of(pipeline: Pipeline) -> dict[str, str]:
    """The table of each source by its name, of one that is alone by no name."""
    return {united.name: united.source.table for united in pipeline.sources} or {"": pipeline.source.table}


def pinned(spark: SparkSession, pipeline: Pipeline) -> dict[str, int]:
    """The newest version of each source by its name, of one that is alone by no name. Raises as `pinned_version`."""
    return {name: pinned_version(spark, table) for name, table in tables_of(pipeline).items()}


def events(spark: SparkSession, pipeline: Pipeline, versions: Mapping[str, int]) -> DataFrame:
    """The rows of the pipeline's source at its pinned version; in commit order those of all commits, with their commit.

    Of several sources the rows of each with its name in the column `source`, and null in columns that it lacks. Raises
    SourceError if they can no longer be read, or have columns that do not go together.
    """
    if pipeline.sources:
        return _united(spark, pipeline, versions)
    table, version = pipeline.source.table, versions[""]
    if not pipeline.replay.by_commit:
        return read(spark, table, version)
    return commits.read(spark, table, location(spark, table), version)


def inputs(spark: SparkSession, pipeline: Pipeline, versions: Mapping[str, int]) -> tuple[DataFrame, DataFrame | None]:
    """The rows of the two inputs of a join at their pinned versions; None for the second where one source is split.

    Raises SourceError as `events` does.
    """
    if not pipeline.sources:
        table = pipeline.source.table
        return _nameless(read(spark, table, versions[""]), "source", table), None
    left, right = _several(spark, pipeline, versions)
    return left, right


def together(frames: Sequence[DataFrame]) -> DataFrame:
    """Rows of several sources in one frame, null in columns that theirs lacks. Raises SourceError if types differ."""
    try:
        return reduce(partial(DataFrame.unionByName, allowMissingColumns=True), frames)
    except AnalysisException as problem:
        raise SourceError(f"sources: their columns do not go together: {str(problem).splitlines()[0]}") from problem


def _united(spark: SparkSession, pipeline: Pipeline, versions: Mapping[str, int]) -> DataFrame:
    found = zip(_several(spark, pipeline, versions), pipeline.sources, strict=True)
    return together([rows.withColumn(SOURCE, F.lit(united.name)) for rows, united in found])


def _several(spark: SparkSession, pipeline: Pipeline, versions: Mapping[str, int]) -> list[DataFrame]:
    return [
        _nameless(read(spark, u.source.table, versions[u.name]), f"sources[{number}]", u.source.table)
        for number, u in enumerate(pipeline.sources)
    ]


def _nameless(rows: DataFrame, key: str, table: str) -> DataFrame:
    """Rows to which the name of their source can be added. Raises SourceError."""
    if SOURCE in (name.lower() for name in rows.columns):
        raise SourceError(
            f"{key}.table: found a column '{SOURCE}' in '{table}', where the name of a "
            "row's source has to stand: read the table through a view that calls the column otherwise"
        )
    return rows


def extent(spark: SparkSession, table: str) -> tuple[int, int]:
    """Files and bytes of the table's newest version."""
    name = f"delta.`{located(table)}`" if is_path(table) else table
    detail = spark.sql(f"DESCRIBE DETAIL {name}").head()
    return (0, 0) if detail is None else (int(detail["numFiles"]), int(detail["sizeInBytes"]))


def size_of(spark: SparkSession, table: str, version: int, files: Collection[str]) -> int:
    """Bytes of those of `files` (whole paths) that are the table's."""
    names = {file.rsplit("/", 1)[-1] for file in files}
    sizes = delta_log.sizes(spark, location(spark, table), version)
    return sum(size for path, size in sizes.items() if path.rsplit("/", 1)[-1] in names)


@dataclass(frozen=True)
class Changed:
    """What commits did to a table's rows: the files that they added, and how many they took away.

    `added` has the files by the last version that still has them: compaction may have written their rows anew since.
    """

    added: Mapping[int, Sequence[str]]
    removed: int


def changed(spark: SparkSession, table: str, since: int, until: int) -> Changed | None:
    """What the commits behind the version `since`, up to `until`, did to the rows; None if their log is gone.

    Files that hold the same rows as others before, as compaction writes them, are no change.
    """
    found = delta_log.changes(spark, location(spark, table), since, until)
    if found is None:
        return None
    last_seen: dict[str, int] = {}
    removed = 0
    for version, actions in found.items():
        for action in actions:
            if "remove" in action:
                if action["remove"]["dataChange"]:
                    removed += 1
                elif action["remove"]["path"] in last_seen:
                    last_seen[action["remove"]["path"]] = version - 1
            elif "add" in action and action["add"]["dataChange"]:
                last_seen[action["add"]["path"]] = until
    added: dict[int, list[str]] = {}
    for path, version in last_seen.items():
        added.setdefault(version, []).append(path)
    return Changed(added, removed)


def first_to_bring(spark: SparkSession, table: str, version: int, rows: DataFrame) -> int | None:
    """The first version of the table that has brought one of `rows`, which are some of `read` at `version`.

    A file that was written in place of others counts from the first of those. The version after this one if there are
    no rows, None if the log no longer tells.
    """
    names = {row.name for row in rows.select(F.col("_metadata.file_name").alias("name")).distinct().collect()}
    if not names:
        return version + 1
    commits_made = delta_log.changes(spark, location(spark, table), -1, version)
    if commits_made is None:
        return None
    since: dict[str, int] = {}
    for number, actions in commits_made.items():
        replaced = [since[a["remove"]["path"]] for a in actions if "remove" in a and a["remove"]["path"] in since]
        since |= {a["add"]["path"]: min([number, *replaced]) for a in actions if "add" in a}
    return min(number for path, number in since.items() if unquote(path).rsplit("/", 1)[-1] in names)


def of_files(spark: SparkSession, table: str, version: int, files: Sequence[str]) -> DataFrame:
    """The rows of some of the table's files at a version, which are named as in its log."""
    names = [unquote(file).rsplit("/", 1)[-1] for file in files]
    return read(spark, table, version).where(F.col("_metadata.file_name").isin(names))


def location(spark: SparkSession, table: str) -> str:
    """The folder of a table."""
    if is_path(table):
        return located(table)
    return str(spark.sql(f"DESCRIBE DETAIL {table}").collect()[0]["location"])
