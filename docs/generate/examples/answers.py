"""The reference's results of an example: rows with their fates, panes or pairs, and late events.

python -m docs.generate.examples.answers    write the files of `expected` of every example
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from docs.generate.examples.folder import Example, TableRow, csv_text, examples
from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.joining import JoiningPipeline, bounds, joining
from spark_jobs.semantics import reference
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.joins.joining_job import Arrival, JoinSource, gather, join, join_as_of
from spark_jobs.semantics.joins.window_join import CoGroup
from spark_jobs.semantics.rows.events import Event, event_reader
from spark_jobs.semantics.rows.expressions import Expression, column
from spark_jobs.semantics.rows.instants import MAX, MIN, table_time, table_time_us
from spark_jobs.semantics.streaming_job import JudgedRow, StreamingJob, operator
from spark_jobs.semantics.watermark.rounds import Rounds
from spark_jobs.semantics.windows.lateness import Lateness, fate

#: The fates of rows, as pages name them.
ON_TIME, LATE, TOO_LATE, ACCEPTED, FILTERED = "on time", "late", "too late", "accepted", "filtered"
_FATES = {Lateness.ON_TIME: ON_TIME, Lateness.LATE: LATE, Lateness.TOO_LATE: TOO_LATE, None: "in no window"}


@dataclass(frozen=True)
class Judged:
    """A row, its event time and clock, the watermark before it, its fate, and its input (0 or 1) if there are two."""

    row: Mapping[str, Any]
    ts: int
    clock_us: int
    watermark: int
    outcome: str
    side: int = 0


@dataclass(frozen=True)
class Answer:
    """Rows in arrival order, results in the order of firing, and advances: the clock (us) and the watermark (ms)."""

    judged: list[Judged]
    results: list[TableRow]
    late_events: list[TableRow]
    advances: list[tuple[int, int]]


def of_reference(example: Example) -> Answer:
    """Compute an example with the reference."""
    if example.pipeline.join is None:
        return _windows(example)
    if example.pipeline.join.is_as_of:
        return _as_of_join(example)
    return _interval_join(example) if example.pipeline.join.by_interval else _window_join(example)


def _windows(example: Example) -> Answer:
    pipeline = example.pipeline
    events = _events(example)
    job = StreamingJob(pipeline)
    job.run(Rounds(pipeline).read(events) if pipeline.replay.in_rounds else events, None)
    advances = _without_end((advance.clock_us, advance.watermark) for advance in job.calendar.advances)
    filtered = [_filtered(event, advances) for event in events if not event.is_kept]
    judged = sorted([*(_of_job(each, pipeline) for each in job.judged), *filtered], key=lambda each: each.clock_us)
    replayed = reference.replay(example.rows, pipeline)
    return Answer(judged, replayed.panes, replayed.late_events, advances)


def _of_job(judged: JudgedRow, pipeline: Pipeline) -> Judged:
    event, verdicts = judged.event, [verdict.lateness for verdict in judged.verdicts]
    outcome = _FATES[fate(verdicts, event.ts, pipeline.windows.lateness_ms, judged.watermark)]
    names = [united.name for united in pipeline.sources]
    side = names.index(event.source) if event.source in names else 0
    return Judged(event.row, event.ts, event.clock_us, judged.watermark, outcome, side)


def _filtered(event: Event, advances: Sequence[tuple[int, int]]) -> Judged:
    before = max((watermark for clock_us, watermark in advances if clock_us < event.clock_us), default=MIN)
    return Judged(event.row, event.ts, event.clock_us, before, FILTERED)


def _interval_join(example: Example) -> Answer:
    inputs, arrivals = joining(example.pipeline), _arrivals(example)
    joined = join(arrivals, bounds(example.pipeline), inputs.emit, *_sources(inputs))
    late = {id(arrival) for arrival in joined.late}
    judged = [
        _of_arrival(
            arrival, _before(joined.watermarks, place), TOO_LATE if id(arrival) in late else ACCEPTED
        )
        for place, arrival in enumerate(arrivals)
    ]  # fmt: skip
    pairs = [
        {
            **pair_row(example, pair.left, pair.right),
            "event_time": table_time(pair.ts),
            "fired_at": table_time_us(arrivals[arrived - 1].clock_us),
        }
        for arrived, pair in joined.pairs
    ]
    return _joined(example, judged, pairs, _advances(arrivals, joined.watermarks))


def _as_of_join(example: Example) -> Answer:
    inputs, arrivals = joining(example.pipeline), _arrivals(example)
    versioned = join_as_of(arrivals, inputs.emit, *_sources(inputs))
    versions = {id(each.match.left): each.match.right for each in versioned.emitted}
    late = {id(each.arrival): each.watermark for each in versioned.late}
    # Without an end there is no moment between the ends of the two inputs.
    watermarks = join_as_of(arrivals, inputs.emit, *_sources(inputs), closes=False).watermarks
    judged = [
        _of_arrival(arrival, _before(watermarks, place), LATE if id(arrival) in late else ACCEPTED)
        for place, arrival in enumerate(arrivals)
    ]
    outer = example.pipeline.join is not None and example.pipeline.join.keeps_unmatched
    pairs = [
        {
            **pair_row(example, match.left.row, None if match.right is None else match.right.row),
            "event_time": table_time(match.ts),
            "fired_at": table_time_us(clock_us),
        }
        for _, match, clock_us, _ in versioned.emitted
        if match.right is not None or outer
    ]
    names, empty = list(example.inputs), dict.fromkeys(example.columns["late_events"])
    late_events = [
        {
            **empty,
            "source": names[list(Side).index(arrival.side)],
            **arrival.row,
            "watermark": table_time(watermark),
            "verdict": _verdict(arrival, versions),
        }
        for arrival, watermark in versioned.late
    ]
    return Answer(judged, pairs, late_events, _advances(arrivals, watermarks))


def _verdict(arrival: Arrival, versions: Mapping[int, Arrival | None]) -> str:
    if arrival.side is Side.RIGHT:
        return "kept"
    return "unmatched" if versions[id(arrival)] is None else "joined"


def _window_join(example: Example) -> Answer:
    inputs, arrivals, windows = joining(example.pipeline), _arrivals(example), example.pipeline.windows
    cogroup: CoGroup[Any, Any] = CoGroup(operator(windows), allowed_lateness_ms=windows.allowed_lateness_ms)
    gathered = gather(arrivals, cogroup, inputs.emit, *_sources(inputs))
    judged = [_of_arrival(each.arrival, each.watermark, _FATES[each.fate]) for each in gathered.judged]
    pairs = [
        {
            "window_start": table_time(group.window.start),
            "window_end": table_time(group.window.end),
            "timing": group.timing.value,
            "fired_at": table_time_us(clock_us),
            **pair_row(example, left, right),
        }
        for _, group, clock_us in gathered.groups
        for left, right in group.pairs
    ]
    return _joined(example, judged, pairs, _advances(arrivals, gathered.watermarks))


def _joined(example: Example, judged: list[Judged], pairs: list[TableRow], advances: list[tuple[int, int]]) -> Answer:
    names = list(example.inputs)
    late = [
        {"source": names[each.side], **each.row, "watermark": table_time(each.watermark)}
        for each in judged
        if each.outcome == TOO_LATE
    ]
    empty = dict.fromkeys(example.columns["late_events"])
    return Answer(judged, pairs, [{**empty, **row} for row in late], advances)


def _of_arrival(arrival: Arrival, watermark: int, outcome: str) -> Judged:
    side = list(Side).index(arrival.side)
    return Judged(arrival.row, arrival.ts, arrival.clock_us, watermark, outcome, side)


def _advances(arrivals: Sequence[Arrival], watermarks: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the advances of a join that emits at its rows; watermarks have the number of rows that had arrived."""
    return _without_end((arrivals[arrived - 1].clock_us, watermark) for arrived, watermark in watermarks)


def _without_end(advances: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(clock_us, watermark) for clock_us, watermark in advances if watermark < MAX]


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


def pair_row(example: Example, left: Mapping[str, Any], right: Mapping[str, Any] | None) -> TableRow:
    """Return the columns of both rows of a pair, each with the name of its input before it; null without a row."""
    sides = zip(example.inputs.items(), (left, right), strict=True)
    return {
        f"{name}.{column}": None if row is None else row[column] for (name, rows), row in sides for column in rows[0]
    }


def main() -> None:
    """Write the expected rows of every example."""
    for example in examples().values():
        answer = of_reference(example)
        for table, rows in ((example.results, answer.results), ("late_events", answer.late_events)):
            file = example.expected_file(table)
            file.parent.mkdir(exist_ok=True)
            file.write_text(csv_text(rows, example.columns[table]), encoding="utf-8")


if __name__ == "__main__":
    main()
