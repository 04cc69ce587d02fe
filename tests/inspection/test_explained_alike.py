"""Spark and the source explain sessions around an instant, and windows that a repair has computed, alike."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.explain import arrived
from spark_jobs.explain.explanations import ExplainedRow, WindowLife
from spark_jobs.explain.rows import explain_rows
from spark_jobs.explain.streams import of_source
from spark_jobs.explain.windows import explain_window
from spark_jobs.inspection.bounded_source import Deadline
from spark_jobs.inspection.replayed_explanations import ReplayedSource
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.tables.repaired_windows import RepairedWindows
from spark_jobs.tables.run import FULL, REPAIR, Run, Step
from tests.inspection.test_holding_partitions import rows_of
from tests.inspection.test_replayed_explanations import without_values
from tests.support import history
from tests.support.engine import frame_of

SESSIONS = history.pipeline(
    "rows",
    windows="{kind: session, gap: 10 minutes, key: [device], aggregates: {readings: count(*)}}",
    watermark__out_of_orderness="1 day",
)
# The later session arrives first.
TWO_SESSIONS = rows_of([("north", 15, 20), ("north", 0, 21)])
ONE_SESSION = rows_of([("north", 15, 20), ("north", 0, 21), ("north", 8, 22)])
# Minutes, and those of the session that contains each: its start and its end.
AROUND = [
    (TWO_SESSIONS, 8, {(0, 10)}),
    (TWO_SESSIONS, 0, {(0, 10)}),
    (TWO_SESSIONS, 10, set()),
    (TWO_SESSIONS, 24, {(15, 25)}),
    (ONE_SESSION, 19, {(0, 25)}),
]


def at_ms(minute: int) -> int:
    return micros(history.START + timedelta(minutes=minute)) // 1000


def sessions(life: WindowLife | None) -> set[tuple[int, int]]:
    """Return the minutes of the sessions that fired."""
    return {
        (round((step.window_start - history.START).seconds / 60), round((step.window_end - history.START).seconds / 60))
        for step in (life.steps or () if life else ())
        if step.pane is not None
    }


@pytest.mark.parametrize(("rows", "minute", "expected"), AROUND)
def test_an_instant_names_the_session_that_contains_it(
    rows: list[dict[str, Any]], minute: int, expected: set[tuple[int, int]]
) -> None:
    life = ReplayedSource(SESSIONS, rows, Deadline.within(60)).window(at_ms(minute), {"device": "a"})
    assert sessions(life) == expected


@pytest.mark.spark
def test_spark_names_the_same_sessions(session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = {id(rows): of_source(frame_of(session, rows, history.SCHEMA), SESSIONS) for rows, *_ in AROUND}
    for rows, minute, expected in AROUND:
        assert sessions(explain_window(streams[id(rows)], at_ms(minute), {"device": "a"})) == expected
    # Three rows are around each row of the session, and only two may be collected.
    monkeypatch.setattr(arrived, "MOST_AROUND", 2)
    stream = streams[id(ONE_SESSION)]
    assert explain_window(stream, at_ms(19), {"device": "a"}) == WindowLife({"device": "a"}, 3, None)
    explained = explain_rows(stream, [F.lit(True)], 9)
    assert [(row.fate, [window.panes for window in row.windows]) for row in explained] == [("on_time", [None])] * 3


ROWS = history.events(240)
SLIDING = history.pipeline(
    "rows", windows__kind="sliding", windows__slide="5 minutes", windows__allowed_lateness="30 seconds"
)


def number(row: ExplainedRow) -> int:
    return int(row.row["id"])


def repaired() -> RepairedWindows:
    """Return the windows of a repair of ten minutes, over the rows of the first fifteen minutes."""
    step = Step("publish", "done", history.START, history.START, versions={"late_events": 1})
    full = Run("first", "readings", "f", FULL, 0, None, None, (step,))
    start, minute = history.START, timedelta(minutes=1)
    repair = Run(
        "second", "readings", "f", REPAIR, 0, start - 10 * minute, start, (step,), arrived_to=start + 15 * minute
    )
    return RepairedWindows.after([full, repair])


BETWEEN = history.pipeline("rows", windows__kind="sliding", windows__slide="20 minutes")


@pytest.mark.spark
def test_spark_explains_rows_between_two_windows(session: SparkSession) -> None:
    rows = rows_of([("north", 1, 1), ("north", 15, 2), ("north", 65, 70), ("north", 15, 71)])
    stream = of_source(frame_of(session, rows, history.SCHEMA), BETWEEN)
    explained = explain_rows(stream, [F.lit(True)], 9)
    assert [(row.fate, len(row.windows)) for row in explained] == [
        ("on_time", 1),
        ("unassigned", 0),
        ("on_time", 1),
        ("too_late", 0),
    ]


@pytest.mark.spark
def test_spark_explains_repaired_windows_as_the_source_does(session: SparkSession) -> None:
    stream = of_source(frame_of(session, ROWS, history.SCHEMA), SLIDING, repaired=repaired())
    source = ReplayedSource(SLIDING, ROWS, Deadline.within(60), repaired=repaired())
    by_spark = explain_rows(stream, [F.lit(True)], len(ROWS))
    by_source = source.rows(lambda row, event: True, len(ROWS))
    # Rows without a place have no order.
    pairs = zip(sorted(by_source, key=number), sorted(by_spark, key=number), strict=True)
    for from_source, from_spark in pairs:
        assert without_values(from_source) == without_values(from_spark)
    judged = {(window.is_repaired, window.verdict) for row in by_source for window in row.windows}
    assert judged >= {(True, "late"), (True, "too_late"), (False, "too_late"), (False, "on_time")}
    for start in (at_ms(-5), at_ms(0)):
        assert source.window(start, {"device": "b"}) == explain_window(stream, start, {"device": "b"})
