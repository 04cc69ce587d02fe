"""In a join, the copy of a row is judged by the watermark that the row itself emits."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import Emit, EmitKind, Strategy, TimeField, TimeUnit, Watermark
from spark_jobs.replay.joins.interval_join import interval_join
from spark_jobs.semantics.joins.interval_join import JoinBounds, Side
from spark_jobs.semantics.joins.joining_job import Arrival, JoinSource, join
from tests.sampling import sampled
from tests.support.engine import rows_of
from tests.support.joining import inputs_of
from tests.vectors.spark_joins import joining

pytestmark = pytest.mark.spark

EACH_ROW = Emit(EmitKind.PER_EVENT)
AHEAD = TimeField("ts + 5", unit=TimeUnit.MILLISECONDS)
#: By the kind of watermark that is beyond a row's own time: the watermark, and the event time of the row.
OUTRUN = {
    "marker": (Watermark(Strategy.PUNCTUATED, when="marker", value=AHEAD), 10),
    "lag": (Watermark(Strategy.TIME_LAG, lag_ms=0), 1),
}


@pytest.mark.parametrize(
    ("kind", "other", "is_split"),
    [
        sampled(kind, other, is_split, quick=kind == "marker" and is_split == (other == "left"), judges=True)
        for kind in OUTRUN
        for other in ("left", "right")
        for is_split in (True, False)
    ],
)
def test_the_copy_of_a_row_is_judged_by_what_the_row_emits(
    session: SparkSession, kind: str, other: str, *, is_split: bool
) -> None:
    """The row emits a watermark beyond its own time: its copy is late, and joins nothing."""
    side = {"left": "right", "right": "left"}[other]
    watermark, ts = OUTRUN[kind]
    left = JoinSource(watermark, ("p0",))
    right = None if is_split else left
    # In arrival order.
    entries = [(0, other, ts - 1, 1_000, False), (1, side, ts, 4_000, True), (1, side, ts, 4_000, True)]
    if not is_split:
        # The watermark is the lesser one of both sources.
        entries.insert(1, (2, other, 60, 1_000, True))
    names = ("index", "side", "ts", "arrival_us", "marker")
    rows: list[dict[str, Any]] = [
        {"partition": "p0", "key": "a", **dict(zip(names, row, strict=True))} for row in entries
    ]
    arrivals = [Arrival(Side(row["side"]), "p0", "a", row["ts"], row["arrival_us"], row) for row in rows]
    expected = join(arrivals, JoinBounds(-3, 3), EACH_ROW, left, right)
    assert [late.row["index"] for late in expected.late] == [1]
    assert [{pair.left["index"], pair.right["index"]} for _, pair in expected.pairs] == [{0, 1}]
    pipeline = joining(left, right, EACH_ROW)
    joined = interval_join(*inputs_of(session, rows, pipeline), pipeline, JoinBounds(-3, 3))
    pairs = [{pair["left"]["index"], pair["right"]["index"]} for pair in rows_of(joined.pairs)]
    late = [row["index"] for table in (joined.late_left, joined.late_right) for row in rows_of(table)]
    assert (pairs, late) == ([{0, 1}], [1])
