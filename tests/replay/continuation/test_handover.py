"""From which event time on a live job needs rows: to know a window from its start, and when the one before closed."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from spark_jobs.local_rows import local_rows
from spark_jobs.pipeline.model import Pipeline, Source, Strategy, TimeField, Watermark, Windows
from spark_jobs.replay.continuation.handover import last_listed, state_from_ms
from spark_jobs.semantics.spec import WindowKind

APART = Windows(kind=WindowKind.SLIDING, size_ms=10, slide_ms=100)


@pytest.mark.parametrize(
    ("windows", "bound_ms", "from_ms"),
    [
        # The window before ends where this one begins, and closes by rows of it or later ones.
        (Windows(size_ms=10), 0, 1000),
        (Windows(size_ms=10, allowed_lateness_ms=50), 7, 1000),
        (Windows(kind=WindowKind.SLIDING, size_ms=10, slide_ms=4), 0, 1000),
        # The window [900, 910) is closed by a watermark of 909 and the lateness, that of a row its bound + 1 later.
        (APART, 0, 910),
        (APART, 7, 917),
        (Windows(kind=WindowKind.SLIDING, size_ms=10, slide_ms=100, allowed_lateness_ms=50), 7, 967),
        (Windows(kind=WindowKind.SLIDING, size_ms=10, slide_ms=100, allowed_lateness_ms=500), 7, 1000),
    ],
)
def test_no_later_than_the_window_itself_nor_than_what_closes_the_one_before(
    windows: Windows, bound_ms: int, from_ms: int
) -> None:
    mark = Watermark(Strategy.BOUNDED_OUT_OF_ORDERNESS, out_of_orderness_ms=bound_ms)
    pipeline = Pipeline("p", Source("t", TimeField("at")), windows, mark)
    assert state_from_ms(1000, pipeline) == from_ms


@pytest.mark.spark
def test_a_live_job_starts_at_an_emission_that_lists_its_partitions(session: SparkSession) -> None:
    rows = [(1, ["a"]), (2, ["a", "b"]), (3, None), (4, None)]
    advances = local_rows(session, rows, "clock_us long, partition_watermarks array<string>")
    assert [None if row is None else row.clock_us for row in (last_listed(advances, limit) for limit in range(5))] == [
        None,
        1,
        2,
        2,
        2,
    ]
