"""Source files that a run cannot read: deleted after it had pinned their version, or damaged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote, urlsplit

from pyspark.sql import SparkSession

from spark_jobs.local_rows import local_rows
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.tables import delta_log, error_causes, source
from spark_jobs.tables.source_tables import tables_of

# Parts of the messages of Spark, Delta and Hadoop about a missing file.
_MISSING = ("FILE_NOT_EXIST", "DELTA_FILE_NOT_FOUND", "FileNotFoundException", "does not exist")


def deletion(
    spark: SparkSession, pipeline: Pipeline, versions: Mapping[str, int], problem: BaseException
) -> str | None:
    """Return the message for a `problem` that a deleted source file caused; None if it has another cause.

    `versions` are the planned versions by the names of the sources. A message costs a Spark job.
    """
    messages = [text for text in error_causes.causes(problem) if any(word in text for word in _MISSING)]
    for name, table in tables_of(pipeline).items():
        location = source.location(spark, table)
        file = _named_file(location, messages)
        if file is None:
            continue
        message = f"source.table: version {versions[name]} of '{table}' was planned, found its file {file} deleted"
        if _has(spark, table, source.pinned_version(spark, table), file):
            return f"{message}, which its newest version has too: restore the file, or take its rows out of the table"
        return f"{message} by a vacuum: plan again to take the newest version"
    return None


def _has(spark: SparkSession, table: str, version: int, file: str) -> bool:
    """Return whether a table has a file, given relative to its folder, at `version`."""
    name = file.rsplit("/", 1)[-1]
    names = local_rows(spark, [(name,), (quote(name),)], "name string")
    alike = delta_log.sizes_of(spark, table, version, names).select("path").collect()
    return file in {unquote(row.path) for row in alike}


def damage(spark: SparkSession, pipeline: Pipeline, versions: Mapping[str, int], problem: BaseException) -> str | None:
    """Return the message for a `problem` that a damaged source file caused; None if it has another cause.

    `versions` are the planned versions by the names of the sources.
    """
    messages = [text for text in error_causes.causes(problem) if "FAILED_READ_FILE" in text]
    for name, table in tables_of(pipeline).items():
        file = _named_file(source.location(spark, table), messages)
        if file is not None:
            place = f"the file {file} of version {versions[name]} of '{table}'"
            remedy = "restore the file, or take its rows out of the table"
            return f"source.table: {place} cannot be read ({error_causes.first_line(problem)}): {remedy}"
    return None


def _named_file(location: str, messages: Iterable[str]) -> str | None:
    """Return the file of the table at `location` that a message names, relative to the table."""
    folder = urlsplit(location).path.rstrip("/")
    for message in messages:
        for spelling in {folder, quote(folder)}:
            if match := re.search(re.escape(spelling) + r"/([^\s'\"]+)", message):
                return unquote(match[1]).rstrip(".,;:)")
    return None
