"""Late left rows of an as-of join find what their key has kept, also where timers were lost and where rows emit."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import AsOf, Emit, EmitKind, Strategy, Watermark
from spark_jobs.replay.joins.as_of_join import as_of_join
from spark_jobs.semantics.joins.joining_job import JoinSource
from tests.support.engine import rows_of
from tests.support.joining import inputs_of
from tests.vectors.spark_joins import joining

pytestmark = pytest.mark.spark

MARKED = JoinSource(Watermark(Strategy.PUNCTUATED, when="marker"))
BOUNDED = JoinSource(Watermark(out_of_orderness_ms=0))
TICKS, ROWS = Emit(EmitKind.EVERY, interval_ms=1), Emit(EmitKind.PER_EVENT)

Moment = tuple[str, int] | int


def versions(
    session: SparkSession, *moments: Moment, source: JoinSource = MARKED, emit: Emit = ROWS
) -> dict[int, int | None]:
    """Join rows of one key; return the event time of each left row's version.

    A moment is a side and an event time, or the time of a marked row of another key.
    """
    rows: list[dict[str, Any]] = []
    for index, moment in enumerate(moments):
        side, ts = ("left", moment) if isinstance(moment, int) else moment
        key, marker = ("z", True) if isinstance(moment, int) else ("k", False)
        place = {"index": index, "partition": "p", "arrival_us": index * 10_000}
        rows.append({**place, "side": side, "key": key, "ts": ts, "marker": marker})
    pipeline = joining(source, None, emit)
    joined = as_of_join(*inputs_of(session, rows, pipeline), pipeline, AsOf.LEFT_OUTER)
    pairs = [(row["left"], row["right"]) for row in rows_of(joined.pairs)]
    return {left["ts"]: None if right is None else right["ts"] for left, right in pairs if left["key"] == "k"}


LEFT, RIGHT = "left", "right"


def test_a_version_without_a_timer_drops_nothing(session: SparkSession) -> None:
    moments: tuple[Moment, ...] = ((LEFT, 100), 50, (RIGHT, 80), (RIGHT, 60), 65, 90, (LEFT, 70), 91)
    assert versions(session, *moments) == {100: 80, 70: 60}


def test_a_version_with_a_timer_drops_older_ones(session: SparkSession) -> None:
    moments: tuple[Moment, ...] = ((LEFT, 100), 50, (RIGHT, 60), 65, (RIGHT, 80), 90, (LEFT, 70), 91)
    assert versions(session, *moments) == {100: 80, 70: None}


@pytest.mark.soak
def test_a_late_version_of_the_same_advance_is_left(session: SparkSession) -> None:
    moments: tuple[Moment, ...] = ((RIGHT, 60), (RIGHT, 80), 90, (RIGHT, 65), (LEFT, 70), (RIGHT, 62), 91)
    assert versions(session, *moments) == {70: 65}


@pytest.mark.soak
def test_a_late_version_replaces_one_of_its_time(session: SparkSession) -> None:
    moments: tuple[Moment, ...] = ((RIGHT, 60), 90, (LEFT, 70), (RIGHT, 60), 91)
    assert versions(session, *moments) == {70: 60}


@pytest.mark.parametrize("emit", [TICKS, ROWS], ids=str)
def test_a_key_that_fires_for_a_left_row_drops_versions(session: SparkSession, emit: Emit) -> None:
    moments = ((RIGHT, 10), (RIGHT, 20), (LEFT, 22), (RIGHT, 25), (LEFT, 15), (LEFT, 23), (RIGHT, 26))
    assert versions(session, *moments, source=BOUNDED, emit=emit) == {22: 20, 15: None, 23: 20}


@pytest.mark.soak
def test_a_key_that_has_not_fired_keeps_all(session: SparkSession) -> None:
    moments: tuple[Moment, ...] = (90, (RIGHT, 60), (RIGHT, 80), (LEFT, 70), 91)
    assert versions(session, *moments) == {70: 60}
