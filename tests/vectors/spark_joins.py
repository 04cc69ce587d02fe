"""A recorded join as the Spark engine takes it: a joining pipeline, and the rows of its inputs."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from spark_jobs.pipeline.joining import JoiningPipeline, JoinInput
from spark_jobs.pipeline.model import Emit, Source, SourcePartition, TimeField, TimeUnit
from spark_jobs.semantics.joins.joining_job import JoinSource
from tests.vectors.joins import JoinScenario


def joining(left: JoinSource, right: JoinSource | None, emit: Emit) -> JoiningPipeline:
    """The pipeline of two sources, or of one that is split, over rows as `rows_of` gives them."""
    first, second = (
        JoinInput(
            source=Source(
                table="scenario",
                event_time=TimeField("ts", unit=TimeUnit.MILLISECONDS),
                arrival_time=TimeField("arrival_us", unit=TimeUnit.MICROSECONDS),
                source_partition=SourcePartition(("partition",), tuple((label,) for label in source.declared)),
                tie_break=("index",),
                future_guard_ms=None,
            ),
            watermark=source.watermark,
            key=("key",),
        )
        for source in (left, right or left)
    )
    right_when = "side = 'right'" if right is None else None
    return JoiningPipeline("scenario", first, second, emit=emit, right_when=right_when)


def rows_of(scenario: JoinScenario) -> list[dict[str, Any]]:
    """The rows of both inputs in Flink's order; `arrival_us` numbers the rows of one arrival."""
    events = enumerate(scenario.declared["events"])
    return [
        {
            "index": index,
            "side": event.get("side", "left"),
            "partition": event["partition"],
            "key": event.get("key"),
            "ts": event["ts"],
            "arrival_us": arrival * 1000 + place,
            "marker": event.get("marker", False),
        }
        for arrival, together in groupby(events, key=lambda pair: int(pair[1]["arrival"]))
        for place, (index, event) in enumerate(together)
    ]
