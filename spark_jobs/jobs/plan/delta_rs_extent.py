"""The extent of a planned run, counted by delta-rs: without a Java, in a second.

Law: it is the extent that Spark counts (`estimate`). delta-rs compares times that are plain columns of the source. For
other times, and for more than `MOST_ROWS` rows, it raises NeedsSparkError.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from spark_jobs.jobs.plan.delta_rs_source import DeltaRsSource, NeedsSparkError
from spark_jobs.jobs.plan.delta_rs_tables import DeltaRsTables
from spark_jobs.jobs.plan.extent import Extent
from spark_jobs.jobs.plan.plan_request import Plan
from spark_jobs.pipeline.model import Order, Pipeline, Windows
from spark_jobs.replay.continuation.resume import Resumption
from spark_jobs.semantics.rows.instants import EPOCH, micros
from spark_jobs.semantics.windows.grid import Grid, grid, newest_start, next_start
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.run import CHANGED, in_order
from spark_jobs.tables.source_tables import tables_of

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows in the files of a plan up to which one process counts them in a second or two.
MOST_ROWS = 50_000_000

_MS, _US = timedelta(milliseconds=1), timedelta(microseconds=1)
# Spark may store times before this range by another calendar, and times after it overflow in nanoseconds.
_RANGE = datetime(1900, 1, 2, tzinfo=UTC), datetime(2262, 1, 1, tzinfo=UTC)
# Files with such rows are not read as they are stored.
_FEATURES = {"deletionVectors", "columnMapping", "typeWidening", "typeWidening-preview"}


def extent(tables: DeltaRsTables, planned: Plan) -> Extent:
    """Return the extent of a planned run. Raises NeedsSparkError.

    Costs one pass over the times in the files that can have a needed row.
    """
    run, pipeline = planned.run, tables.pipeline
    if run.kind == CHANGED:
        raise NeedsSparkError("the windows of changed rows are read")
    if tables.newest_versions != dict(run.pinned):
        raise NeedsSparkError("the run reads an earlier version of a source")
    resumed = _resumption(tables, planned)
    declared = {united.name: pipeline.alone(united) for united in pipeline.sources} or {"": pipeline}
    if resumed is not None and pipeline.sources:
        raise NeedsSparkError("several sources resume")
    totals = [
        _Counting(tables.sources[name], declared[name], pipeline.windows, run.interval, run.arrived_to, resumed).total
        for name in tables_of(pipeline)
    ]
    first, last = _least(total.first_ms for total in totals), _greatest(total.last_ms for total in totals)
    start = run.interval.start
    return Extent(
        source_rows=sum(total.rows for total in totals),
        source_files=sum(total.files for total in totals),
        source_bytes=sum(total.size for total in totals),
        first_window=None if first is None else max(_moment(first), start or _moment(first)),
        last_window=None if last is None else _moment(last),
    )


def _resumption(tables: DeltaRsTables, planned: Plan) -> Resumption | None:
    """Return the state from which the run resumes; None for a run that starts anew."""
    run = planned.run
    if run.arrived_from is None:
        return None
    return tables.resumption(in_order(tables.runs())[-1], micros(run.arrived_from))


@dataclass(frozen=True)
class _Total:
    """What a run reads of one source, and the first and last window start of its valid rows."""

    rows: int
    files: int
    size: int
    first_ms: int | None
    last_ms: int | None


@dataclass(frozen=True)
class _Counting:
    """The rows that a run reads of one source."""

    source: DeltaRsSource
    #: The pipeline as if this source were its only one.
    declared: Pipeline
    windows: Windows
    interval: Interval
    arrived_to: datetime | None
    resumed: Resumption | None

    @property
    def total(self) -> _Total:
        """The total over the files that can have a needed row."""
        self._require_plain()
        files = self._files
        if sum(file.rows for file in files) > MOST_ROWS:
            raise NeedsSparkError(f"more than {MOST_ROWS:,} rows are read")
        counted = self._counted()
        first, last = (None if us is None else us // 1000 for us in (counted["first_us"], counted["last_us"]))
        return _Total(
            rows=counted["row_count"],
            files=len(files),
            size=sum(file.size for file in files),
            first_ms=None if first is None else self._oldest(first),
            last_ms=None if last is None else self._newest(last),
        )

    def _require_plain(self) -> None:
        """Raise NeedsSparkError unless delta-rs can compute which rows are valid, and their windows."""
        declared, windows = self.declared, self.windows
        if declared.replay.order in (Order.OFFSET, Order.COMMIT):
            raise NeedsSparkError(f"in replay.order {declared.replay.order} a valid row has more than times")
        if windows.are_local or windows.have_gaps:
            raise NeedsSparkError("windows by the clock of a zone, or with gaps between them")
        if _FEATURES & {*(self.source.delta.protocol().reader_features or ())}:
            raise NeedsSparkError(f"{self.source.path} has deletion vectors, mapped columns or widened types")
        if self._event is None or (declared.source.arrival_time is not None and self._arrival is None):
            raise NeedsSparkError("a time is no plain TIMESTAMP column")

    @cached_property
    def _event(self) -> str | None:
        return self.source.time_column(self.declared.source.event_time)

    @cached_property
    def _arrival(self) -> str | None:
        field = self.declared.source.arrival_time
        return None if field is None else self.source.time_column(field)

    @cached_property
    def _files(self) -> list[_File]:
        """The files whose statistics allow a needed row, as Delta skips the other files."""
        names = [name for name in (self._event, self._arrival) if name is not None]
        every = _files(self.source, names)
        return [file for file in every if all(self._may_have(file, *names))]

    def _may_have(self, file: _File, event: str, arrival: str | None = None) -> Iterable[bool]:
        if self.arrived_to is not None and arrival is not None:
            times = file.times[arrival]
            yield times.has_null or (times.oldest is not None and times.oldest < self.arrived_to)
        if self.resumed is not None and arrival is not None:
            since, oldest = EPOCH + self.resumed.since_us * _US, EPOCH + self.resumed.oldest_ms * _MS
            came = file.times[arrival].has_null or file.times[arrival].reaches(since)
            yield came or file.times[event].reaches(oldest)

    def _counted(self) -> dict[str, Any]:
        from spark_jobs.tables.delta_rs import Table

        event, arrival = _quoted(self._event), None if self._arrival is None else _quoted(self._arrival)
        read, valid = ["true"], [f"{event} IS NOT NULL"]
        if arrival is not None:
            valid += [f"{arrival} IS NOT NULL", *self._not_in_future(event, arrival)]
            if self.arrived_to is not None:
                read.append(f"({arrival} IS NULL OR {arrival} < {_literal(self.arrived_to)})")
            if self.resumed is not None:
                since, oldest = EPOCH + self.resumed.since_us * _US, EPOCH + self.resumed.oldest_ms * _MS
                came = f"{arrival} >= {_literal(since)} OR {arrival} IS NULL"
                read.append(f"({came} OR {event} >= {_literal(oldest)})")
        windowed = " AND ".join([*valid, self._in_interval(event)])
        query = (
            f"SELECT count(*) AS row_count, "  # noqa: S608  names of columns in quotes, and times
            f"min(arrow_cast({event}, 'Int64')) FILTER (WHERE {windowed}) AS first_us, "
            f"max(arrow_cast({event}, 'Int64')) FILTER (WHERE {windowed}) AS last_us "
            f"FROM t WHERE {' AND '.join(read)}"
        )
        try:
            return Table(self.source.delta).select(query)[0]
        except Exception as problem:
            raise NeedsSparkError(f"delta-rs cannot count the rows of {self.source.path}: {problem}") from problem

    def _not_in_future(self, event: str, arrival: str) -> list[str]:
        guard_ms = self.declared.source.future_guard_ms
        if guard_ms is None:
            return []
        return [f"arrow_cast({event}, 'Int64') - {guard_ms * 1000} <= arrow_cast({arrival}, 'Int64')"]

    def _in_interval(self, event: str) -> str:
        """Return the condition that the interval contains the newest window of an event time."""
        if self.windows.are_missing:
            return "true"
        pieces = []
        for piece in self.interval.pieces:
            bounds = [f"{event} >= {_literal(self._start_from(piece.start))}"] if piece.start is not None else []
            bounds += [f"{event} < {_literal(self._start_from(piece.end))}"] if piece.end is not None else []
            pieces.append(" AND ".join(bounds) or "true")
        return f"({' OR '.join(f'({piece})' for piece in pieces)})"

    def _start_from(self, moment: datetime) -> datetime:
        """Return the first window start at a moment or later: rows from this start have a newest window from it."""
        ms = -(-(moment - EPOCH) // _MS)
        return _moment(ms if self._newest(ms) == ms else next_start(self._newest(ms), self._grid))

    def _newest(self, ts_ms: int) -> int:
        return ts_ms if self.windows.is_session else newest_start(ts_ms, self._grid)

    def _oldest(self, ts_ms: int) -> int:
        if not self.windows.is_sliding:
            return self._newest(ts_ms)
        return next_start(newest_start(ts_ms - self.windows.size_ms, self._grid), self._grid)

    @cached_property
    def _grid(self) -> Grid:
        return grid(self.windows)


@dataclass(frozen=True)
class _Times:
    """The statistics of a time column in one file."""

    nulls: int | None
    oldest: datetime | None
    newest: datetime | None

    @property
    def has_null(self) -> bool:
        """Whether a row has no time."""
        return self.nulls != 0

    def reaches(self, moment: datetime) -> bool:
        """Return whether a row may have this time or a later one. Statistics may be cut to milliseconds."""
        return self.newest is not None and self.newest + _MS >= moment


@dataclass(frozen=True)
class _File:
    rows: int
    size: int
    times: dict[str, _Times]


def _files(source: DeltaRsSource, names: Sequence[str]) -> list[_File]:
    """Return the files of a source with the statistics of these columns. Raises NeedsSparkError without any."""
    import pyarrow as pa

    actions = pa.table(source.delta.get_add_actions(flatten=True))
    times = {name: _times_of(actions, name, source.path) for name in names}
    return [
        _File(rows, size, {name: times[name][i] for name in names})
        for i, (rows, size) in enumerate(
            zip(actions["num_records"].to_pylist(), actions["size_bytes"].to_pylist(), strict=True)
        )
    ]


def _times_of(actions: pa.Table, name: str, path: str) -> list[_Times]:
    lacking = NeedsSparkError(f"files of {path} lack statistics of '{name}', or have times out of the usual range")
    try:
        columns = [actions[f"{kind}.{name}"].to_pylist() for kind in ("null_count", "min", "max")]
        counts = actions["num_records"].to_pylist()
    except (KeyError, ValueError, OverflowError) as problem:
        raise lacking from problem
    times = [_Times(*values) for values in zip(*columns, strict=True)]
    for rows, of_file in zip(counts, times, strict=True):
        is_empty = rows is not None and of_file.nulls == rows
        if not is_empty and (rows is None or not _are_usual(of_file)):
            raise lacking
    return times


def _are_usual(times: _Times) -> bool:
    if times.nulls is None or times.oldest is None or times.newest is None:
        return False
    return _RANGE[0] <= times.oldest and times.newest <= _RANGE[1]


def _quoted(name: str | None) -> str:
    return '"{}"'.format(str(name).replace('"', '""'))


def _literal(moment: datetime) -> str:
    return f"arrow_cast({micros(moment)}, 'Timestamp(Microsecond, Some(\"UTC\"))')"


def _moment(ms: int) -> datetime:
    return EPOCH + ms * _MS


def _least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _greatest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
