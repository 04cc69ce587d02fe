"""The pipeline files of docs/how-to/coming_from have the counts of the systems' own rules, which are written here."""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline import Pipeline, from_mapping, parse
from spark_jobs.semantics.reference import replay
from tests.docs.markdown import Step, steps
from tests.docs.pipelines import BASES
from tests.docs.scenario import merged

PAGES = Path(__file__).parents[2] / "docs" / "how-to" / "coming_from"
START = datetime(2024, 5, 1, tzinfo=UTC)
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000

Stream = list[tuple[int, int]]


def blocks(page: str, kind: str) -> list[Step]:
    """Return the blocks of a page that a test reads."""
    return [step for step in steps(PAGES / page) if step.kind == kind and "shown" not in step.words]


def whole_file(page: str) -> Pipeline:
    """Return the first pipeline file of a page."""
    return parse(blocks(page, "yaml")[0].text)


def fragment(page: str, strategy: str) -> dict[str, Any]:
    """Return the settings of the watermark with this strategy on a page."""
    watermarks = (yaml.safe_load(block.text).get("watermark", {}) for block in blocks(page, "yaml"))
    settings: dict[str, Any] = next(watermark for watermark in watermarks if watermark.get("strategy") == strategy)
    return settings


def at(ms: int) -> datetime:
    """Return the time so many milliseconds after the start."""
    return START + timedelta(milliseconds=ms)


def counts(rows: Stream, pipeline: Pipeline) -> Counter[datetime]:
    """Return the rows of each window in the reference's results."""
    events = [{"clicked_at": at(ts), "stored_at": at(arrival), "country": "DE"} for ts, arrival in rows]
    return Counter({row["window_start"]: row["clicks"] for row in replay(events, pipeline).window_results})


