"""Time order: the rows of a large table lie in files by time, so that a run over few windows replaces few files.

Each task sorts its rows and writes a file for each `ROWS_OF_A_FILE`. So a window has rows in at most one or two files
of each task, however long the history is. Maintenance puts files together that are adjacent in time.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from spark_jobs.pipeline.published_tables import BY_NAME
from spark_jobs.tables.clustering import TIMES

#: The number of rows in a file, at most. A file of so many rows is written anew in a fraction of a second.
ROWS_OF_A_FILE = 100_000


def in_time_order(rows: DataFrame, table: str) -> DataFrame:
    """Return the rows of a published table, sorted by time in each partition.

    Rows that belong to no window stay as they are: no run over a part of time replaces them.
    """
    name = next((name for name in TIMES if name in rows.columns), None)
    return rows if name is None or BY_NAME[table].timeless else rows.sortWithinPartitions(name)
