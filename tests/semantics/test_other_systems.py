"""The rules of other systems, as the pages of docs/coming-from state them, equal pipelines that the pages give."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spark_jobs.pipeline import from_mapping
from spark_jobs.semantics.reference import replay

START = datetime(2024, 5, 1, tzinfo=UTC)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
SIZE_MS, DAY_MS = 10_000, 86_400_000

Stream = list[tuple[int, int]]


def stream(seed: int, *, delay: int = 15_000) -> Stream:
    """Return event time and arrival of rows, in milliseconds after the start, in arrival order."""
    draw = random.Random(seed)
    arrivals = sorted(draw.sample(range(200_000), 80))
    # A third of the rows lies a whole second behind another, so that some reach an end to the millisecond.
    behind = (draw.choice([draw.randrange(delay), 1000 * draw.randrange(delay // 1000)]) for _ in arrivals)
    return [(max(0, arrival // 1000 * 1000 - late), arrival) for arrival, late in zip(arrivals, behind, strict=True)]


def counts(rows: Stream, watermark: Mapping[str, Any], windows: Mapping[str, Any]) -> Counter[datetime]:
    """Return the rows of each window in the reference's results."""
    pipeline = from_mapping(
        {
            "name": "clicks",
            "source": {"table": "clicks", "event_time": "at", "arrival_time": "stored_at"},
            "watermark": watermark,
            "windows": {"key": [], "aggregates": {"n": "count(*)"}, **windows},
        }
    )
    events = [{"at": START + ts * SECOND / 1000, "stored_at": START + arrival * SECOND / 1000} for ts, arrival in rows]
    return Counter({row["window_start"]: row["n"] for row in replay(events, pipeline).window_results})


def by_rule(rows: Stream, bound_ms: int, *, behind_end_ms: int, batch: int) -> Counter[datetime]:
    """Count rows unless the watermark, of earlier batches, has reached the end of their window less some time."""
    counted: Counter[datetime] = Counter()
    watermark = newest = -(10**12)
    for place, (ts, _) in enumerate(rows):
        if place % batch == 0:
            watermark = newest - bound_ms
        end = ts - ts % SIZE_MS + SIZE_MS
        if watermark < end - behind_end_ms:
            counted[START + (end - SIZE_MS) * SECOND / 1000] += 1
        newest = max(newest, ts)
    return counted


TUMBLING = {"size": "10 seconds"}


@pytest.mark.parametrize("seed", range(20))
def test_flink_sql_has_a_bound_without_its_last_millisecond(seed: int) -> None:
    rows = stream(seed)
    expected = by_rule(rows, 5000, behind_end_ms=1, batch=1)
    assert counts(rows, {"out_of_orderness": "4999 ms"}, TUMBLING) == expected


def test_the_millisecond_of_flink_sql_makes_a_difference() -> None:
    rows = [(1000, 1000), (14_999, 15_000), (2000, 16_000)]
    assert by_rule(rows, 5000, behind_end_ms=1, batch=1)[START] == 1
    assert counts(rows, {"out_of_orderness": "4999 ms"}, TUMBLING)[START] == 1
    assert counts(rows, {"out_of_orderness": "5 seconds"}, TUMBLING)[START] == 2


def test_flink_sql_without_a_bound_is_punctuated() -> None:
    rows = [(1000, 1000), (9999, 15_000), (2000, 16_000)]
    watermark = {"strategy": "punctuated", "when": "at is not null"}
    assert by_rule(rows, 0, behind_end_ms=1, batch=1) == counts(rows, watermark, TUMBLING) == {START: 2}
    assert counts(rows, {"strategy": "monotonous"}, TUMBLING)[START] == 3


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("batch", [1, 7, 16])
def test_structured_streaming_has_the_same_bound_for_the_same_batches(seed: int, batch: int) -> None:
    rows = stream(seed)
    expected = by_rule(rows, 5000, behind_end_ms=0, batch=batch)
    watermark = {"out_of_orderness": "5 seconds", "emit": {"every_n": batch}}
    assert counts(rows, watermark, TUMBLING) == expected


def microbatch(rows: Stream, lookback: int, days: int) -> Counter[datetime]:
    """Count each day as the last run at midnight that computed it: the day that begins and `lookback` days before."""
    table: Counter[datetime] = Counter()
    for midnight in range(days):
        arrived = [ts // DAY_MS for ts, arrival in rows if arrival < midnight * DAY_MS]
        for day in range(midnight - lookback, midnight + 1):
            if count := arrived.count(day):
                table[START + day * DAY] = count
    return table


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("lookback", [1, 2, 3])
def test_microbatch_looks_back_as_lateness_by_the_clock(seed: int, lookback: int) -> None:
    # Before its first row a source has no watermark: the first row starts the clock.
    rows = [(0, 0), *((arrival - late, arrival) for arrival, late in days(seed))]
    watermark = {"strategy": "time_lag", "lag": "0s", "emit": {"every": "1 day"}}
    lateness = {"allowed_lateness": f"{lookback - 1} days" if lookback > 1 else "0s"}
    expected = microbatch(rows, lookback, days=30)
    assert counts(rows, watermark, {"size": "1 day", "late_panes": "per_epoch", **lateness}) == expected
    assert expected.total() < len(rows)


def days(seed: int) -> Iterator[tuple[int, int]]:
    """Yield arrivals of twenty days, with delays of up to four days."""
    draw = random.Random(seed)
    for arrival in sorted(draw.sample(range(5 * DAY_MS, 25 * DAY_MS), 80)):
        yield arrival, draw.randrange(4 * DAY_MS)
