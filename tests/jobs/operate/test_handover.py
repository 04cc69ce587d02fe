"""Handover: the published results and those of a live job that starts from it are together the results of one job.

The reference plays the live job. It begins with nothing but partitions to wait for, and rows from a moment on.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.operate.handover import handover
from spark_jobs.jobs.operate.handover_file import Handover, read, write
from spark_jobs.pipeline import EndOfInput, Pipeline
from spark_jobs.replay.continuation.resume import can_resume
from spark_jobs.semantics import reference
from spark_jobs.tables import ledger
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.published import read_published
from tests.sampling import sampled
from tests.support import history
from tests.support.engine import in_order, rows_of
from tests.support.pipelines import sessions
from tests.support.runs import publish
from tests.support.slicing_streams import drawn_pipeline, drawn_rows

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

SEEDS = [sampled(number, quick=False, judges=number == 1) for number in range(24)]
LATER = timedelta(days=3)
Rows = list[dict[str, Any]]


def replay_after(rows: Rows, pipeline: Pipeline, until: datetime, partitions: list[str]) -> reference.Replay:
    """Return the results of a job over `rows` that waits for `partitions`."""
    waiting = replace(pipeline.source.source_partition, declared=tuple((name,) for name in partitions))
    still = replace(pipeline.replay, end_of_input=EndOfInput.KEEP_OPEN)
    job = replace(pipeline, source=replace(pipeline.source, source_partition=waiting), replay=still)
    return reference.replay(rows, job, until=until)


def drawn(spark: SparkSession, table: Path, number: int) -> tuple[Rows, Pipeline, datetime]:
    """Rows landed in several commits, a pipeline whose runs go on, and a moment between them."""
    draw = random.Random(number)
    rows = drawn_rows(draw)
    pipeline = drawn_pipeline(draw, str(table))
    while not can_resume(pipeline) or pipeline.windows.late_data.value != "side_output":
        pipeline = drawn_pipeline(draw, str(table))
    first = draw.randrange(20, 60)
    for i in range(0, len(rows), first):
        history.land(spark, rows[i : i + first], table)
    arrived = [row["stored_at"] for row in rows if row["stored_at"] is not None]
    cut = arrived[draw.randrange(len(arrived) // 3, len(arrived))] + timedelta(seconds=draw.choice([0, 0, 7, 300]))
    return rows, pipeline, cut


def split(rows: Rows, result: Handover) -> tuple[Rows, Rows]:
    """Rows of windows that the replay owns, and of those that the live job does."""
    start = result.live_from_window
    before = [row for row in rows if start is not None and row["window_start"] < start]
    return before, [row for row in rows if start is None or row["window_start"] >= start]


def of_rows(rows: Rows) -> Rows:
    """Results of windows, without what rows add that come after the windows were handed over."""
    return [{name: value for name, value in row.items() if name != "too_late_count"} for row in rows]


@pytest.mark.parametrize("number", SEEDS)
def test_backfill_and_live_results_meet_without_gap_or_overlap(
    spark: SparkSession, tmp_path: Path, lake: Lake, number: int
) -> None:
    rows, pipeline, cut = drawn(spark, tmp_path / "rows", number)
    assert_meets(spark, lake, rows, pipeline, cut)


@pytest.mark.soak
def test_a_row_at_the_very_start_of_the_first_window_is_read_again(
    spark: SparkSession, tmp_path: Path, lake: Lake
) -> None:
    """A row a minute, each a second late: that at a window's start lets the window before fire and close."""
    minutes = [history.START + timedelta(minutes=i) for i in range(40)]
    rows = [
        {
            "id": i,
            "site": "north",
            "device": "a",
            "happened_at": minute,
            "stored_at": minute + timedelta(seconds=1),
            "reading": 1.0,
        }
        for i, minute in enumerate(minutes)
    ]
    table = history.land(spark, rows, tmp_path / "rows")
    pipeline = history.pipeline(table, watermark__out_of_orderness="0s", windows__allowed_lateness="0s")
    # Nothing is ever late: the job may read all of the last window.
    result = assert_meets(spark, lake, rows, pipeline, minutes[25])
    assert result.live_from_window == minutes[20]
    assert result.read_from_arrival is not None
    assert minutes[10] < result.read_from_arrival <= minutes[20] + timedelta(seconds=1)


