"""A request names a window by its start, or by an instant that lies in no other one."""

from __future__ import annotations

from datetime import timedelta

import pytest

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.explain.explain import Reading
from spark_jobs.pipeline import Pipeline
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.tables.repaired_windows import RepairedWindows
from tests.support import history

START_MS = micros(history.START) // 1000


def named(pipeline: Pipeline, minutes: int) -> int:
    """Return the minute at which the named window starts."""
    instant = micros(history.START + timedelta(minutes=minutes)) // 1000
    # No row of the source is read.
    reading = Reading(pipeline, {}, None, (None, None), RepairedWindows())  # type: ignore[arg-type]
    return (reading.start_ms(instant) - START_MS) // 60_000


def test_an_instant_inside_names_the_window() -> None:
    tumbling = history.pipeline("rows")
    assert [named(tumbling, minutes) for minutes in (0, 5, 10)] == [0, 0, 10]


def test_an_instant_in_several_windows_is_refused_with_their_starts() -> None:
    sliding = history.pipeline("rows", windows__kind="sliding", windows__slide="5 minutes")
    assert named(sliding, 5) == 5
    with pytest.raises(InputError, match=r"--window: 2024-03-30T22:07:00 lies in 2 windows .*T22:00:00, .*T22:05:00"):
        named(sliding, 7)
