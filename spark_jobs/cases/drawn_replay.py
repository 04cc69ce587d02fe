"""The reference replays a drawing: its rows become those of a source, and the replay becomes the steps of a drawing.

The source of a drawing has a table, time columns, a source partition, a key and a list of row numbers as aggregate.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from spark_jobs.cases.drawing import Drawing, Row, Step
from spark_jobs.cases.happenings import (
    LATE,
    MAX,
    MIN,
    NO_WINDOW,
    TOO_LATE,
    Happening,
    Window,
    fires,
    groups,
    numbers,
    pair,
    versioned,
)
from spark_jobs.cases.story import Place, Story
from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.pipeline.joining import JoiningPipeline, JoinInput, bounds, joining
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.joins.joining_job import Arrival, JoinSource, gather, join, join_as_of
from spark_jobs.semantics.joins.window_join import CoGroup
from spark_jobs.semantics.reference import replay
from spark_jobs.semantics.rows.events import Event, event_reader
from spark_jobs.semantics.rows.instants import END_OF_INPUT, micros, table_time_us
from spark_jobs.semantics.streaming_job import StreamingJob, operator

_SOURCE = {
    "table": "drawing",
    "event_time": {"column": "ts", "unit": "ms"},
    "arrival_time": {"column": "arrival_us", "unit": "us"},
    "source_partition": ["partition"],
    "tie_break": ["row"],
    "future_guard": "none",
}
#: The key of rows that are put behind drawn rows to measure the watermark, and their event time.
WITNESS, LONG_AGO_MS = "witness", -(10**11)

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
    return from_mapping(part, origin="pipeline", overrides=drawing.settings)


def replayed(drawing: Drawing) -> tuple[Step, ...]:
    """Replay a drawing's rows with the reference."""
    pipeline = pipeline_of(drawing)
    if pipeline.join is None:
        return _reference_windows(drawing, pipeline)
    if pipeline.join.is_as_of:
        return _reference_versions(drawing, pipeline)
    if pipeline.join.by_interval:
        return _reference_pairs(drawing, pipeline)
    return _reference_groups(drawing, pipeline)


def _reference_windows(drawing: Drawing, pipeline: Pipeline) -> tuple[Step, ...]:
    rows = rows_of(drawing)
    result = replay(rows, pipeline, until=until_of(drawing), where=_is_kept)
    story = ReplayStory(drawing)
    for clock_us, watermark in _advances(rows, pipeline, until_of(drawing)):
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
    inputs, arrivals, story = joining(pipeline), _arrivals(drawing, pipeline), ReplayStory(drawing)
    sources = _sources(inputs)
    until_us = None if drawing.until is None else drawing.until * 1000
    joined = join(arrivals, bounds(pipeline), inputs.emit, *sources, until_us=until_us)
    # The end of the left input, a moment before that of the right one, advances the watermark: a last row that is late
    # keeps that apart from what the last drawn row does.
    followed = [*arrivals, *map(_witness_behind, arrivals[-1:])]
    further = join(followed, bounds(pipeline), inputs.emit, *sources, until_us=until_us)
    marks = [mark for mark in joined.watermarks if mark[0] < len(arrivals) or mark[1] == MAX]
    marks += [mark for mark in further.watermarks if mark[0] == len(arrivals)]
    for arrived, watermark in marks:
        story.advance(_place(arrivals, arrived, at_tick=_is_tick(inputs)), watermark)
    for arrived, joined_pair in joined.pairs:
        story.happen(
            _place(arrivals, arrived, at_tick=False),
            pair(joined_pair.left["row"], joined_pair.right["row"], joined_pair.ts, drawing.unit),
        )
    story.late(arrival.row for arrival in joined.late if _is_kept(arrival.row))
    return story.steps()


def _reference_versions(drawing: Drawing, pipeline: Pipeline) -> tuple[Step, ...]:
    inputs, arrivals, story = joining(pipeline), _arrivals(drawing, pipeline), ReplayStory(drawing)
    sources, is_tick = _sources(inputs), _is_tick(inputs)
    until_us = None if drawing.until is None else drawing.until * 1000
    closes = pipeline.replay.closes
    joined = join_as_of(arrivals, inputs.emit, *sources, until_us=until_us, closes=closes)
    # Without an end there is no moment between the ends of the two inputs.
    marks = join_as_of(arrivals, inputs.emit, *sources, until_us=until_us, closes=False).watermarks
    for arrived, watermark in marks:
        story.advance(_place(arrivals, arrived, at_tick=is_tick), watermark)
    if closes:
        story.advance(Place(len(drawing.rows) - 1, at_tick=True), MAX)
    outer = pipeline.join is not None and pipeline.join.keeps_unmatched
    for arrived, match, _, watermark in joined.emitted:
        right = None if match.right is None else match.right.row["row"]
        if _is_kept(match.left.row) and (right is not None or outer):
            entry = versioned(match.left.row["row"], right)
            story.happen(_place(arrivals, arrived, at_tick=is_tick), entry, watermark)
    story.late((late.arrival.row for late in joined.late if _is_kept(late.arrival.row)), LATE)
    return story.steps()