def assert_meets(spark: SparkSession, lake: Lake, rows: Rows, pipeline: Pipeline, cut: datetime) -> Handover:
    """Assert that results before `cut` and those of a live job from the handover on are the results of one job."""
    publish(spark, pipeline, lake, Interval(), arrived_to=cut)
    published = {
        name: rows_of(read_published(spark, lake, name).drop("run_id"))
        for name in ("panes", "window_results", "late_events", "watermarks")
    }
    result = handover(spark, pipeline, lake)
    assert result.exact
    assert result.covered_until == cut
    end = max(cut, *(row["stored_at"] for row in rows if row["stored_at"] is not None)) + LATER
    rows_read = [
        row
        for row in rows
        if row["stored_at"] is not None
        and (result.read_from_arrival is None or row["stored_at"] >= result.read_from_arrival)
    ]
    live = replay_after(rows_read, pipeline, end, list(result.partitions_to_wait_for))
    whole = replay_after(rows, pipeline, end, [])
    for name in ("panes", "window_results"):
        backfilled, _ = split(published[name], result)
        _, going_on = split(getattr(live, name), result)
        before, after = split(getattr(whole, name), result)
        assert in_order(of_rows(backfilled)) == in_order(of_rows(before)), name
        assert in_order(going_on) == in_order(after), name
    assert in_order(split(live.watermarks, result)[1]) == in_order(split(whole.watermarks, result)[1])
    late = [row for row in live.late_events if row["arrival_time"] >= cut]
    assert in_order(published["late_events"] + late) == in_order(whole.late_events)
    assert_open(result, published["watermarks"])
    assert_watermark(result, rows, pipeline, cut)
    return result


def assert_open(result: Handover, watermarks: Rows) -> None:
    """Windows are counted as the calendar has them."""
    _, still = split(watermarks, result)
    waiting = sum(row["fires_at"] is None for row in still)
    assert (result.open_windows, result.fired_windows) == (waiting, len(still) - waiting)
    assert not any(row["closes_at"] for row in still)


def assert_watermark(result: Handover, rows: Rows, pipeline: Pipeline, cut: datetime) -> None:
    """A row at the moment itself is judged by the watermark of the handover."""
    if result.live_from_window is None:
        return
    long_ago = datetime(2000, 1, 1, tzinfo=UTC)
    before = [row for row in rows if row["stored_at"] is not None and row["stored_at"] < cut]
    probe = {**before[-1], "id": -1, "happened_at": long_ago, "stored_at": cut, "reading": None}
    [judged] = [row for row in replay_after([*before, probe], pipeline, cut, []).late_events if row["id"] == -1]
    assert result.watermark == judged["watermark"]
    assert result.watermark is not None


@pytest.mark.soak
def test_reading_begins_with_the_commit_of_the_first_row_that_matters(
    spark: SparkSession, tmp_path: Path, lake: Lake
) -> None:
    rows, table = history.events(900), tmp_path / "rows"
    for i in range(0, 900, 100):
        history.land(spark, rows[i : i + 100], table)
    cut = history.START + timedelta(minutes=60)
    pipeline = history.pipeline(str(table))
    publish(spark, pipeline, lake, Interval(), arrived_to=cut)
    result = handover(spark, pipeline, lake)
    assert result.read_from_arrival is not None
    assert history.START < result.read_from_arrival < cut
    first = next(
        i for i, row in enumerate(rows) if row["stored_at"] is not None and row["stored_at"] >= result.read_from_arrival
    )
    [versions] = result.versions.values()
    assert (versions.read, versions.next, versions.starting) == (8, 9, first // 100)
    assert versions.starting is not None
    assert versions.starting > 0
    written_json = json.loads(Path(write(lake, result)).read_text())
    assert written_json["covered_until"] == cut.isoformat()
    assert written_json["versions"][""]["starting"] == versions.starting
    assert set(written_json["partition_watermarks"]) == {"north", "south", "east"}
    again = read(lake, pipeline, ledger.published(spark, lake))
    assert again is not None
    assert again.as_json() == written_json


@pytest.mark.soak
def test_handover_that_is_not_exact_has_a_reason(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = history.pipeline(table, replay__end_of_input="keep_open")
    with pytest.raises(InputError, match="nothing is published in"):
        handover(spark, pipeline, lake)
    publish(spark, pipeline, lake, Interval())
    result = handover(spark, pipeline, lake)
    assert (result.exact, result.covered_until) == (False, None)
    assert "has no moment to end at" in str(result.reason)
    closed = history.pipeline(table)
    with pytest.raises(InputError, match=r"has published results of other settings \(.* -> .*\)"):
        handover(spark, closed, lake)
    publish(spark, closed, lake, Interval())
    with pytest.raises(InputError, match="has closed all windows at the end of its input"):
        handover(spark, closed, lake)


@pytest.mark.soak
def test_sessions_are_handed_over_by_the_moment_alone(spark: SparkSession, table: str, lake: Lake) -> None:
    pipeline = sessions(table)
    cut = history.START + timedelta(hours=2)
    publish(spark, pipeline, lake, Interval(), arrived_to=cut)
    result = handover(spark, pipeline, lake)
    assert (result.exact, result.covered_until, result.reason) == (
        False,
        cut,
        "the open windows are not known with sessions",
    )
    assert [version.read for version in result.versions.values()] == [0]
