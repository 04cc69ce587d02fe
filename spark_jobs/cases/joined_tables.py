"""The published tables of a join of rows, by the reference: pairs, late events and invalid events.

Columns of a pair's two rows have the name of the input before them, such as `orders.order_id`. A row that `where` drops
moves the watermark. It has the key of no other row, so that it joins nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from typing import Any

from spark_jobs.cases.case_file import SOURCE
from spark_jobs.cases.cells import Row
from spark_jobs.cases.table_columns import source_columns
from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.joining import bounds, joining
from spark_jobs.pipeline.published_tables import INVALID_EVENTS, LATE_EVENTS, PAIRS
from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.joins.joining_job import Arrival, JoinSource, Versioned, gather, join, join_as_of
from spark_jobs.semantics.joins.window_join import CoGroup, Group
from spark_jobs.semantics.rows.carried_columns import carried_names
from spark_jobs.semantics.rows.events import Event, EventReader
from spark_jobs.semantics.rows.expressions import Expression, column
from spark_jobs.semantics.rows.instants import MAX, MIN, micros, table_time, table_time_us
from spark_jobs.semantics.streaming_job import group_key, operator
from spark_jobs.semantics.windows.lateness import Lateness
from spark_jobs.semantics.windows.window_assigners import TimeWindow, assigner

#: What became of a late row of an as-of join.
_JOINED, _UNMATCHED, _WAITS, _KEPT = "joined", "unmatched", "waits", "kept"


@dataclass(frozen=True)
class _Read:
    """A row of an input, with its event or the reason why it is invalid."""

    side: Side
    row: Row
    event: Event | str
    reader: EventReader


class JoinedTables:
    """The tables by name, and the counts of rows of both inputs."""

    def __init__(self, pipeline: Pipeline, rows: Sequence[Row], until: datetime | None = None) -> None:
        if pipeline.join is None:
            raise ValueError(f"{pipeline.name}: found a pipeline without a join")
        self._pipeline, self._join, self._rows = pipeline, pipeline.join, rows
        self._inputs = joining(pipeline)
        self._until_us = None if until is None else micros(until)
        self._read = list(self._of_inputs())
        self._by_row = {id(read.event.row): read for read in self._read if isinstance(read.event, Event)}
        self._pairs: list[Row] = []
        self._late: list[Row] = []
        self._fates: Counter[tuple[Side, str]] = Counter()
        self._arrivals = list(self._arrived())
        self._refuse_rows_behind(until)
        self._replay()

    @property
    def tables(self) -> Mapping[str, list[Row]]:
        """The rows of each table."""
        drops_late = self._pipeline.windows.drops_late
        return {
            PAIRS.name: self._pairs,
            LATE_EVENTS.name: [] if drops_late else self._late,
            INVALID_EVENTS.name: [
                self._carried(read, {"reason": read.event}) for read in self._read if isinstance(read.event, str)
            ],
        }

    @property
    def counts(self) -> dict[str, int]:
        """The counts of rows by fate, of both inputs and of each, and of pairs."""
        fates = ["rows_read", "invalid", "filtered", "too_late"]
        fates += ["on_time", "late", "unassigned"] if self._join.by_window else []
        counts = {fate: sum(self._fates[side, fate] for side in Side) for fate in fates}
        for side, fate in product(Side, fates):
            counts[f"{fate}_of_{self._name(side)}"] = self._fates[side, fate]
        return {**counts, "pairs": len(self._pairs)}

    def _of_inputs(self) -> Iterator[_Read]:
        """Yield the rows of the inputs. Raises ValueError for rows of no source."""
        if self._join.second_when is not None:
            is_second, reader = Expression(self._join.second_when), EventReader(self._pipeline)
            for row in map(reader.completed, self._rows):
                yield _Read(Side.RIGHT if is_second.evaluate(row) else Side.LEFT, dict(row), reader.read(row), reader)
            return
        names = [united.name for united in self._pipeline.sources]
        if strangers := {str(row.get(SOURCE)) for row in self._rows} - set(names):
            raise ValueError(
                f"found rows of {', '.join(sorted(strangers))}; write a table for each of {', '.join(names)}"
            )
        for side, united in zip(Side, self._pipeline.sources, strict=True):
            reader = EventReader(self._pipeline.alone(united))
            for row in self._rows:
                if row[SOURCE] == united.name:
                    own = reader.completed({name: value for name, value in row.items() if name != SOURCE})
                    yield _Read(side, dict(own), reader.read(own), reader)

    def _arrived(self) -> Iterator[Arrival]:
        """Yield the rows that the job reads, in arrival order; of one clock, those of the left source first."""

        def place(read: _Read) -> tuple[Any, ...]:
            if not isinstance(read.event, Event):
                return ()
            clock, *rest = read.event.position
            return (clock, bool(self._pipeline.sources) and read.side is Side.RIGHT, *rest)

        moves_all = self._pipeline.filtered_rows_move_watermark
        for read in sorted((read for read in self._read if isinstance(read.event, Event)), key=place):
            event = read.event
            if isinstance(event, Event) and (event.is_kept or moves_all):
                columns = self._join.key[list(Side).index(read.side)]
                key: Any = group_key(read.row, columns) if event.is_kept else ("dropped", id(event))
                yield Arrival(read.side, event.partition, key, event.ts, event.clock_us, event.row)

    def _refuse_rows_behind(self, until: datetime | None) -> None:
        last_us = self._arrivals[-1].clock_us if self._arrivals else 0
        if until is not None and self._until_us is not None and last_us // 1000 > self._until_us // 1000:
            last = table_time_us(last_us)
            raise ValueError(f"found a row at {last}, behind until {until}; leave out later rows, or end later")

    def _replay(self) -> None:
        for read in self._read:
            self._fates[read.side, "rows_read"] += 1
            self._fates[read.side, "invalid"] += isinstance(read.event, str)
            self._fates[read.side, "filtered"] += isinstance(read.event, Event) and not read.event.is_kept
        parts = self._inputs.inputs if self._join.second_when is None else self._inputs.inputs[:1]
        sources = [
            JoinSource(part.watermark, tuple(str(label) for (label,) in part.source.source_partition.declared))
            for part in parts
        ]
        emit, closes = self._inputs.emit, self._pipeline.replay.closes
        if self._join.is_as_of:
            self._versions(join_as_of(self._arrivals, emit, *sources, until_us=self._until_us, closes=closes))
        elif self._join.by_interval:
            joined = join(self._arrivals, bounds(self._pipeline), emit, *sources, until_us=self._until_us)
            for arrived, pair in joined.pairs:
                self._pair(pair.left, pair.right, self._moments(pair.ts, self._arrivals[arrived - 1].clock_us))
            number = {id(arrival): place for place, arrival in enumerate(self._arrivals)}
            for late in joined.late:
                before = (watermark for arrived, watermark in joined.watermarks if arrived <= number[id(late)])
                self._late_row(late, max(before, default=MIN))
        else:
            self._groups(sources, closes=closes)

    def _groups(self, sources: Sequence[JoinSource], *, closes: bool) -> None:
        windows = self._pipeline.windows
        cogroup: CoGroup[str, Mapping[str, Any]] = CoGroup(operator(windows), allowed_lateness_ms=windows.lateness_ms)
        gathered = gather(self._arrivals, cogroup, self._inputs.emit, *sources, until_us=self._until_us)
        for _, group, clock_us in gathered.groups:
            if closes or group.watermark != MAX:
                self._pairs_of(group, clock_us)
        for judged in gathered.judged:
            if judged.fate is Lateness.TOO_LATE:
                self._late_row(judged.arrival, judged.watermark)
            elif self._is_kept(judged.arrival.row):
                fate = "unassigned" if judged.fate is None else judged.fate.value
                self._fates[judged.arrival.side, fate] += 1

    def _pairs_of(self, group: Group[str, Mapping[str, Any]], clock_us: int) -> None:
        for left, right in product(group.left, group.right):
            firing = {
                **{name: column(self._read_of(left).row, name) for name in self._join.key[0]},
                **_bounds(group.window),
                "pane_index": group.index,
                "timing": group.timing.value,
                "fired_at": table_time_us(clock_us),
                "watermark": table_time(group.watermark),
            }
            self._pair(left, right, firing)

    def _versions(self, versioned: Versioned) -> None:
        joined: dict[int, str] = {}
        for _, match, clock_us, _ in versioned.emitted:
            left, right = match.left, match.right
            joined[id(left)] = _UNMATCHED if right is None else _JOINED
            if self._is_kept(left.row) and (right is not None or self._join.keeps_unmatched):
                self._pair(left.row, None if right is None else right.row, self._moments(match.ts, clock_us))
        for late, watermark in versioned.late:
            verdict = joined.get(id(late), _WAITS) if late.side is Side.LEFT else _KEPT
            self._late_row(late, watermark, {"verdict": verdict})

    def _moments(self, ts: int, clock_us: int) -> Row:
        return {"event_time": table_time(ts), "fired_at": table_time_us(clock_us)}

    def _pair(self, left: Any, right: Any, added: Row) -> None:
        sides = dict(zip(Side, (left, right), strict=True))
        columns = {
            f"{self._name(side)}.{name}": None if row is None else row.get(name)
            for side, row in sides.items()
            for name in self._columns(side)
        }
        self._pairs.append({**added, **columns})

    def _columns(self, side: Side) -> list[str]:
        if self._join.second_when is not None:
            return source_columns(self._pipeline, self._rows)
        return list(dict.fromkeys(name for read in self._read if read.side is side for name in read.row))

    def _late_row(self, arrival: Arrival, watermark: int, verdict: Row | None = None) -> None:
        read = self._read_of(arrival.row)
        event = read.event
        if not isinstance(event, Event) or not event.is_kept:
            return
        self._fates[arrival.side, "too_late"] += 1
        window = _bounds(self._newest_window(event.ts)) if self._join.by_window else {}
        times = {
            "event_time": table_time_us(event.event_us),
            "arrival_time": None if event.arrival_us is None else table_time_us(event.arrival_us),
            "watermark": table_time(watermark),
            "late_by_ms": watermark - event.ts,
        }
        self._late.append(self._carried(read, {**times, **(verdict or {}), **window}))

    def _newest_window(self, ts: int) -> TimeWindow | None:
        windows = self._pipeline.windows
        if windows.is_session:
            return TimeWindow(ts, ts + windows.gap_ms)
        return max(assigner(windows).assign(ts), default=None)

    def _carried(self, read: _Read, added: Row) -> Row:
        """Return a source row beside the columns that a table adds, with the columns of both inputs."""
        row = read.reader.carried(read.reader.columns(read.row))
        every = dict.fromkeys(name for side in Side for name in self._columns(side))
        same = {name for name in every if name in added and self._is_time(read, name)}
        names = carried_names([name for name in every if name not in same], (SOURCE, *added, "run_id"))
        return {SOURCE: self._name(read.side), **{to: row.get(name) for name, to in names.items()}, **added}

    def _is_time(self, read: _Read, name: str) -> bool:
        """Return whether a column is the declared time of its name, which the table adds as it is."""
        source = self._inputs.inputs[list(Side).index(read.side)].source
        declared = {"event_time": source.event_time, "arrival_time": source.arrival_time}.get(name)
        return declared is not None and declared.expression == name and isinstance(read.row.get(name), datetime)

    def _name(self, side: Side) -> str:
        return self._join.names[list(Side).index(side)]

    def _read_of(self, row: Any) -> _Read:
        return self._by_row[id(row)]

    def _is_kept(self, row: Any) -> bool:
        event = self._read_of(row).event
        return isinstance(event, Event) and event.is_kept


def _bounds(window: TimeWindow | None) -> Row:
    return {
        "window_start": None if window is None else table_time(window.start),
        "window_end": None if window is None else table_time(window.end),
    }