def _witness_behind(last: Arrival) -> Arrival:
    return Arrival(last.side, last.partition, WITNESS, LONG_AGO_MS, last.clock_us + 1, {**last.row, "marker": False})


def _reference_groups(drawing: Drawing, pipeline: Pipeline) -> tuple[Step, ...]:
    inputs, arrivals, story = joining(pipeline), _arrivals(drawing, pipeline), ReplayStory(drawing)
    windows = pipeline.windows
    cogroup: CoGroup[Any, Any] = CoGroup(operator(windows), allowed_lateness_ms=windows.allowed_lateness_ms)
    until_us = None if drawing.until is None else drawing.until * 1000
    gathered = gather(arrivals, cogroup, inputs.emit, *_sources(inputs), until_us=until_us)
    for arrived, watermark in gathered.watermarks:
        story.advance(_place(arrivals, arrived, at_tick=_is_tick(inputs)), watermark)
    for _, group, clock_us in gathered.groups:
        if not all(map(_is_kept, (*group.left, *group.right))):
            continue
        window = Window(group.key, group.window.start, group.window.end, group.index)
        text = groups((row["row"] for row in group.left), (row["row"] for row in group.right))
        story.happen(story.place(clock_us), window.happens(text, drawing.unit), group.watermark)
    story.late(judged.arrival.row for judged in gathered.late if _is_kept(judged.arrival.row))
    return story.steps()


def _is_tick(inputs: JoiningPipeline) -> bool:
    """Whether watermarks advance between rows; a join's answer has no clock of them."""
    punctuated = {join_input.watermark.strategy.value for join_input in inputs.inputs} == {"punctuated"}
    return inputs.emit.kind.value == "every" and not punctuated


def _arrivals(drawing: Drawing, pipeline: Pipeline) -> list[Arrival]:
    """Return the rows that move the watermark of a join; a row that `where` drops has a key that no other row has."""
    rows = [row for row in rows_of(drawing) if _is_kept(row) or pipeline.filtered_rows_move_watermark]
    keys = [row["key"] if _is_kept(row) else f"dropped row {row['row']}" for row in rows]
    return [
        Arrival(Side(row["side"]), row["partition"], key, row["ts"], row["arrival_us"], row)
        for key, row in zip(keys, rows, strict=True)
    ]


def _place(arrivals: Sequence[Arrival], arrived: int, *, at_tick: bool) -> Place:
    """Return the place after so many of `arrivals`."""
    return Place(arrivals[arrived - 1].row["row"] if arrived else -1, at_tick)


def _sources(joined: JoiningPipeline) -> list[JoinSource]:
    inputs: Sequence[JoinInput] = joined.inputs if joined.right_when is None else joined.inputs[:1]
    return [
        JoinSource(join_input.watermark, tuple(str(label) for (label,) in join_input.source.source_partition.declared))
        for join_input in inputs
    ]


class ReplayStory(Story):
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
        self.happen(self.place(micros(row["fired_at"])), happening, millis(row["watermark"]))

    def late(self, rows: Iterable[TableRow], happening: Happening = TOO_LATE) -> None:
        """Note late rows."""
        for row in rows:
            met = millis(row["watermark"]) if "watermark" in row else None
            self.happen(Place(row["row"], at_tick=False), happening, met)

    def complete(self, rows: Iterable[TableRow]) -> None:
        """Note complete results, at the end."""
        for row in rows:
            text = f"holds {numbers(row['members'])}, {row['missed_rows']} missed"
            self.at_end(_window(row, MAX).happens(text, self._in))


def _window(row: TableRow, pane: int) -> Window:
    return Window(row["key"], millis(row["window_start"]), millis(row["window_end"]), pane)


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


def until_of(drawing: Drawing) -> datetime | None:
    """Return how far the arrival clock of a drawing goes, if further than its last row."""
    return None if drawing.until is None else table_time_us(drawing.until * 1000)


def millis(moment: datetime | None) -> int:
    """Return a watermark of a table in milliseconds; MIN for null, MAX for the end of the input."""
    if moment is None:
        return MIN
    return MAX if moment == END_OF_INPUT else micros(moment) // 1000
