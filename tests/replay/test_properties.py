"""Properties of every replay on Spark: the answer is of the rows, and not of how and where they lie.

Streams and pipelines of every kind of windows, strategy and emission are drawn with hypothesis. Neither the order of
the rows, nor the files that they are cut into, nor the number of Spark's partitions, nor the time zone of the machine
changes a row of what the reference gives. Rows are conserved, watermarks never fall, and a pane that has fired on time
stays as it was whatever comes behind it.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.pipeline.model import (
    Accumulation,
    EmitKind,
    EndOfInput,
    Pipeline,
    ReplayOrder,
    Strategy,
    TimeField,
    TimeUnit,
    Windows,
)
from spark_jobs.replay import replay
from spark_jobs.semantics import reference
from tests.support.aggregates import AGGREGATES
from tests.support.engine import aware, in_order
from tests.support.streams import SCHEMA, drawn_pipeline, drawn_rows

pytestmark = pytest.mark.spark

Rows = list[dict[str, Any]]

FEW, MANY = 3, 80
TABLES = ("panes", "window_results", "late_events", "invalid_events", "watermarks")
ADDED = [("key", pa.string()), ("moment", pa.timestamp("us", "UTC")), ("text", pa.string())]
EVENTS = pa.schema([*SCHEMA, *(pa.field(*column) for column in ADDED)])
# One time in three forms; a text is the time on a clock in India.
FORMS = (
    TimeField("ts", TimeUnit.MILLISECONDS),
    TimeField("moment"),
    TimeField("text", format="yyyy-MM-dd HH:mm:ss.SSS", timezone="Asia/Kolkata"),
)
# Half an hour and a quarter beside the hour, and a day that one of them has never had.
ZONES = ("UTC", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia")


@dataclass(frozen=True)
class Layout:
    """How rows lie: the files that hold them, in how many pieces Spark shuffles them, where the machine stands."""

    files: tuple[tuple[int, ...], ...]
    pieces: int
    zone: str


def arrow_rows(frame: DataFrame) -> Rows:
    """All rows with aware timestamps: PySpark itself gives naive ones in the machine's time zone."""
    return [{name: aware(value) for name, value in row.items()} for row in frame.toArrow().to_pylist()]


@contextmanager
def machine(spark: SparkSession, layout: Layout) -> Iterator[None]:
    """The machine in another time zone, Python's part and Java's, and Spark with other numbers of pieces."""
    zones = spark._jvm.java.util.TimeZone  # type: ignore[union-attr]
    before, pieces = zones.getDefault(), str(spark.conf.get("spark.sql.shuffle.partitions"))
    try:
        os.environ["TZ"] = layout.zone
        time.tzset()
        zones.setDefault(zones.getTimeZone(layout.zone))
        spark.conf.set("spark.sql.shuffle.partitions", layout.pieces)
        yield
    finally:
        os.environ["TZ"] = "UTC"
        time.tzset()
        zones.setDefault(before)
        spark.conf.set("spark.sql.shuffle.partitions", pieces)


def laid_out(spark: SparkSession, rows: Rows, layout: Layout, folder: Path) -> DataFrame:
    """The rows in files."""
    folder.mkdir(exist_ok=True)
    for number, file in enumerate(layout.files):
        part = pa.Table.from_pylist([rows[i] for i in file], EVENTS)
        pq.write_table(part, folder / f"part-{number}.parquet")
    return spark.read.parquet(str(folder))


def replayed(spark: SparkSession, rows: Rows, layout: Layout, pipeline: Pipeline, folder: Path) -> dict[str, Rows]:
    """The tables of a replay."""
    with machine(spark, layout):
        lazy = replay(laid_out(spark, rows, layout, folder), pipeline)
        return {name: arrow_rows(getattr(lazy, name)) for name in TABLES}


@st.composite
def layouts(draw: st.DrawFn, count: int) -> Layout:
    order = draw(st.permutations(range(count)))
    cuts = sorted(draw(st.lists(st.integers(0, count), max_size=4)))
    edges = [0, *cuts, count]
    files = tuple(tuple(order[a:b]) for a, b in pairwise(edges))
    return Layout(files, draw(st.sampled_from([1, 3, 8])), draw(st.sampled_from(ZONES)))


grids = st.one_of(
    st.builds(Windows, size_ms=st.sampled_from([3, 10]), offset_ms=st.integers(-2, 2)),
    st.builds(
        Windows,
        kind=st.just("sliding"),
        size_ms=st.sampled_from([3, 10]),
        slide_ms=st.sampled_from([2, 4, 5, 13]),
        offset_ms=st.integers(-1, 1),
    ),
    st.builds(Windows, kind=st.just("session"), gap_ms=st.sampled_from([1, 4, 12])),
)
windows = st.builds(
    replace,
    grids,
    key=st.sampled_from([(), ("key",)]),
    allowed_lateness_ms=st.sampled_from([0, 4, 50]),
    accumulation=st.sampled_from(Accumulation),
    aggregates=st.sampled_from(AGGREGATES),
)


