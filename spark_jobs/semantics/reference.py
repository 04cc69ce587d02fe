"""The reference interpreter: a pipeline replayed over rows in plain Python; the result contains the published tables.

It runs the streaming job row by row and records the results; `spark_jobs.replay` must have the same rows. Law:

    rows_read = invalid + filtered + quarantined + duplicates + on_time + late + too_late + unassigned

A row with several windows counts once, by the best verdict. Unassigned rows lie between two sliding windows and ahead
of the watermark. Flink drops them without a trace (rule 53), and no published table contains them.

Sessions have no window calendar, so `watermarks` is empty for them. `window_results` contains the latest pane of each
session; sessions that were merged into another one are removed. A too late row is counted for the window
`[ts, ts + gap)` of the row.

With retracting accumulation `panes` has the column `is_retraction`. A pane that replaces others follows the panes that
it withdraws. Those have their own window, number, timing and values, and the clock and watermark of the new firing.
Late rows that are dropped are counted, and `late_events` is empty.

An aggregate may use the columns `window_start`, `window_end` and `watermark` of its firing. A column of the source with
such a name takes precedence.

In the mode complete, `complete_results` contains the results of all rows of each window (`panes.complete_results`): the
aggregates, `row_count`, `missed_rows`, `is_shown` and `faithful`. `faithful` is the aggregates and `row_count` of the
window in `window_results`, or None. For sessions it is a list of the sessions inside, with their bounds, or None.
The `watermark` of an aggregate of all rows is the end of the input.

Timestamps in the result are aware, UTC; the watermark MIN is None and MAX is `instants.END_OF_INPUT`. Columns are those
of the published tables, in their order, without `run_id`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from spark_jobs.semantics.panes.aggregates import Aggregation, aggregation
from spark_jobs.semantics.panes.complete_results import complete_windows
from spark_jobs.semantics.panes.window_operator import Pane, Timing
from spark_jobs.semantics.rows.arrival_order import Comparable
from spark_jobs.semantics.rows.carried_columns import carried_names
from spark_jobs.semantics.rows.events import (
    Event,
    EventReader,
    Predicate,
    Row,
    UnitedReader,
    event_reader,
    without_duplicates,
)
from spark_jobs.semantics.rows.expressions import column
from spark_jobs.semantics.rows.instants import MAX, floor_to_ms, micros, table_time, table_time_us
from spark_jobs.semantics.rows.left_out import reasons
from spark_jobs.semantics.spec import ReplaySpec
from spark_jobs.semantics.streaming_job import FiredPane, JudgedRow, StreamingJob, group_key
from spark_jobs.semantics.watermark.rounds import Rounds
from spark_jobs.semantics.windows.calendar import LISTED_PARTITIONS, Advance
from spark_jobs.semantics.windows.lateness import Lateness, fate
from spark_jobs.semantics.windows.window_assigners import TimeWindow

TableRow = dict[str, Any]


@dataclass(frozen=True)
class Replay:
    """The rows of each table, the number of source rows by fate, and in offset order the drift of the partitions."""

    panes: list[TableRow]
    window_results: list[TableRow]
    late_events: list[TableRow]
    invalid_events: list[TableRow]
    watermarks: list[TableRow]
    unassigned_events: list[TableRow]
    counts: dict[str, int]
    drift: list[TableRow]
    complete_results: list[TableRow]


def replay(
    rows: Iterable[Row],
    pipeline: ReplaySpec,
    *,
    until: datetime | None = None,
    aggregates: Mapping[str, Aggregation] | None = None,
    where: Predicate | None = None,
    columns: Mapping[str, Predicate] | None = None,
    rules: Mapping[str, Predicate] | None = None,
) -> Replay:
    """Replay `rows`, dicts of the source's columns in any order.

    `until` is how far the arrival clock went, if further than the last row (milliseconds, floored). Functions replace
    SQL that the reference cannot evaluate. `aggregates` by result column take a pane's rows. `where`, `columns` and the
    `rules` of quarantine by name take one row. Panes come in firing order, late rows in the order of arrival, invalid
    rows in the order of reading, windows by start.

    Raises ValueError, or a subclass, for rows and SQL that cannot be read and for an `until` before the last row.
    """
    if pipeline.join is not None:
        raise ValueError("found a join, expected windows; replay a join by joining_job")
    reader, tables = event_reader(pipeline, where, columns, rules), _Tables(pipeline, aggregates or {})
    read = [(row, reader.read(row)) for row in map(reader.completed, rows)]
    events = [event for _, event in read if isinstance(event, Event)]
    placed = without_duplicates(events)
    moves_all = pipeline.filtered_rows_move_watermark
    arrived = [event for event in placed if event.is_kept or moves_all]
    rounds = Rounds(pipeline) if pipeline.replay.in_rounds else None
    if rounds is not None:
        arrived = list(rounds.read(arrived))
    job = StreamingJob(pipeline)
    job.run(arrived, _clock_end(until, arrived))
    fates = [tables.fate(judged) for judged in job.judged]
    too_late = [judged for judged, fate in zip(job.judged, fates, strict=True) if fate is Lateness.TOO_LATE]
    results = tables.window_results(job.fired, too_late)
    keeps_late = not pipeline.windows.drops_late
    counted = Counter(fates)
    return Replay(
        panes=tables.panes(job.fired),
        window_results=results,
        late_events=[tables.late_event(judged, reader) for judged in too_late] if keeps_late else [],
        invalid_events=[
            tables.carried(reader.carried(reader.columns(row)), {"reason": reason})
            for row, event in read
            if (reason := event if isinstance(event, str) else event.verdict.rule)
        ],
        watermarks=tables.watermarks(job),
        unassigned_events=[
            tables.skipped_event(judged, reader) for judged, fate in zip(job.judged, fates, strict=True) if fate is None
        ],
        counts={
            "rows_read": len(read),
            "invalid": len(read) - len(events),
            **_left_out(placed, pipeline),
            **{fate.value: counted[fate] for fate in Lateness},
            "unassigned": counted[None],
            "windows": len(results),
            "panes": len(job.fired),
            "early_panes": sum(fired.pane.timing is Timing.EARLY for fired in job.fired),
            "late_panes": sum(fired.pane.timing is Timing.LATE for fired in job.fired),
        },
        drift=[] if rounds is None else [asdict(drift) for drift in rounds.drift],
        complete_results=tables.complete_results(job) if pipeline.is_complete else [],
    )


class _Tables:
    """The results of a job as rows of the published tables."""

    def __init__(self, pipeline: ReplaySpec, aggregates: Mapping[str, Aggregation]) -> None:
        self._source, self._windows = pipeline.source, pipeline.windows
        self._key = pipeline.windows.key
        self._has_sessions = pipeline.windows.is_session
        self._retracts = pipeline.windows.retracts
        self._lateness_ms = pipeline.windows.lateness_ms
        self._aggregates = {
            declared.name: aggregates.get(declared.name) or aggregation(declared.expression, self._windows.floats)
            for declared in pipeline.windows.aggregates
        }

    def fate(self, judged: JudgedRow) -> Lateness | None:
        """Return the best verdict of a row; None if unassigned."""
        latenesses = [verdict.lateness for verdict in judged.verdicts]
        return fate(latenesses, judged.event.ts, self._lateness_ms, judged.watermark)

    def panes(self, fired: list[FiredPane]) -> list[TableRow]:
        if not self._retracts:
            return [self._pane(f, f) for f in fired]
        rows, latest = [], _Latest()
        for f in fired:
            rows += [{**self._pane(withdrawn, f), "is_retraction": True} for withdrawn in latest.withdrawn_by(f)]
            rows.append({**self._pane(f, f), "is_retraction": False})
        return rows

    def _pane(self, fired: FiredPane, by: FiredPane) -> TableRow:
        """Return a pane with the clock and watermark of its firing, or of the firing that withdraws it."""
        pane = fired.pane
        return {
            **self._window(fired),
            "pane_index": pane.index,
            "timing": pane.timing.value,
            "fired_at": table_time_us(by.clock_us),
            "watermark": table_time(by.pane.watermark),
            **self._values(pane.rows, pane.window, pane.watermark),
            "row_count": len(pane.rows),
        }

    def window_results(self, fired: list[FiredPane], too_late: list[JudgedRow]) -> list[TableRow]:
        missed_rows: Counter[tuple[Comparable, TimeWindow]] = Counter()
        for judged in too_late:
            missed_rows.update((verdict.key, verdict.window) for verdict in judged.verdicts)
        return [
            {
                **self._window(f),
                **self._values(f.pane.rows, f.pane.window, f.pane.watermark),
                "pane_count": f.pane.index + 1,
                "row_count": len(f.pane.rows),
                "too_late_count": missed_rows[group],
                "last_fired_at": table_time_us(f.clock_us),
            }
            for group, f in _Latest.of(fired).panes.items()
        ]

    def complete_results(self, job: StreamingJob) -> list[TableRow]:
        panes, results = _by_key(job.fired), _by_key(_Latest.of(job.fired).panes.values())
        rows = ((group_key(judged.event.row, self._key), judged.event.ts, judged.event) for judged in job.judged)
        return [
            {
                **self._group(complete.rows[0], complete.window),
                **self._values(complete.rows, complete.window, MAX),
                "row_count": len(complete.rows),
                "missed_rows": complete.missed_rows(panes[complete.key]),
                **self._faithful(complete.panes_inside(results[complete.key])),
            }
            for complete in complete_windows(rows, self._windows, job.watermark)
        ]

    def _faithful(self, panes: list[Pane[Comparable, Event]]) -> TableRow:
        results = [
            {
                **(_bounds(pane.window) if self._has_sessions else {}),
                **self._values(pane.rows, pane.window, pane.watermark),
                "row_count": len(pane.rows),
            }
            for pane in panes
        ]
        return {
            "is_shown": bool(panes),
            "faithful": (results or None) if self._has_sessions else next(iter(results), None),
        }

    def watermarks(self, job: StreamingJob) -> list[TableRow]:
        # Sessions differ per key: there is no calendar of windows that all keys share.
        if self._has_sessions:
            return []
        windows = {verdict.window for judged in job.judged for verdict in judged.verdicts}
        return [self._calendar_row(window, job) for window in sorted(windows)]

    def _calendar_row(self, window: TimeWindow, job: StreamingJob) -> TableRow:
        fires = job.calendar.fires(window)
        return {
            **_bounds(window),
            "fires_at": _clock(fires),
            "watermark_at_fire": None if fires is None else table_time(fires.watermark),
            "closes_at": _clock(job.calendar.closes(window, self._lateness_ms)),
            "partition_watermarks": None if fires is None else _partition_watermarks(fires),
        }

    def _window(self, fired: FiredPane) -> TableRow:
        return self._group(fired.pane.rows[0], fired.pane.window)

    def _group(self, first: Event, window: TimeWindow) -> TableRow:
        return {**{name: column(first.row, name) for name in self._key}, **_bounds(window)}

    def late_event(self, judged: JudgedRow, reader: EventReader | UnitedReader) -> TableRow:
        """Return a too late row with the newest window that it missed."""
        added = {
            **_times(judged),
            "late_by_ms": judged.watermark - judged.event.ts,
            **_bounds(max((verdict.window for verdict in judged.verdicts), default=None)),
        }
        return self.carried(reader.carried(judged.event.row), added)

    def skipped_event(self, judged: JudgedRow, reader: EventReader | UnitedReader) -> TableRow:
        """Return a row without a window."""
        return self.carried(reader.carried(judged.event.row), _times(judged))

    def carried(self, row: Row, added: TableRow) -> TableRow:
        """Return a source row with the columns that a table adds. A column that is the added timestamp is left out."""
        times = {"event_time": self._source.event_time, "arrival_time": self._source.arrival_time}
        same = {
            name
            for name, value in row.items()
            if name.lower() in added
            and (declared := times.get(name.lower())) is not None
            and declared.expression.lower() == name.lower()
            and isinstance(value, datetime)
            and value.tzinfo is not None
        }
        names = carried_names(row, (*added, "run_id"))
        return {**{names[name]: value for name, value in row.items() if name not in same}, **added}

    def _values(self, events: Sequence[Event], window: TimeWindow, watermark: int) -> TableRow:
        of_pane = {**_bounds(window), "watermark": table_time(watermark)}
        of_source = {name.lower() for name in events[0].row}
        added = {name: value for name, value in of_pane.items() if name not in of_source}
        rows = [{**event.row, **added} for event in events]
        return {name: aggregate(rows) for name, aggregate in self._aggregates.items()}


class _Latest:
    """The latest pane of each window, without the sessions that were merged into another one."""

    def __init__(self) -> None:
        self.panes: dict[tuple[Comparable, TimeWindow], FiredPane] = {}

    @classmethod
    def of(cls, fired: Iterable[FiredPane]) -> _Latest:
        """Return the latest of all panes, which are in firing order."""
        latest = cls()
        for f in fired:
            latest.withdrawn_by(f)
        return latest

    def withdrawn_by(self, fired: FiredPane) -> list[FiredPane]:
        """Take a pane in firing order; return the panes that it replaces."""
        pane = fired.pane
        absorbed = [(pane.key, window) for window in pane.replaces if window != pane.window]
        withdrawn = [*(self.panes.pop(group, None) for group in absorbed), self.panes.get((pane.key, pane.window))]
        self.panes[pane.key, pane.window] = fired
        return [f for f in withdrawn if f is not None]


def _left_out(events: Iterable[Event], pipeline: ReplaySpec) -> dict[str, int]:
    """Count the rows that are left out; without rules and names of rows, only those that `where` drops."""
    counted = Counter(event.verdict.left_out for event in events)
    return {reason.value: counted[reason] for reason in reasons(pipeline)}


def _by_key(fired: Iterable[FiredPane]) -> defaultdict[Comparable, list[Pane[Comparable, Event]]]:
    by_key = defaultdict(list)
    for f in fired:
        by_key[f.pane.key].append(f.pane)
    return by_key


def _clock_end(until: datetime | None, arrived: list[Event]) -> int | None:
    if until is None:
        return None
    until_ms = floor_to_ms(micros(until))
    if arrived and floor_to_ms(arrived[-1].clock_us) > until_ms:
        last = table_time_us(arrived[-1].clock_us)
        raise ValueError(f"found a row at {last}, behind until {until}; leave out later rows, or end later")
    return until_ms * 1000


def _times(judged: JudgedRow) -> TableRow:
    """The times of a row, and the watermark before it."""
    event = judged.event
    return {
        "event_time": table_time_us(event.event_us),
        "arrival_time": None if event.arrival_us is None else table_time_us(event.arrival_us),
        "watermark": table_time(judged.watermark),
    }


def _bounds(window: TimeWindow | None) -> TableRow:
    """The window's columns; null where a row had no window."""
    return {
        "window_start": None if window is None else table_time(window.start),
        "window_end": None if window is None else table_time(window.end),
    }


def _clock(advance: Advance | None) -> datetime | None:
    return None if advance is None else table_time_us(advance.clock_us)


def _partition_watermarks(advance: Advance) -> list[TableRow] | None:
    if advance.partitions is None or len(advance.partitions) > LISTED_PARTITIONS:
        return None
    return [
        {"source_partition": partition, "watermark": table_time(watermark)}
        for partition, watermark in sorted(advance.partitions.items())
    ]
