"""The tables of a pipeline's sources: their names and paths, known without Spark."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.tables.errors import SourceError


def tables_of(pipeline: Pipeline) -> dict[str, str]:
    """Return the table of each source by its name; the name of a single source is empty."""
    return {united.name: united.source.table for united in pipeline.sources} or {"": pipeline.source.table}


def is_path(table: str) -> bool:
    """Return whether `table` is a path or URI; otherwise it is a name in the catalog."""
    return "/" in table or table.startswith(".")


def absolute_path(table: str) -> str:
    """Return the absolute path of a table: Delta does not know the working directory."""
    return table if urlsplit(table).scheme else str(Path(table).absolute())


def no_delta_table(table: str) -> SourceError:
    """Return the error for a table that is no Delta table."""
    if not is_path(table) and _has_log(table):
        return SourceError(
            f"source.table: '{table}' is not a Delta table. Without a slash it is a name in the catalog. "
            f"To read the folder of this name, write './{table}'.",
            code=ErrorCode.NOT_A_DELTA_TABLE,
        )
    return SourceError(
        f"source.table: '{table}' is not a Delta table. "
        "Give the path of a Delta table (its folder holds _delta_log) or a name as catalog.schema.table.",
        code=ErrorCode.NOT_A_DELTA_TABLE,
    )


def require_local(table: str) -> None:
    """Raise SourceError if the table is a local path without a log; a name or a URI is left to Spark."""
    if is_path(table) and not urlsplit(table).scheme and not _has_log(table):
        raise no_delta_table(table)


def _has_log(folder: str) -> bool:
    return (Path(folder) / "_delta_log").is_dir()
