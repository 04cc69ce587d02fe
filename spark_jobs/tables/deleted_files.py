"""Files of a source that were deleted after a run had pinned their version, by a vacuum or by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote, urlsplit

from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.tables import delta_log, error_causes, source

# How Spark, Delta and Hadoop say that a file is not there.
_MISSING = ("FILE_NOT_EXIST", "DELTA_FILE_NOT_FOUND", "FileNotFoundException", "does not exist")


def told(spark: SparkSession, pipeline: Pipeline, versions: Mapping[str, int], problem: BaseException) -> str | None:
    """What to say of a `problem` that a deleted file of a source has made; None if it comes of something else.

    `versions` are those that were planned, by the names of the sources. Costs a Spark job if there is something to say.
    """
    said = [text for text in error_causes.causes(problem) if any(word in text for word in _MISSING)]
    for name, table in source.tables_of(pipeline).items():
        location = source.location(spark, table)
        file = _below(location, said)
        if file is None:
            continue
        asked = f"source.table: version {versions[name]} of '{table}' was planned, found its file {file} deleted"
        newest = {unquote(path) for path in delta_log.sizes(spark, location, source.pinned_version(spark, table))}
        if file in newest:
            return f"{asked}, which its newest version has too: restore the file, or take its rows out of the table"
        return f"{asked} by a vacuum: plan again to take the newest version"
    return None


def _below(location: str, said: Iterable[str]) -> str | None:
    """The file of the table at `location` that is named, as the table calls it."""
    folder = urlsplit(location).path.rstrip("/")
    for text in said:
        for written in {folder, quote(folder)}:
            if named := re.search(re.escape(written) + r"/([^\s'\"]+)", text):
                return unquote(named[1]).rstrip(".,;:)")
    return None
