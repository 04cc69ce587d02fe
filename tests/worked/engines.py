"""The engines that replay a drawing: the reference and Spark. No other module of the worked examples uses the product.

Each gives the steps of the drawing's rows. Spark does not give the watermark after each row: a witness behind a row,
with a separate key and an event time of long ago, is too late as soon as there is a watermark, and late rows carry
the watermark that they met. Where witnesses cannot stand (`_has_witnesses`), the drawn watermarks are taken, and only
those of panes and late rows are compared.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.pipeline.joining import JoiningPipeline, JoinInput, bounds, joining
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.joins.joining_job import Arrival, JoinSource, gather, join
from spark_jobs.semantics.joins.window_join import CoGroup
from spark_jobs.semantics.reference import replay
from spark_jobs.semantics.rows.events import Event, event_reader
from spark_jobs.semantics.rows.instants import END_OF_INPUT, micros, table_time_us
from spark_jobs.semantics.streaming_job import StreamingJob, operator
from tests.worked.drawing import Drawing, Row, Step
from tests.worked.happenings import MAX, MIN, NO_WINDOW, TOO_LATE, Window, fires, groups, numbers, pair
from tests.worked.story import Place, Story, steps_like

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SOURCE = {
    "table": "drawing",
    "event_time": {"column": "ts", "unit": "ms"},
    "arrival_time": {"column": "arrival_us", "unit": "us"},
    "source_partition": ["partition"],
    "tie_break": ["row"],
    "future_guard": "none",
}
_WITNESS = "witness"
_LONG_AGO_MS = -(10**11)
_SCHEMA = pa.schema([
    ("row", pa.int64()), ("ts", pa.int64()), ("arrival_us", pa.int64()), ("key", pa.string()),
    ("partition", pa.string()), ("side", pa.string()), ("marker", pa.bool_()), ("kept", pa.bool_()),
])  # fmt: skip

TableRow = Mapping[str, Any]


def pipeline_of(drawing: Drawing) -> Pipeline:
    """Complete a drawing's part of a pipeline file with the table, the time columns, the key and the aggregate."""
    part = {"name": "drawing", **drawing.pipeline}
    if "sources" in part:
        part["sources"] = [{**_SOURCE, **source} for source in part["sources"]]
    else:
        part["source"] = {**_SOURCE, **part.get("source", {})}
    if "join" in part:
        part["join"] = {"key": ["key"], **part["join"]}
    else:
        part["windows"] = {"key": ["key"], "aggregates": {"members": "collect_list(row)"}, **part["windows"]}
    return from_mapping(part)


def reference(drawing: Drawing) -> tuple[Step, ...]:
    """Replay a drawing's rows with the reference."""
    pipeline = pipeline_of(drawing)
    if pipeline.join is None:
        return _reference_windows(drawing, pipeline)
    if pipeline.join.by_interval:
        return _reference_pairs(drawing, pipeline)
    return _reference_groups(drawing, pipeline)


def _reference_windows(drawing: Drawing, pipeline: Pipeline) -> tuple[Step, ...]:
    rows = rows_of(drawing)
    result = replay(rows, pipeline, until=_until(drawing), where=_is_kept)
    story = _ReplayStory(drawing)
    for clock_us, watermark in _advances(rows, pipeline, _until(drawing)):
        story.advance(story.place(clock_us), watermark)
    story.panes(result.panes)
    story.late(result.late_events)
    for row in result.unassigned_events:
        story.happen(Place(row["row"], at_tick=False), NO_WINDOW)
    if pipeline.is_complete:
        story.complete(result.complete_results)
    return story.steps()


def _is_kept(row: TableRow) -> bool:
    return bool(row["kept"])


def _advances(rows: Iterable[TableRow], pipeline: Pipeline, until: datetime | None) -> list[tuple[int, int]]:
    """Each watermark of the reference's job, with its clock in microseconds."""
    reader, job = event_reader(pipeline, _is_kept), StreamingJob(pipeline)
    events = [event for event in map(reader.read, rows) if isinstance(event, Event)]
    moving = [event for event in events if event.is_kept or pipeline.watermark.placement.value == "source"]
    job.run(sorted(moving, key=lambda event: event.position), None if until is None else micros(until))
    return [(advance.clock_us, advance.watermark) for advance in job.calendar.advances]


def _reference_pairs(drawing: Drawing, pipeline: Pipeline) -> tuple[Step, ...]:
    inputs, arrivals, story = joining(pipeline), _arrivals(drawing), _ReplayStory(drawing)
    sources = _sources(inputs)
    until_us = None if drawing.until is None else drawing.until * 1000
    joined = join(arrivals, bounds(pipeline), inputs.emit, *sources, until_us=until_us)
    # The end of the left input, a moment before that of the right one, advances the watermark: a last row that is late
    # keeps that apart from what the last drawn row does.
    further = join([*arrivals, _last_witness(arrivals)], bounds(pipeline), inputs.emit, *sources, until_us=until_us)
    marks = [mark for mark in joined.watermarks if mark[0] < len(arrivals) or mark[1] == MAX]
    marks += [mark for mark in further.watermarks if mark[0] == len(arrivals)]
    for arrived, watermark in marks:
        story.advance(Place(arrived - 1, _is_tick(inputs)), watermark)
    for arrived, joined_pair in joined.pairs:
        story.happen(
            Place(arrived - 1, at_tick=False),
            pair(joined_pair.left["row"], joined_pair.right["row"], joined_pair.ts, drawing.unit),
        )
    story.late([arrival.row for arrival in joined.late])
    return story.steps()


