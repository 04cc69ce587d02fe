"""Figures: what Spark measured of one step of a run, each with its unit, its meaning and its text for people.

A step that ran without Spark has none, and a figure that does not apply is absent. Standard library only, because
Airflow and the pages read this module without Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from spark_jobs.job_protocol import StepState

NOTHING = "—"
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB")


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


class Measured(Protocol):
    """A step with its figures, by name."""

    @property
    def step(self) -> str:
        """The step's name."""

    @property
    def state(self) -> str:
        """How the step ended."""

    @property
    def figures(self) -> Mapping[str, float]:
        """Spark's figures; empty for a step without Spark."""


@dataclass(frozen=True)
class Line:
    """A figure: its name, its meaning, and its text for each step."""

    label: str
    meaning: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class FiguresTable:
    """The steps in their order, and a line for each figure that one of them has."""

    steps: tuple[str, ...]
    lines: tuple[Line, ...]


def figures_table(steps: Iterable[Measured]) -> FiguresTable | None:
    """Return a table with a column for each step that ran on Spark; None if no step did."""
    measured = [step for step in steps if step.figures]
    if not measured:
        return None
    lines = (
        Line(
            figure.label,
            figure.meaning.replace("`", ""),
            tuple(with_unit(figure.unit, step.figures.get(figure.name)) for step in measured),
        )
        for figure in FIGURES
        if any(figure.name in step.figures for step in measured)
    )
    return FiguresTable(tuple(map(_heading, measured)), tuple(lines))


def with_unit(unit: Unit, value: float | None) -> str:
    """Write a figure with its unit; a missing one as a dash."""
    if value is None:
        return NOTHING
    match unit:
        case Unit.BYTES:
            return size(value)
        case Unit.SHARE:
            return f"{_number(100 * value)}%"
        case Unit.RATIO:
            return _number(value)
        case Unit.ROWS_PER_SECOND:
            return f"{round(value):,} {unit}"
        case Unit.SECONDS | Unit.ROWS | Unit.JOBS:
            return f"{_number(value)} {unit}"


def size(size_bytes: float) -> str:
    """Write a number of bytes in the largest unit that it reaches: `1.2 GiB`."""
    unit = 0
    while size_bytes >= 1024 and unit + 1 < len(_SIZES):
        size_bytes, unit = size_bytes / 1024, unit + 1
    return f"{size_bytes:,.1f} {_SIZES[unit]}" if unit else f"{size_bytes:,.0f} {_SIZES[unit]}"


def _number(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def _heading(step: Measured) -> str:
    return step.step if step.state == StepState.DONE else f"{step.step}, {step.state}"
