"""Figures: what Spark measured of one step of a run, each figure with its unit and its meaning.

A step that ran without Spark has none, and a figure that does not apply is absent. Standard library only, because
Airflow and the pages read this module without Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Unit(StrEnum):
    """The unit of a figure. `RATIO` is a quotient of equal units, and `SHARE` one from 0 to 1."""

    SECONDS = "s"
    BYTES = "bytes"
    ROWS = "rows"
    ROWS_PER_SECOND = "rows/s"
    JOBS = "jobs"
    RATIO = "ratio"
    SHARE = "0 to 1"


@dataclass(frozen=True)
class Figure:
    """One figure; `absent` is the case in which a step of Spark has none."""

    name: str
    unit: Unit
    meaning: str
    absent: str = ""

    @property
    def label(self) -> str:
        """The name for people."""
        return self.name.replace("_", " ")


SECONDS = Figure("seconds", Unit.SECONDS, "time that the step took, until its figures were read")
STARTUP_SECONDS = Figure(
    "startup_seconds",
    Unit.SECONDS,
    "time from the start of the step's process to the first Spark job",
    "the step is not the first of its Spark application",
)
SPARK_JOBS = Figure("spark_jobs", Unit.JOBS, "Spark jobs that began during the step")
TASK_SECONDS = Figure("task_seconds", Unit.SECONDS, "run time of all tasks together")
ROWS_READ = Figure("rows_read", Unit.ROWS, "rows that tasks read from files; a row counts each time it is read")
ROWS_PER_SECOND = Figure("rows_per_second", Unit.ROWS_PER_SECOND, "`rows_read` / `seconds`")
BYTES_READ = Figure("bytes_read", Unit.BYTES, "bytes that tasks read from files")
BYTES_WRITTEN = Figure("bytes_written", Unit.BYTES, "bytes that tasks wrote to files")
SHUFFLE_BYTES_WRITTEN = Figure("shuffle_bytes_written", Unit.BYTES, "bytes that tasks wrote for other tasks")
SHUFFLE_BYTES_READ = Figure("shuffle_bytes_read", Unit.BYTES, "bytes that tasks read of other tasks")
SPILL_MEMORY_BYTES = Figure("spill_memory_bytes", Unit.BYTES, "what was spilled, by its size in memory")
SPILL_DISK_BYTES = Figure("spill_disk_bytes", Unit.BYTES, "what was spilled, by its size on disk")
SKEW = Figure(
    "skew",
    Unit.RATIO,
    "run time of the slowest task / run time of the median task, in the stage with the longest run time of its tasks",
    "the median task took less than a millisecond",
)
NATIVE_SHARE = Figure(
    "native_share",
    Unit.SHARE,
    "share of `task_seconds` in native code: the time of a query's tasks, times the share of its operators that are "
    "Comet's",
    "no task ran",
)
JOBS_NOT_MEASURED = Figure(
    "jobs_not_measured",
    Unit.JOBS,
    "jobs that Spark forgot before they were measured, so that the sums above are too small",
    "all jobs were measured",
)

#: In the order in which a reader wants them.
FIGURES = (
    *(SECONDS, STARTUP_SECONDS, SPARK_JOBS, TASK_SECONDS, NATIVE_SHARE, SKEW),
    *(ROWS_READ, ROWS_PER_SECOND, BYTES_READ, BYTES_WRITTEN),
    *(SHUFFLE_BYTES_WRITTEN, SHUFFLE_BYTES_READ, SPILL_MEMORY_BYTES, SPILL_DISK_BYTES, JOBS_NOT_MEASURED),
)
