"""Ingestion time is the special case in which a row happens when it arrives: in order, so that nothing is ever late.

row   happened   arrived   by event time, bound 0         by ingestion time
  0         22         0   [21, 24)                       [0, 3)
  1         40         1   [39, 42) fires [21, 24)        [0, 3)
  2          1         2   [0, 3) is too late             [0, 3)
  3         41         3   [39, 42)                       [3, 6), fires [0, 3)
  4         23         4   [21, 24) is too late           [3, 6)
end                        fires [39, 42)                 fires [3, 6)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from spark_jobs.pipeline.model import Aggregate, Pipeline, Source, Strategy, TimeField, Watermark, Windows
from spark_jobs.semantics import reference
from tests.support.engine import spark_replay

Engine = Callable[..., Any]

NOON = datetime(2016, 4, 27, 12, tzinfo=UTC)
ROWS = [
    {"row": number, "happened": NOON + timedelta(seconds=at), "arrived": NOON + timedelta(seconds=number)}
    for number, at in enumerate([22, 40, 1, 41, 23])
]
BY_EVENT = Pipeline(
    name="visits",
    source=Source("visits", TimeField("happened"), TimeField("arrived"), future_guard_ms=None),
    watermark=Watermark(Strategy.MONOTONOUS),
    windows=Windows(size_ms=3_000, aggregates=(Aggregate("members", "collect_list(row)"),)),
)
BY_INGESTION = replace(BY_EVENT, source=replace(BY_EVENT.source, event_time=TimeField("arrived")))


@pytest.fixture(params=["reference", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "reference":
        return reference.replay
    return partial(spark_replay, request.getfixturevalue("session"))


@pytest.mark.parametrize(
    ("pipeline", "fired", "too_late"),
    [
        (BY_EVENT, [(21, [0]), (39, [1, 3])], [2, 4]),
        (BY_INGESTION, [(0, [0, 1, 2]), (3, [3, 4])], []),
    ],
    ids=["event time", "ingestion time"],
)
def test_rows_that_happen_when_they_arrive_are_never_late(
    engine: Engine, pipeline: Pipeline, fired: list[tuple[int, list[int]]], too_late: list[int]
) -> None:
    outcome = engine(ROWS, pipeline)
    panes = [((pane["window_start"] - NOON).total_seconds(), sorted(pane["members"])) for pane in outcome.panes]
    assert sorted(panes) == fired
    assert sorted(late["row"] for late in outcome.late_events) == too_late
