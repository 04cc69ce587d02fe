"""More source partitions than the table `watermarks` lists: Spark matches the reference, and a run can resume."""

import random
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.pipeline.model import Emit, EmitKind, Pipeline, SourcePartition, Strategy
from spark_jobs.replay.continuation import resume
from spark_jobs.replay.rows import arrival_order
from spark_jobs.replay.rows.prepare import moves_watermark, prepare
from spark_jobs.replay.watermark.census import census
from spark_jobs.semantics import reference
from spark_jobs.semantics.windows.calendar import LISTED_PARTITIONS
from tests.sampling import sampled
from tests.support.engine import assert_same_tables, frame_of, rows_of, spark_replay
from tests.support.streams import SCHEMA, START_MS, drawn_pipeline

pytestmark = pytest.mark.spark

COUNT = LISTED_PARTITIONS + 20


def joining_one_by_one(seed: int) -> list[dict[str, Any]]:
    """Return rows of `COUNT` partitions, in turn; with every third row another partition joins."""
    draw = random.Random(seed)
    rows = []
    for number in range(6 * COUNT):
        clock = START_MS + number
        partition = f"p{number % min(COUNT, 1 + number // 3)}"
        times = {"ts": clock - draw.choice([0, 0, 1, 3, 20]), "arrival_us": clock * 1000}
        rows.append({"id": number, "partition": partition, "mark": None, "value": None, "counts": True, **times})
    return rows


def bounded(emit: Emit, declared: int = 0, idle_timeout_ms: int | None = None) -> Pipeline:
    pipeline = drawn_pipeline(random.Random(0), Strategy.BOUNDED_OUT_OF_ORDERNESS, emit.kind, idle=False)
    labels = tuple((f"p{number}",) for number in range(declared))
    return replace(
        pipeline,
        source=replace(pipeline.source, source_partition=SourcePartition(("partition",), labels), where=None),
        watermark=replace(pipeline.watermark, emit=emit, idle_timeout_ms=idle_timeout_ms),
        windows=replace(pipeline.windows, size_ms=10, offset_ms=0, allowed_lateness_ms=4),
    )


EVERY = Emit(EmitKind.EVERY, interval_ms=5)


@pytest.mark.parametrize(
    "pipeline",
    [
        sampled(bounded(EVERY), quick=True, id="every"),
        sampled(bounded(Emit(EmitKind.PER_EVENT)), quick=False, judges=True, id="per_event"),
        sampled(bounded(EVERY, declared=3), quick=False, judges=True, id="declared"),
        sampled(bounded(EVERY, declared=COUNT), quick=False, judges=True, id="all declared"),
        sampled(bounded(EVERY, idle_timeout_ms=30), quick=True, id="idle"),
    ],
)
def test_partitions_are_listed_while_they_are_few(session: SparkSession, pipeline: Pipeline) -> None:
    rows = joining_one_by_one(1)
    expected = reference.replay(rows, pipeline)
    lists = [row["partition_watermarks"] for row in expected.watermarks if row["watermark_at_fire"] is not None]
    assert None in lists
    assert_same_tables(spark_replay(session, rows[::-1], pipeline, schema=SCHEMA), expected)


def test_newest_emissions_list_all_partitions_so_that_a_run_can_resume(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resume, "_ENTRIES", 2 * COUNT)
    rows, pipeline = joining_one_by_one(1), bounded(EVERY)
    placed = arrival_order.with_epoch(prepare(frame_of(session, rows, SCHEMA), pipeline), pipeline)
    groups = census(placed, pipeline).localCheckpoint()
    moves = placed.where(moves_watermark(pipeline))
    emissions = rows_of(resume.emissions(groups, moves, pipeline, until_us=None))
    newest_first = sorted(emissions, key=lambda row: row["emitted_at"], reverse=True)
    sizes = [None if row["partition_watermarks"] is None else len(row["partition_watermarks"]) for row in newest_first]
    assert sizes[:2] == [COUNT] * 2
    assert sizes[2] is None
    assert sizes[-1] is not None
