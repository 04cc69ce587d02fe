"""Each window whose rows differ after an edit is among the affected windows, and few others are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.continuation import nearby_changes
from spark_jobs.replay.continuation.affected_windows import affected_windows
from spark_jobs.replay.ground import Ground
from spark_jobs.replay.rows.prepare import prepare
from spark_jobs.replay.source_rows import SourceRows
from spark_jobs.replay.store import MemoryStore
from spark_jobs.replay.watermark.changed_census import CHANGE, recounted
from spark_jobs.semantics import reference
from spark_jobs.semantics.rows.instants import micros
from tests.sampling import sampled
from tests.support import history
from tests.support.engine import frame_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

Row = dict[str, Any]
ROWS = history.events(400)
TABLES = ("panes", "window_results", "late_events")
#: The settings of each case: with triggers, a pane before the end has the watermark of its firing.
SETTINGS: dict[str, dict[str, str]] = {
    "tumbling": {},
    "sliding": {"windows__kind": "sliding", "windows__slide": "5 minutes"},
    "trigger": {"windows__trigger": "{continuous: 2 minutes}"},
}


def ground(spark: SparkSession, rows: list[Row], pipeline: Pipeline) -> Ground:
    store = MemoryStore()
    return Ground(SourceRows(frame_of(spark, rows, history.SCHEMA), pipeline, store), pipeline, store)


def changed(spark: SparkSession, before: list[Row], after: list[Row], pipeline: Pipeline) -> DataFrame:
    parts = (([row for row in before if row not in after], -1), ([row for row in after if row not in before], 1))
    frames = [
        prepare(frame_of(spark, rows, history.SCHEMA), pipeline).withColumn(CHANGE, F.lit(number))
        for rows, number in parts
    ]
    return frames[0].unionByName(frames[1])


def rows_by_window(rows: list[Row], pipeline: Pipeline) -> dict[int, list[str]]:
    replayed = reference.replay(rows, pipeline)
    by_window: dict[int, list[str]] = {}
    for name in TABLES:
        for row in getattr(replayed, name):
            start = micros(row["window_start"]) // 1000
            by_window.setdefault(start, []).append(f"{name} {sorted(row.items(), key=lambda item: item[0])}")
    return {start: sorted(texts) for start, texts in by_window.items()}


def differing(before: list[Row], after: list[Row], pipeline: Pipeline) -> set[int]:
    old, new = rows_by_window(before, pipeline), rows_by_window(after, pipeline)
    return {start for start in {*old, *new} if old.get(start) != new.get(start)}


def affected(spark: SparkSession, before: list[Row], after: list[Row], pipeline: Pipeline) -> set[int]:
    """Return the affected windows, which are those seen from nearby too."""
    old, new = (ground(spark, rows, pipeline) for rows in (before, after))
    rows = changed(spark, before, after, pipeline).localCheckpoint()
    windows = {row["window_ms"] for row in affected_windows(old, new, rows).collect()}
    events = frame_of(spark, after, history.SCHEMA)
    census = recounted(old.census, rows, events, pipeline, new.measures)
    nearby = {row["window_ms"] for row in nearby_changes.affected_windows(old, new, census, rows).collect()}
    assert nearby == windows
    return windows


def with_row(index: int, **values: Any) -> list[Row]:
    return [{**row, **values} if place == index else row for place, row in enumerate(ROWS)]


@pytest.mark.parametrize("kind", [sampled("tumbling", quick=False), "sliding"])
def test_a_mended_value_affects_its_windows_alone(spark: SparkSession, kind: str) -> None:
    pipeline = history.pipeline("t", **SETTINGS[kind])
    index = next(i for i, row in enumerate(ROWS) if i > 100 and row["reading"] is not None and row["reading"] < 40)
    after = with_row(index, reading=ROWS[index]["reading"] + 1)
    assert affected(spark, ROWS, after, pipeline) == differing(ROWS, after, pipeline) != set()


@pytest.mark.parametrize("kind", [sampled(kind, quick=kind == "tumbling") for kind in SETTINGS])
def test_a_row_that_moves_the_watermark_affects_windows_of_other_rows(spark: SparkSession, kind: str) -> None:
    # One partition: a row that is ahead of all others moves the watermark.
    pipeline = history.pipeline("t", source__source_partition="[]", **SETTINGS[kind])
    after = with_row(200, happened_at=ROWS[200]["stored_at"] + timedelta(minutes=30))
    of_other_rows = differing(ROWS, after, pipeline)
    assert len(of_other_rows) > 2
    assert of_other_rows <= affected(spark, ROWS, after, pipeline)


def in_order_of_time() -> list[Row]:
    """Return rows that arrive a second after they happen, so that none is late."""
    rows = [row for row in ROWS if row["happened_at"] and row["stored_at"]]
    return [{**row, "stored_at": row["happened_at"] + timedelta(seconds=1)} for row in rows]


@pytest.mark.soak
def test_a_window_that_fires_at_another_time_is_affected(spark: SparkSession) -> None:
    pipeline = history.pipeline("t", source__source_partition="[]", watermark__out_of_orderness="10 minutes")
    before = in_order_of_time()
    # The row is ahead by less than the bound: no row becomes late, and windows fire sooner.
    ahead = {**before[200], "id": 9_000, "happened_at": before[200]["stored_at"] + timedelta(minutes=8)}
    after = [*before, ahead]
    of_other_rows = differing(before, after, pipeline) - differing([], [ahead], pipeline)
    assert of_other_rows != set()
    assert of_other_rows <= affected(spark, before, after, pipeline)


def test_a_window_with_another_watermark_during_its_life_is_affected(spark: SparkSession) -> None:
    settings = {"watermark__emit": "{every: 1 second}", "windows__trigger": "{count: 2}"}
    pipeline = history.pipeline("t", source__source_partition="[]", watermark__out_of_orderness="1 minute", **settings)
    before = in_order_of_time()
    by_window = rows_by_window(before, pipeline)
    start = max(by_window, key=lambda each: len(by_window[each]))
    end = datetime.fromtimestamp(start / 1000, UTC) + timedelta(minutes=10)
    # The row is of the next window and comes soon before it: the watermark stays behind the end of this window.
    times = {"happened_at": end + timedelta(seconds=5), "stored_at": end - timedelta(minutes=1)}
    ahead = {**before[0], "id": 9_000, **times}
    after = [*before, ahead]
    assert start in differing(before, after, pipeline)
    assert start in affected(spark, before, after, pipeline)
