"""What a run of a join must publish: the reference's joining job over dict rows, written down as the tables' rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from spark_jobs.pipeline.joining import bounds, joining
from spark_jobs.pipeline.model import EndOfInput, Pipeline
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.joins.joining_job import Arrival, JoinSource, Judged, Versioned, gather, join, join_as_of
from spark_jobs.semantics.joins.window_join import CoGroup, Group
from spark_jobs.semantics.rows.events import Event, EventReader
from spark_jobs.semantics.rows.instants import MAX, MIN, table_time, table_time_us
from spark_jobs.semantics.streaming_job import operator
from spark_jobs.semantics.windows.lateness import Lateness
from spark_jobs.semantics.windows.window_assigners import TimeWindow, assigner

Rows = Sequence[Mapping[str, Any]]
TableRow = dict[str, Any]


class JoinedTables:
    """The tables of a join of `left` and `right`, or of one source that `is_second` splits; and its counts."""

    def __init__(
        self,
        pipeline: Pipeline,
        left: Rows,
        right: Rows | None = None,
        is_second: Callable[[Mapping[str, Any]], bool] | None = None,
    ) -> None:
        assert pipeline.join is not None
        self._pipeline, self._join = pipeline, pipeline.join
        self._is_second = is_second
        self.pairs: list[TableRow] = []
        self.late_events: list[TableRow] = []
        self.invalid_events: list[TableRow] = []
        self.counts: Counter[str] = Counter()
        inputs = joining(pipeline)
        frames = [left] if right is None else [left, right]
        self._columns = dict.fromkeys(name for rows in frames for row in rows for name in row)
        self._events: dict[int, tuple[Side, Event]] = {}
        for number, rows in enumerate(frames):
            alone = [pipeline.alone(united) for united in pipeline.sources] or [pipeline]
            self._read(rows, alone[number], None if right is None else list(Side)[number])
        sources = [JoinSource(source.watermark) for source in inputs.inputs]
        if right is None:
            sources = sources[:1]
        self._arrivals = [self._arrival(side, event) for side, event in self._in_order()]
        emit = pipeline.watermark.emit
        if self._join.is_as_of:
            closes = pipeline.replay.end_of_input is EndOfInput.CLOSE
            self._as_of(join_as_of(self._arrivals, emit, *sources, closes=closes))
        elif self._join.by_interval:
            joined = join(self._arrivals, bounds(pipeline), emit, *sources)
            self._by_interval(joined.pairs, joined.late, joined.watermarks)
        else:
            windows = pipeline.windows
            co_group: CoGroup[str, Any] = CoGroup(operator(windows), allowed_lateness_ms=windows.lateness_ms)
            gathered = gather(self._arrivals, co_group, emit, *sources)
            stays_open = pipeline.replay.end_of_input is EndOfInput.KEEP_OPEN
            for fired in gathered.groups:
                if fired.group.watermark != MAX or not stays_open:
                    self._pairs_of(fired.group, fired.clock_us)
            for judged in gathered.judged:
                self._met(judged)
        self._fates()

    def _read(self, rows: Rows, alone: Pipeline, side: Side | None) -> None:
        reader = EventReader(alone)
        for row in rows:
            of = side or (Side.RIGHT if self._is_second is not None and self._is_second(row) else Side.LEFT)
            self.counts[f"rows_read_of_{self._name(of)}"] += 1
            event = reader.read(row)
            if isinstance(event, str):
                self.counts[f"invalid_of_{self._name(of)}"] += 1
                self.invalid_events.append({"source": self._name(of), **self._whole(row), "reason": event})
                continue
            self.counts[f"filtered_of_{self._name(of)}"] += not event.is_kept
            self._events[id(row)] = (of, event)

    def _in_order(self) -> list[tuple[Side, Event]]:
        """By clock; of two sources the left one first, and then each in its own order."""

        def place(entry: tuple[Side, Event]) -> tuple[Any, ...]:
            side, event = entry
            clock, *rest = event.position
            return (clock, side is Side.RIGHT if self._pipeline.sources else False, *rest)

        return sorted(self._events.values(), key=place)

    def _arrival(self, side: Side, event: Event) -> Arrival:
        columns = self._join.key[0 if side is Side.LEFT else 1]
        # The reference knows no condition: a row that is filtered moves the watermark, and has nobody's key.
        key: Any = tuple(event.row[name] for name in columns) if event.is_kept else ("filtered", id(event.row))
        return Arrival(side, event.partition, key, event.ts, event.clock_us, event.row)

    def _by_interval(self, pairs: Any, late: Any, watermarks: list[tuple[int, int]]) -> None:
        number = {id(arrival.row): place + 1 for place, arrival in enumerate(self._arrivals)}
        first, second = self._join.names
        for arrived, pair in pairs:
            self.pairs.append(
                {
                    first: dict(pair.left),
                    second: dict(pair.right),
                    "event_time": table_time(pair.ts),
                    "fired_at": table_time_us(self._arrivals[arrived - 1].clock_us),
                }
            )
        for arrival in late:
            behind = [mark for after, mark in watermarks if after < number[id(arrival.row)]]
            self._add_late_event(arrival, max(behind, default=MIN))

    def _as_of(self, versioned: Versioned) -> None:
        first, second = self._join.names
        joined: dict[int, bool] = {}
        for _, match, clock_us, _ in versioned.emitted:
            left, right = match.left, match.right
            joined[id(left.row)] = right is not None
            if not self._events[id(left.row)][1].is_kept or (right is None and not self._join.keeps_unmatched):
                continue
            self.pairs.append(
                {
                    first: dict(left.row),
                    second: None if right is None else dict(right.row),
                    "event_time": table_time(match.ts),
                    "fired_at": table_time_us(clock_us),
                }
            )
        for arrival, watermark in versioned.late:
            is_joined = joined.get(id(arrival.row))
            of_left = "waits" if is_joined is None else "joined" if is_joined else "unmatched"
            self._add_late_event(arrival, watermark, of_left if arrival.side is Side.LEFT else "kept")

    def _pairs_of(self, group: Group[str, Any], fired_us: int) -> None:
        first, second = self._join.names
        for left, right in product(group.left, group.right):
            self.pairs.append(
                {
                    **dict(zip(self._join.key[0], group.key, strict=True)),
                    "window_start": table_time(group.window.start),
                    "window_end": table_time(group.window.end),
                    "pane_index": group.index,
                    "timing": group.timing.value,
                    "fired_at": table_time_us(fired_us),
                    "watermark": table_time(group.watermark),
                    first: dict(left),
                    second: dict(right),
                }
            )

    def _met(self, judged: Judged) -> None:
        """Count what became of a row of a window join; a late one also misses something."""
        if judged.fate is Lateness.TOO_LATE:
            self._add_late_event(judged.arrival, judged.watermark)
            return
        side, event = self._events[id(judged.arrival.row)]
        if event.is_kept:
            fate = "unassigned" if judged.fate is None else judged.fate.value
            self.counts[f"{fate}_of_{self._name(side)}"] += 1

    def _add_late_event(self, arrival: Arrival, watermark: int, verdict: str = "") -> None:
        side, event = self._events[id(arrival.row)]
        if not event.is_kept:
            return
        self.counts[f"too_late_of_{self._name(side)}"] += 1
        row = {
            "source": self._name(side),
            **self._whole(event.row),
            "event_time": table_time_us(event.event_us),
            "arrival_time": table_time_us(event.clock_us),
            "watermark": table_time(watermark),
            "late_by_ms": watermark - event.ts,
        }
        if verdict:
            row["verdict"] = verdict
        if self._join.by_window:
            window = self._newest_window(event.ts)
            row |= {
                "window_start": None if window is None else table_time(window.start),
                "window_end": None if window is None else table_time(window.end),
            }
        self.late_events.append(row)

    def _newest_window(self, ts: int) -> TimeWindow | None:
        """The newest window that a row brings; none between two windows."""
        windows = self._pipeline.windows
        if windows.kind == "session":
            return TimeWindow(ts, ts + windows.gap_ms)
        return max(assigner(windows).assign(ts), default=None)

    def _fates(self) -> None:
        fates: tuple[str, ...] = ("rows_read", "invalid", "filtered", "too_late")
        if self._join.by_window:
            fates += ("on_time", "late", "unassigned")
        for name, fate in product(self._join.names, fates):
            self.counts[fate] += self.counts[f"{fate}_of_{name}"]
        self.counts["pairs"] = len(self.pairs)

    def _name(self, side: Side) -> str:
        return self._join.names[0 if side is Side.LEFT else 1]

    def _whole(self, row: Mapping[str, Any]) -> TableRow:
        return {name: row.get(name) for name in self._columns}

    def tables(self) -> Iterator[tuple[str, list[TableRow]]]:
        """The tables by name."""
        yield from {
            "pairs": self.pairs,
            "late_events": self.late_events,
            "invalid_events": self.invalid_events,
        }.items()
