"""The reference and Spark as engines of the examples: panes of a pipeline, or pairs of a join."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spark_jobs.pipeline.joining import JoiningPipeline, bounds, joining
from spark_jobs.semantics import reference
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.joins.joining_job import Arrival, JoinSource, gather, join
from spark_jobs.semantics.joins.window_join import CoGroup
from spark_jobs.semantics.rows.events import Event, event_reader
from spark_jobs.semantics.rows.expressions import Expression, column
from spark_jobs.semantics.rows.instants import MIN, table_time, table_time_us
from spark_jobs.semantics.streaming_job import StreamingJob, operator
from spark_jobs.semantics.watermark.rounds import Rounds
from spark_jobs.semantics.windows.lateness import fate
from tests.examples.example import Example, TableRow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The columns of `panes` beside the key and the aggregates, as an example shows them.
WINDOW, FIRING = ("window_start", "window_end"), ("timing", "fired_at")


@dataclass(frozen=True)
class Judged:
    """A row in arrival order, the watermark before it, and what becomes of the row."""

    row: Mapping[str, Any]
    watermark: int
    outcome: str


@dataclass(frozen=True)
class Answer:
    """The rows as judged, and the panes or pairs in the order of their firing."""

    judged: list[Judged]
    results: list[TableRow]


def columns(example: Example) -> list[str]:
    """Return the columns that `expected.csv` has."""
    pipeline = example.pipeline
    if pipeline.join is None:
        return [*pipeline.windows.key, *WINDOW, *FIRING, *(named.name for named in pipeline.windows.aggregates)]
    of_rows = [f"{name}.{field}" for name, rows in _parts(example).items() for field in rows[0]]
    return [*of_rows, "event_time", "fired_at"] if pipeline.join.by_interval else [*WINDOW, *FIRING, *of_rows]


def of_reference(example: Example) -> Answer:
    """Compute an example with the reference."""
    if example.pipeline.join is None:
        return _windows(example)
    return _interval_join(example) if example.pipeline.join.by_interval else _window_join(example)


def _windows(example: Example) -> Answer:
    pipeline = example.pipeline
    events = _events(example)
    job = StreamingJob(pipeline)
    job.run(Rounds(pipeline).read(events) if pipeline.replay.in_rounds else events, None)
    lateness_ms = pipeline.windows.lateness_ms
    judged = [
        Judged(each.event.row, each.watermark, _text(fate(
            [verdict.lateness for verdict in each.verdicts], each.event.ts, lateness_ms, each.watermark)))
        for each in job.judged
    ]  # fmt: skip
    return Answer(judged, reference.replay(example.rows, pipeline).panes)


def _interval_join(example: Example) -> Answer:
    inputs, arrivals = joining(example.pipeline), _arrivals(example)
    joined = join(arrivals, bounds(example.pipeline), inputs.emit, *_sources(inputs))
    late = {id(arrival) for arrival in joined.late}
    judged = [
        Judged(arrival.row, _before(joined.watermarks, place), "too late" if id(arrival) in late else "accepted")
        for place, arrival in enumerate(arrivals)
    ]
    return Answer(judged, [
        {
            **_pair(example, pair.left, pair.right),
            "event_time": table_time(pair.ts),
            "fired_at": table_time_us(arrivals[arrived - 1].clock_us),
        }
        for arrived, pair in joined.pairs
    ])  # fmt: skip


def _window_join(example: Example) -> Answer:
    inputs, arrivals, windows = joining(example.pipeline), _arrivals(example), example.pipeline.windows
    cogroup: CoGroup[Any, Any] = CoGroup(operator(windows), allowed_lateness_ms=windows.allowed_lateness_ms)
    gathered = gather(arrivals, cogroup, inputs.emit, *_sources(inputs))
    judged = [Judged(each.arrival.row, each.watermark, _text(each.fate)) for each in gathered.judged]
    return Answer(judged, [
        {
            "window_start": table_time(group.window.start),
            "window_end": table_time(group.window.end),
            "timing": group.timing.value,
            "fired_at": table_time_us(clock_us),
            **_pair(example, left, right),
        }
        for _, group, clock_us in gathered.groups
        for left, right in group.pairs
    ])  # fmt: skip


def _text(lateness: Any) -> str:
    return "in no window" if lateness is None else lateness.value.replace("_", " ")


def _events(example: Example) -> list[Event]:
    """Return the rows that reach the watermark, in arrival order."""
    reader = event_reader(example.pipeline)
    events = [event for event in map(reader.read, example.rows) if isinstance(event, Event)]
    moves_all = example.pipeline.filtered_rows_move_watermark
    return sorted((event for event in events if event.is_kept or moves_all), key=lambda event: event.position)


def _arrivals(example: Example) -> list[Arrival]:
    inputs = joining(example.pipeline)
    keys = {Side.LEFT: inputs.left.key, Side.RIGHT: inputs.right.key}
    arrivals = []
    for event in _events(example):
        side = _side(example, inputs, event)
        key = "/".join(str(column(event.row, name)) for name in keys[side])
        arrivals.append(Arrival(side, event.partition, key, event.ts, event.clock_us, event.row))
    return arrivals


def _side(example: Example, inputs: JoiningPipeline, event: Event) -> Side:
    if inputs.right_when is not None:
        return Side.RIGHT if Expression(inputs.right_when).evaluate(event.row) else Side.LEFT
    return Side.RIGHT if event.source == example.pipeline.sources[1].name else Side.LEFT


def _sources(inputs: JoiningPipeline) -> list[JoinSource]:
    parts = inputs.inputs if inputs.right_when is None else inputs.inputs[:1]
    return [JoinSource(part.watermark) for part in parts]


def _before(watermarks: Iterable[tuple[int, int]], place: int) -> int:
    """Return the watermark before the row of a place; watermarks have the number of rows that had arrived."""
    return max((watermark for arrived, watermark in watermarks if arrived <= place), default=MIN)


def _parts(example: Example) -> Mapping[str, list[TableRow]]:
    """Return the rows of the two inputs by the name of the input; one table belongs to both."""
    join_of = example.pipeline.join
    assert join_of is not None
    return example.tables if example.pipeline.sources else dict.fromkeys(join_of.names, example.tables[""])


def _pair(example: Example, left: Mapping[str, Any], right: Mapping[str, Any]) -> TableRow:
    sides = zip(_parts(example).items(), (left, right), strict=True)
    return {f"{name}.{field}": row[field] for (name, rows), row in sides for field in rows[0]}


def of_spark(session: SparkSession, example: Example) -> list[TableRow]:
    """Compute the panes or pairs of an example on Spark, in any order."""
    from tests.support.engine import frame_of, rows_of, spark_replay

    if example.pipeline.join is None:
        return spark_replay(session, example.rows, example.pipeline).panes
    from spark_jobs.replay.joins.interval_join import interval_join
    from spark_jobs.replay.joins.window_join import window_join

    inputs = joining(example.pipeline)
    left, right = ([*(frame_of(session, rows) for rows in example.tables.values()), None])[:2]
    assert left is not None
    is_by_interval = example.pipeline.join.by_interval
    pairs = (
        interval_join(left, right, inputs, bounds(example.pipeline)).pairs
        if is_by_interval
        else window_join(left, right, inputs, example.pipeline.windows).pairs
    )
    return [{**row, **_pair(example, row["left"], row["right"])} for row in rows_of(pairs)]