def _last_witness(arrivals: Sequence[Arrival]) -> Arrival:
    last = arrivals[-1]
    return Arrival(last.side, last.partition, _WITNESS, _LONG_AGO_MS, last.clock_us + 1, {**last.row, "marker": False})


def _reference_groups(drawing: Drawing, pipeline: Pipeline) -> tuple[Step, ...]:
    inputs, story, windows = joining(pipeline), _ReplayStory(drawing), pipeline.windows
    cogroup: CoGroup[Any, Any] = CoGroup(operator(windows), allowed_lateness_ms=windows.allowed_lateness_ms)
    until_us = None if drawing.until is None else drawing.until * 1000
    gathered = gather(_arrivals(drawing), cogroup, inputs.emit, *_sources(inputs), until_us=until_us)
    for arrived, watermark in gathered.watermarks:
        story.advance(Place(arrived - 1, _is_tick(inputs)), watermark)
    for _, group, clock_us in gathered.groups:
        window = Window(group.key, group.window.start, group.window.end, group.index)
        text = groups((row["row"] for row in group.left), (row["row"] for row in group.right))
        story.happen(story.place(clock_us), window.happens(text, drawing.unit), group.watermark)
    story.late([judged.arrival.row for judged in gathered.late])
    return story.steps()


def _is_tick(inputs: JoiningPipeline) -> bool:
    """Whether watermarks advance between rows; a join's answer has no clock of them."""
    punctuated = {join_input.watermark.strategy.value for join_input in inputs.inputs} == {"punctuated"}
    return inputs.emit.kind.value == "every" and not punctuated


def _arrivals(drawing: Drawing) -> list[Arrival]:
    return [
        Arrival(Side(row["side"]), row["partition"], row["key"], row["ts"], row["arrival_us"], row)
        for row in rows_of(drawing)
    ]


def _sources(joined: JoiningPipeline) -> list[JoinSource]:
    inputs: Sequence[JoinInput] = joined.inputs if joined.right_when is None else joined.inputs[:1]
    return [
        JoinSource(join_input.watermark, tuple(str(label) for (label,) in join_input.source.source_partition.declared))
        for join_input in inputs
    ]


def spark(session: SparkSession, drawing: Drawing) -> tuple[Step, ...]:
    """Replay a drawing's rows on Spark."""
    pipeline = pipeline_of(drawing)
    if pipeline.join is None:
        return _spark_windows(session, drawing, pipeline)
    return _spark_join(session, drawing, pipeline)


def _spark_windows(session: SparkSession, drawing: Drawing, pipeline: Pipeline) -> tuple[Step, ...]:
    from tests.support.engine import spark_replay

    rows, story = rows_of(drawing), _ReplayStory(drawing)
    witnesses = [_witness(row) for row in rows] if _has_witnesses(drawing, pipeline) else []
    result = spark_replay(session, [*rows, *witnesses], pipeline, until=_until(drawing), schema=_schema(rows))
    late = result.late_events
    met = {row["row"]: _millis(row["watermark"]) for row in late if row["key"] == _WITNESS}
    watermark_by_row = {row["row"]: met.get(row["row"], MIN) for row in witnesses}
    for place, watermark in steps_like(drawing.steps, watermark_by_row):
        story.advance(place, watermark)
    story.panes(row for row in result.panes if row["key"] != _WITNESS)
    story.late(row for row in late if row["key"] != _WITNESS)
    if pipeline.is_complete:
        from tests.support.engine import rows_of as collected

        story.complete(row for row in collected(result.lazy.complete_results) if row["key"] != _WITNESS)
    return _with_vanished(drawing, story.steps())


def _schema(rows: Sequence[TableRow]) -> pa.Schema:
    has_source = any("source" in row for row in rows)
    return _SCHEMA.append(pa.field("source", pa.string())) if has_source else _SCHEMA


def _has_witnesses(drawing: Drawing, pipeline: Pipeline) -> bool:
    """Whether witnesses move nothing: they count as rows, are late rows, and take part in no idle timeout."""
    return (
        pipeline.watermark.emit.kind.value != "every_n"
        and pipeline.windows.late_data.value == "side_output"
        and pipeline.windows.late_panes.value == "per_row"
        and pipeline.source.where is None
    )


def _witness(row: dict[str, Any]) -> dict[str, Any]:
    late = {"ts": _LONG_AGO_MS, "arrival_us": row["arrival_us"] + 1, "key": _WITNESS, "marker": False}
    return {**row, **late}