def forms(ts_ms: int | None) -> dict[str, Any]:
    """A time in the columns of `FORMS`."""
    if ts_ms is None:
        return {"moment": None, "text": None}
    moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=ts_ms)
    clock = moment.astimezone(ZoneInfo("Asia/Kolkata"))
    return {"moment": moment, "text": f"{clock:%Y-%m-%d %H:%M:%S}.{ts_ms % 1000:03}"}


@st.composite
def cases(draw: st.DrawFn) -> tuple[Rows, Pipeline, Layout]:
    by_seed = random.Random(draw(st.integers(0, 2**32)))
    rows = [{**row, **forms(row["ts"]), "key": by_seed.choice(["x", "y", None])} for row in drawn_rows(by_seed)]
    way = (draw(st.sampled_from(Strategy)), draw(st.sampled_from(EmitKind)))
    silence = draw(st.booleans()) and way[0] is not Strategy.NONE
    pipeline = replace(drawn_pipeline(by_seed, *way, idle=silence), windows=draw(windows))
    pipeline = replace(pipeline, source=replace(pipeline.source, event_time=draw(st.sampled_from(FORMS))))
    return rows, pipeline, draw(layouts(len(rows)))


# Without shrinking, which would ask Spark hundreds of times.
few = settings(
    max_examples=FEW,
    deadline=None,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
many = settings(few, max_examples=MANY)
Case = tuple[Rows, Pipeline, Layout]
Check = Callable[[SparkSession, Case, Path], None]


def check_layout(session: SparkSession, case: Case, folder: Path) -> None:
    rows, pipeline, layout = case
    expected = reference.replay(rows, pipeline)
    tables = replayed(session, rows, layout, pipeline, folder)
    for name in TABLES:
        actual_rows, expected_rows = in_order(tables[name]), in_order(getattr(expected, name))
        beside = (
            [row for row in actual_rows if row not in expected_rows],
            [row for row in expected_rows if row not in actual_rows],
        )
        assert beside == ([], []), name
        assert len(actual_rows) == len(expected_rows)


def check_laws(session: SparkSession, case: Case, folder: Path) -> None:
    """Conservation, watermarks, and on-time panes, of Spark's own tables alone."""
    rows, pipeline, layout = case
    pipeline = replace(pipeline, replay=ReplayOrder(end_of_input=EndOfInput.CLOSE))
    tables = replayed(session, rows, layout, pipeline, folder / "whole")
    assert_conserved(rows, pipeline, tables)
    assert_watermarks_never_fall(tables)
    assert_fired_stays(session, (rows, pipeline, layout), tables, folder / "begun")


def assert_fired_stays(session: SparkSession, case: Case, tables: dict[str, Rows], folder: Path) -> None:
    """Assert that panes fired on time over the first half of the rows are among the panes of all rows."""
    rows, pipeline, layout = case
    middle_us = rows[len(rows) // 2]["arrival_us"]
    begun = [row for row in rows if row["arrival_us"] < middle_us]
    files = tuple(tuple(i for i in file if i < len(begun)) for file in layout.files)
    still_open = replace(pipeline, replay=ReplayOrder(end_of_input=EndOfInput.KEEP_OPEN))
    before = replayed(session, begun, replace(layout, files=files), still_open, folder)["panes"]
    on_time, later = in_order([pane for pane in before if pane["timing"] == "on_time"]), in_order(tables["panes"])
    assert [pane for pane in on_time if pane not in later] == []


def assert_conserved(rows: Rows, pipeline: Pipeline, tables: dict[str, Rows]) -> None:
    """A row is invalid, dropped by `where`, too late, or shown: once, where it has one window."""
    valid = [row for row in rows if row["ts"] is not None]
    assert len(tables["invalid_events"]) == len(rows) - len(valid)
    rows_that_count = [row for row in valid if row["counts"] or pipeline.source.where is None]
    if pipeline.windows.kind != "sliding":
        once = "panes" if pipeline.windows.accumulation is Accumulation.DISCARDING else "window_results"
        assert sum(row["row_count"] for row in tables[once]) + len(tables["late_events"]) == len(rows_that_count)


def assert_watermarks_never_fall(tables: dict[str, Rows]) -> None:
    by_window = sorted(tables["watermarks"], key=lambda row: row["window_start"])
    for name in ("fires_at", "closes_at", "watermark_at_fire"):
        moments = [row[name] for row in by_window]
        assert moments == sorted(moments), name
    fired = [(pane["fired_at"], pane["watermark"]) for pane in tables["panes"]]
    late_moments = [(row["arrival_time"], row["watermark"]) for row in tables["late_events"]]
    for (earlier, low), (later, high) in pairwise(sorted(fired + late_moments)):
        assert earlier == later or low <= high


@seed(1)
@few
@given(case=cases())
def test_every_replay(session: SparkSession, tmp_path_factory: pytest.TempPathFactory, case: Case) -> None:
    check_layout(session, case, tmp_path_factory.mktemp("rows"))


@pytest.mark.soak
@pytest.mark.parametrize("check", [check_layout, check_laws])
@seed(2)
@many
@given(case=cases())
def test_many_replays(
    session: SparkSession, tmp_path_factory: pytest.TempPathFactory, check: Check, case: Case
) -> None:
    check(session, case, tmp_path_factory.mktemp("rows"))