@dataclass(frozen=True)
class Rule:
    """A system with a watermark of earlier batches: `bound_ms` behind the newest row up to `batches` batches ago.

    A row is dropped from a window if the watermark is `behind_end_ms` before its end, or later.
    """

    bound_ms: int
    behind_end_ms: int
    batches: int = 1

    def counts(self, rows: Stream, pipeline: Pipeline) -> Counter[datetime]:
        """Count the rows of each window; each minute is a batch."""
        counted: Counter[datetime] = Counter()
        for ts, arrival in rows:
            before = arrival // MINUTE_MS - self.batches
            newest = max((ts for ts, arrival in rows if arrival // MINUTE_MS <= before), default=-DAY_MS)
            for start in starts(ts, pipeline):
                if newest - self.bound_ms < start + pipeline.windows.size_ms - self.behind_end_ms:
                    counted[at(start)] += 1
        return counted


def starts(ts: int, pipeline: Pipeline) -> Iterator[int]:
    """Yield the starts of the windows that contain a time."""
    windows = pipeline.windows
    step = windows.slide_ms or windows.size_ms
    start = ts - (ts - windows.offset_ms) % step
    while start + windows.size_ms > ts:
        yield start
        start -= step


def stream(seed: int) -> Stream:
    """Return event time and arrival of rows of a day, in milliseconds after the start, in arrival order."""
    draw = random.Random(seed)
    rows: Stream = []
    for arrival in sorted(draw.sample(range(MINUTE_MS, 6 * HOUR_MS), 120)):
        # Many times lie on a whole minute or a bound behind it, so that some reach an end to the millisecond.
        late = draw.choice([draw.randrange(40 * MINUTE_MS), arrival % MINUTE_MS, arrival % MINUTE_MS - 5000])
        rows.append((max(0, min(arrival, arrival - late)), arrival))
    return rows


FLINK_SQL, SPARK = Rule(5000, behind_end_ms=1), Rule(10 * MINUTE_MS, behind_end_ms=0, batches=2)


@pytest.mark.parametrize("seed", range(20))
def test_flink_sql_has_a_bound_without_its_last_millisecond(seed: int) -> None:
    rows, pipeline = stream(seed), whole_file("flink_sql.md")
    assert counts(rows, pipeline) == FLINK_SQL.counts(rows, pipeline)


def test_the_millisecond_of_flink_sql_makes_a_difference() -> None:
    pipeline = whole_file("flink_sql.md")
    end = 5 * MINUTE_MS
    rows = [(1000, 1000), (end + 4999, 2 * end), (2000, 3 * end)]
    before = at(end - HOUR_MS)
    longer = replace(pipeline, watermark=replace(pipeline.watermark, out_of_orderness_ms=5000))
    assert FLINK_SQL.counts(rows, pipeline)[before] == counts(rows, pipeline)[before] == 1
    assert counts(rows, longer)[before] == 2


def test_flink_sql_without_a_bound_is_punctuated() -> None:
    settings = fragment("flink_sql.md", "punctuated")
    end = HOUR_MS
    rows = [(1000, 1000), (end - 1, end), (2000, 2 * end)]
    punctuated, monotonous = (
        from_mapping(merged(yaml.safe_load(BASES["watermark"]), {"watermark": {**watermark, "emit": "per_event"}}))
        for watermark in (settings, {"strategy": "monotonous"})
    )
    assert counts(rows, punctuated) == Rule(0, behind_end_ms=1).counts(rows, punctuated) == {START: 2}
    assert counts(rows, monotonous)[START] == 3


@pytest.fixture(name="one_batch_behind")
def _one_batch_behind(monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """Return the pipeline file of Structured Streaming with the custom watermark of its page."""
    (program,) = (block for block in blocks("structured_streaming.md", "python") if "file" in block.words)
    settings = fragment("structured_streaming.md", "custom")
    name = settings["class"].partition(":")[0]
    assert program.words["file"] == f"{name}.py"
    module = ModuleType(name)
    exec(program.text, module.__dict__)  # noqa: S102  the page's own code is what is tested
    monkeypatch.setitem(sys.modules, name, module)
    declared = yaml.safe_load(blocks("structured_streaming.md", "yaml")[0].text)
    return from_mapping({**declared, "watermark": settings})


@pytest.mark.parametrize("seed", range(20))
def test_structured_streaming_is_one_batch_behind(seed: int, one_batch_behind: Pipeline) -> None:
    rows = stream(seed)
    assert counts(rows, one_batch_behind) == SPARK.counts(rows, one_batch_behind)


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_of_structured_streaming_is_that_of_the_pipeline(seed: int) -> None:
    rows, pipeline = stream(seed), whole_file("structured_streaming.md")
    assert counts(rows, pipeline) == replace(SPARK, batches=1).counts(rows, pipeline)


@pytest.mark.spark
@pytest.mark.soak
def test_structured_streaming_closes_windows_with_the_same_counts(
    session: SparkSession, tmp_path: Path, one_batch_behind: Pipeline
) -> None:
    # A batch a minute, each with rows: Spark adds no batch without rows between them.
    draw = random.Random(1)
    rows = [(max(0, (6 * i - draw.randrange(50)) * MINUTE_MS // 2), i * MINUTE_MS // 3) for i in range(3, 120)]
    closed = spark_counts(session, rows, one_batch_behind, tmp_path)
    counted = counts(rows, one_batch_behind)
    assert len(closed) > 10
    assert closed == {start: counted[start] for start in closed}
    bounded = counts(rows, whole_file("structured_streaming.md"))
    assert closed != {start: bounded[start] for start in closed}


def spark_counts(session: SparkSession, rows: Stream, pipeline: Pipeline, folder: Path) -> dict[datetime, int]:
    """Return what a streaming query counts whose batches are the rows of each minute."""
    (folder / "clicks").mkdir()
    for minute in sorted({arrival // MINUTE_MS for _, arrival in rows}):
        text = "".join(f"{ts / 1000}\n" for ts, arrival in rows if arrival // MINUTE_MS == minute)
        file = folder / "clicks" / f"{minute:04}.csv"
        file.write_text(text)
        # Spark reads files by their time.
        os.utime(file, (minute * 60, minute * 60))
    windows = pipeline.windows
    clicks = session.readStream.schema("at double").option("maxFilesPerTrigger", 1).csv(str(folder / "clicks"))
    length, slide = f"{windows.size_ms} milliseconds", f"{windows.slide_ms} milliseconds"
    query = (
        clicks.select((F.lit(START.timestamp()) + F.col("at")).cast("timestamp").alias("clicked_at"))
        .withWatermark("clicked_at", "10 minutes")
        .groupBy(F.window("clicked_at", length, slide))
        .count()
        .writeStream.outputMode("append")
        .format("memory")
        .queryName("closed_windows")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return {
        row["window"]["start"].replace(tzinfo=UTC): row["count"] for row in session.table("closed_windows").collect()
    }


def microbatch(rows: Stream, lookback: int, days: int) -> Counter[datetime]:
    """Count each day as the last run at midnight that computed it: the day that begins and `lookback` days before."""
    table: Counter[datetime] = Counter()
    for midnight in range(days):
        arrived = [ts // DAY_MS for ts, arrival in rows if arrival < midnight * DAY_MS]
        for day in range(midnight - lookback, midnight + 1):
            if count := arrived.count(day):
                table[at(day * DAY_MS)] = count
    return table


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("lookback", [1, 2, 3])
def test_microbatch_looks_back_as_lateness_by_the_clock(seed: int, lookback: int) -> None:
    # Before its first row a source has no watermark: the first row starts the clock.
    rows = [(0, 0), *((arrival - late, arrival) for arrival, late in days(seed))]
    pipeline = whole_file("dbt_microbatch.md")
    assert pipeline.windows.allowed_lateness_ms == (3 - 1) * DAY_MS
    lateness_ms = pipeline.windows.allowed_lateness_ms - (3 - lookback) * DAY_MS
    declared = replace(pipeline, windows=replace(pipeline.windows, allowed_lateness_ms=lateness_ms))
    expected = microbatch(rows, lookback, days=30)
    assert counts(rows, declared) == expected
    assert expected.total() < len(rows)


def days(seed: int) -> Iterator[tuple[int, int]]:
    """Yield arrivals of twenty days, with delays of up to four days."""
    draw = random.Random(seed)
    for arrival in sorted(draw.sample(range(5 * DAY_MS, 25 * DAY_MS), 80)):
        yield arrival, draw.randrange(4 * DAY_MS)
