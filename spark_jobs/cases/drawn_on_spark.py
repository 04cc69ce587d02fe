"""Spark replays a drawing.

Spark does not return the watermark after each row. So a witness follows each row, with a separate key and an event time
of long ago. It is too late as soon as a watermark exists, and late rows have the watermark that they met. Where
witnesses would change the replay (`_has_witnesses`), the drawn watermarks are taken, and only the watermarks of panes
and late rows are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from spark_jobs.cases.drawing import Drawing, Step
from spark_jobs.cases.drawn_replay import (
    LONG_AGO_MS,
    WITNESS,
    ReplayStory,
    TableRow,
    millis,
    pipeline_of,
    rows_of,
    until_of,
)
from spark_jobs.cases.frames import frame_of
from spark_jobs.cases.frames import rows_of as collected
from spark_jobs.cases.happenings import LATE, MAX, MIN, NO_WINDOW, groups, pair, versioned
from spark_jobs.cases.story import Place, steps_like
from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.joining import bounds, joining
from spark_jobs.replay import replay
from spark_jobs.replay.joins.as_of_join import AsOfJoined, as_of_join
from spark_jobs.replay.joins.interval_join import interval_join
from spark_jobs.replay.joins.window_join import window_join
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.rows.instants import micros

_SCHEMA = pa.schema([
    ("row", pa.int64()), ("ts", pa.int64()), ("arrival_us", pa.int64()), ("key", pa.string()),
    ("partition", pa.string()), ("side", pa.string()), ("marker", pa.bool_()), ("kept", pa.bool_()),
])  # fmt: skip


def replayed_on_spark(session: SparkSession, drawing: Drawing) -> tuple[Step, ...]:
    """Replay a drawing's rows on Spark."""
    pipeline = pipeline_of(drawing)
    if pipeline.join is None:
        return _spark_windows(session, drawing, pipeline)
    return _spark_join(session, drawing, pipeline)


def _spark_windows(session: SparkSession, drawing: Drawing, pipeline: Pipeline) -> tuple[Step, ...]:
    rows, story = rows_of(drawing), ReplayStory(drawing)
    witnesses = [_witness(row) for row in rows] if _has_witnesses(pipeline) else []
    events = frame_of(session, [*rows, *witnesses], _schema(rows))
    result = replay(events, pipeline, until=until_of(drawing))
    late = collected(result.late_events)
    met = {row["row"]: millis(row["watermark"]) for row in late if row["key"] == WITNESS}
    watermark_by_row = {row["row"]: met.get(row["row"], MIN) for row in witnesses}
    for place, watermark in steps_like(drawing.steps, watermark_by_row):
        story.advance(place, watermark)
    story.panes(row for row in collected(result.panes) if row["key"] != WITNESS)
    story.late(row for row in late if row["key"] != WITNESS)
    if pipeline.is_complete:
        story.complete(row for row in collected(result.complete_results) if row["key"] != WITNESS)
    return _with_vanished(drawing, story.steps())


def _schema(rows: Sequence[TableRow]) -> pa.Schema:
    has_source = any("source" in row for row in rows)
    return _SCHEMA.append(pa.field("source", pa.string())) if has_source else _SCHEMA


def _has_witnesses(pipeline: Pipeline) -> bool:
    """Whether witnesses move nothing: they count as rows, are late rows, and take part in no idle timeout."""
    return (
        pipeline.watermark.emit.kind.value != "every_n"
        and pipeline.windows.late_data.value == "side_output"
        and pipeline.windows.late_panes.value == "per_row"
        and pipeline.source.where is None
    )


def _witness(row: dict[str, Any]) -> dict[str, Any]:
    late = {"ts": LONG_AGO_MS, "arrival_us": row["arrival_us"] + 1, "key": WITNESS, "marker": False}
    return {**row, **late}


def _with_vanished(drawing: Drawing, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Add the rows without a window as drawn: no table contains them (rule 53)."""
    if len(steps) != len(drawing.steps):
        return steps
    vanished = [step.happens[:1] == (NO_WINDOW.text,) for step in drawing.steps]
    pairs = zip(steps, vanished, strict=True)
    return tuple(replace(step, happens=(NO_WINDOW.text, *step.happens)) if has else step for step, has in pairs)


def _spark_join(session: SparkSession, drawing: Drawing, pipeline: Pipeline) -> tuple[Step, ...]:
    inputs, rows, story = joining(pipeline), rows_of(drawing), ReplayStory(drawing)
    if inputs.right_when:
        left, right = frame_of(session, rows, _SCHEMA), None
    else:
        left, right = (frame_of(session, [r for r in rows if r["side"] == side.value], _SCHEMA) for side in Side)
    for place, watermark in steps_like(drawing.steps, {}):
        story.advance(place, watermark)
    if pipeline.join is not None and pipeline.join.as_of is not None:
        versions = as_of_join(left, right, inputs, pipeline.join.as_of, until=until_of(drawing))
        _emitted(versions, drawing, story)
        return story.steps()
    if pipeline.join is not None and pipeline.join.by_interval:
        result = interval_join(left, right, inputs, bounds(pipeline))
        for row in collected(result.pairs):
            entry = pair(row["left"]["row"], row["right"]["row"], millis(row["event_time"]), drawing.unit)
            story.happen(story.place(micros(row["fired_at"])), entry)
        late = [result.late_left, result.late_right]
    else:
        grouped = window_join(left, right, inputs, pipeline.windows, until=until_of(drawing))
        for row in collected(grouped.groups):
            story.window(row, groups(*([member["row"] for member in row[side.value]] for side in Side)))
        late = [grouped.late_left, grouped.late_right]
    for table in late:
        story.late(collected(table))
    return story.steps()


def _emitted(joined: AsOfJoined, drawing: Drawing, story: ReplayStory) -> None:
    """Note the rows of an as-of join, each at the drawn watermark that passes it after its arrival, and late rows."""
    late = [*collected(joined.late_left), *collected(joined.late_right)]
    reaches = {row["row"]: millis(row["watermark"]) + 1 for row in late}
    advances = list(steps_like(drawing.steps, {}))
    for row in collected(joined.pairs):
        left, right = row["left"], row["right"]
        reach = reaches.get(left["row"], left["ts"])
        drawn = (advance for advance in advances if advance[1] >= reach)
        place, watermark = next(drawn, (Place(-1, at_tick=True), MAX))
        fired = story.place(micros(row["fired_at"]))
        entry = versioned(left["row"], None if right is None else right["row"])
        story.happen(Place(fired.row, place.at_tick), entry, watermark)
    story.late(late, LATE)
