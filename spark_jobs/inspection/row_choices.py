"""Choices of rows: by their times and texts of their key, or by the text of one column."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spark_jobs.inspection import value_texts
from spark_jobs.inspection.inspections import RowChoice
from spark_jobs.semantics.rows.events import Event, Row
from spark_jobs.semantics.rows.expressions import UnknownColumnError, column

#: Decides about a row of the source; the event is None for an invalid row.
Choose = Callable[[Row, Event | None], bool]


def is_choice(choice: RowChoice) -> Choose:
    """Return whether a row has the times and texts of a choice."""

    def choose(row: Row, event: Event | None) -> bool:
        if event is None or (event.event_us, event.arrival_us) != (choice.event_us, choice.arrival_us):
            return False
        return has_values(row, choice.values)

    return choose


def has_value(name: str, text: str) -> Choose:
    """Return whether a column of a row has a text."""
    return lambda row, _: has_values(row, {name: text})


def has_values(row: Row, values: Mapping[str, str]) -> bool:
    """Return whether columns of a row have these texts; a row without one of the columns has not."""
    try:
        return all(value_texts.is_of(column(row, name), text) for name, text in values.items())
    except UnknownColumnError:
        return False
