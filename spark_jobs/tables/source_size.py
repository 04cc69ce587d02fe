"""The number of rows in a pipeline's sources, known before Spark starts: by the statistics of Delta's logs."""

from __future__ import annotations

from urllib.parse import urlsplit

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.tables import delta_rs
from spark_jobs.tables.source_tables import is_path, tables_of

# Java's optimizing compiler costs a run of so many rows more time than it saves. Plans over a census are interpreted,
# and a census may have nearly as many groups as rows: those of 300,000 rows take half as long again without it.
_FEW_ROWS = 20_000
# Reading the statistics of more files takes time itself.
_FEW_FILES = 2_000


def has_few_rows(pipeline: Pipeline) -> bool:
    """Return whether the sources have few rows together; False if that is not known at once.

    It is not known for names of a catalog, remote tables, tables of many files and files without statistics.
    """
    counts = [_rows(table) for table in tables_of(pipeline).values()]
    return None not in counts and sum(count for count in counts if count is not None) <= _FEW_ROWS


def _rows(table: str) -> int | None:
    if not is_path(table) or urlsplit(table).scheme:
        return None
    return delta_rs.row_count(table, most_files=_FEW_FILES)