def _with_vanished(drawing: Drawing, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Add the rows without a window as drawn: no table contains them (rule 53)."""
    if len(steps) != len(drawing.steps):
        return steps
    vanished = [step.happens[:1] == (NO_WINDOW.text,) for step in drawing.steps]
    pairs = zip(steps, vanished, strict=True)
    return tuple(replace(step, happens=(NO_WINDOW.text, *step.happens)) if has else step for step, has in pairs)


def _spark_join(session: SparkSession, drawing: Drawing, pipeline: Pipeline) -> tuple[Step, ...]:
    from spark_jobs.replay.joins.interval_join import interval_join
    from spark_jobs.replay.joins.window_join import window_join
    from tests.support.engine import frame_of
    from tests.support.engine import rows_of as collected

    inputs, rows, story = joining(pipeline), rows_of(drawing), _ReplayStory(drawing)
    parts = [rows, None] if inputs.right_when else [[row for row in rows if row["side"] == side.value] for side in Side]
    left, right = (None if part is None else frame_of(session, part, _SCHEMA) for part in parts)
    assert left is not None
    for place, watermark in steps_like(drawing.steps, {}):
        story.advance(place, watermark)
    if pipeline.join is not None and pipeline.join.by_interval:
        result = interval_join(left, right, inputs, bounds(pipeline))
        for row in collected(result.pairs):
            entry = pair(row["left"]["row"], row["right"]["row"], _millis(row["event_time"]), drawing.unit)
            story.happen(story.place(micros(row["fired_at"])), entry)
        late = [result.late_left, result.late_right]
    else:
        grouped = window_join(left, right, inputs, pipeline.windows, until=_until(drawing))
        for row in collected(grouped.groups):
            story.window(row, groups(*([member["row"] for member in row[side.value]] for side in Side)))
        late = [grouped.late_left, grouped.late_right]
    for table in late:
        story.late(collected(table))
    return story.steps()


class _ReplayStory(Story):
    """A story from rows of the published tables."""

    def __init__(self, drawing: Drawing) -> None:
        super().__init__(len(drawing.rows), drawing.unit)
        self._clocks_us = [_arrival_us(number, row) for number, row in enumerate(drawing.rows)]
        self._in = drawing.unit

    def place(self, clock_us: int) -> Place:
        """Find the place of a clock: with the row that arrived then, or at a tick behind the row before."""
        behind = bisect_left(self._clocks_us, clock_us)
        if behind < len(self._clocks_us) and self._clocks_us[behind] == clock_us:
            return Place(behind, at_tick=False)
        return Place(behind - 1, at_tick=True)

    def panes(self, rows: Iterable[TableRow]) -> None:
        """Note panes."""
        for row in rows:
            withdraws = row.get("is_retraction", False)
            text = f"retracts {numbers(row['members'])}" if withdraws else fires(row["timing"], row["members"])
            self.window(row, text, is_replacement=not withdraws)

    def window(self, row: TableRow, text: str, *, is_replacement: bool = True) -> None:
        """Note what a window does."""
        window = _window(row, row["pane_index"])
        happening = window.happens(text, self._in, is_replacement=is_replacement)
        self.happen(self.place(micros(row["fired_at"])), happening, _millis(row["watermark"]))

    def late(self, rows: Iterable[TableRow]) -> None:
        """Note late rows."""
        for row in rows:
            met = _millis(row["watermark"]) if "watermark" in row else None
            self.happen(Place(row["row"], at_tick=False), TOO_LATE, met)

    def complete(self, rows: Iterable[TableRow]) -> None:
        """Note complete results, at the end."""
        for row in rows:
            text = f"holds {numbers(row['members'])}, {row['missed_rows']} missed"
            self.at_end(_window(row, MAX).happens(text, self._in))


def _window(row: TableRow, pane: int) -> Window:
    return Window(row["key"], _millis(row["window_start"]), _millis(row["window_end"]), pane)


def rows_of(drawing: Drawing) -> list[dict[str, Any]]:
    """Give a drawing's rows as the pipeline reads them; a union has the name of the source in a column, the side."""
    is_union = "sources" in drawing.pipeline and "join" not in drawing.pipeline
    return [
        {
            "row": number,
            "ts": row.ts,
            "arrival_us": _arrival_us(number, row),
            "key": row.key,
            "partition": row.partition,
            "side": row.side,
            "marker": row.marker,
            "kept": row.kept,
            **({"source": row.side} if is_union else {}),
        }
        for number, row in enumerate(drawing.rows)
    ]


def _arrival_us(number: int, row: Row) -> int:
    """Rows of one millisecond arrive two microseconds apart, behind the tick of that millisecond."""
    return row.arrival * 1000 + 2 * number + 1


def _until(drawing: Drawing) -> datetime | None:
    return None if drawing.until is None else table_time_us(drawing.until * 1000)


def _millis(moment: datetime | None) -> int:
    if moment is None:
        return MIN
    return MAX if moment == END_OF_INPUT else micros(moment) // 1000


Engine = Callable[[Drawing], tuple[Step, ...]]
