"""Spark's figures of the steps of a run as one table: a row a figure, a column a step that ran on Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from spark_jobs.figures import FIGURES, Unit
from spark_jobs.job_protocol import StepState
from spark_jobs.report.text import NOTHING, number, per_cent, size


class Measured(Protocol):
    """A step with its figures, by the names of `spark_jobs.figures`."""

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
    """Return the table; None if no step ran on Spark."""
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
    return FiguresTable(tuple(_heading(step) for step in measured), tuple(lines))


def with_unit(unit: Unit, value: float | None) -> str:
    """Write a figure with its unit; a missing one as a dash."""
    if value is None:
        return NOTHING
    match unit:
        case Unit.BYTES:
            return size(value)
        case Unit.SHARE:
            return per_cent(value)
        case Unit.RATIO:
            return number(value)
        case Unit.ROWS_PER_SECOND:
            return f"{number(round(value))} {unit}"
        case Unit.SECONDS | Unit.ROWS | Unit.JOBS:
            return f"{number(value)} {unit}"


def _heading(step: Measured) -> str:
    return step.step if step.state == StepState.DONE else f"{step.step}, {step.state}"
