"""The explanation of rows that a condition holds for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pyspark.sql import Column, DataFrame, Row

from spark_jobs.explain.arrived import ID, Around, Arrived
from spark_jobs.explain.as_of_increase import Search, least_increase_ms, search_of
from spark_jobs.explain.explanations import (
    AS_OF_RULES,
    INVALID,
    JOIN_RULES,
    LEFT_OUT,
    UNASSIGNED,
    ExplainedPartner,
    ExplainedRow,
    ExplainedWindow,
    Meeting,
    PartitionWatermark,
    rule_of,
)
from spark_jobs.explain.holding import listed
from spark_jobs.explain.life import ArrivedRow, fate_of, least_bound_ms, least_lateness_ms
from spark_jobs.explain.lives import Lives
from spark_jobs.explain.moments import closing_time, time_ms, time_us
from spark_jobs.explain.partners import met
from spark_jobs.explain.streams import Stream
from spark_jobs.explain.versions import Fit, fits, reach
from spark_jobs.replay.joins.inputs import LEFT, SIDE
from spark_jobs.replay.rows import columns as c
from spark_jobs.semantics.joins.interval_join import JoinBounds, Side
from spark_jobs.semantics.panes.window_operator import Verdict
from spark_jobs.semantics.rows.instants import MAX, MIN, table_time_us
from spark_jobs.semantics.windows.lateness import Lateness, cleanup_time, is_reached


def explain_rows(
    stream: Stream,
    conditions: Sequence[Column | None],
    most: int,
    bounds: JoinBounds | None = None,
    *,
    as_of: bool = False,
) -> list[ExplainedRow]:
    """Explain at most `most` rows in the order of arrival, rows without a place first.

    `conditions` are those of the inputs, on their columns; None: no row of the input. `bounds` are those of a join by
    interval; `as_of`: the stream is that of a join as of.
    """
    arrived = Arrived(stream)
    explained = [
        row
        for side, condition in enumerate(conditions)
        if condition is not None
        for row in _of_input(arrived, stream, side, condition, most, bounds, as_of=as_of)
    ]
    return sorted(explained, key=lambda row: -1 if row.rows_before is None else row.rows_before)[:most]


def _of_input(
    arrived: Arrived,
    stream: Stream,
    side: int,
    condition: Column,
    most: int,
    bounds: JoinBounds | None,
    *,
    as_of: bool,
) -> list[ExplainedRow]:
    of = stream.inputs[side]
    chosen = arrived.choose(of, condition, most)
    rows = sorted(chosen.collect(), key=lambda row: int(row[ID]))
    if not rows:
        return []
    judge: _Judge
    if as_of:
        judge = _AsOf(arrived, stream, chosen)
    elif bounds is not None:
        judge = _ByInterval(arrived, stream, chosen, side, bounds)
    else:
        judge = _ByWindow(arrived, stream, chosen)
    partitions, before, idle = arrived.partitions(chosen), arrived.rows_before(chosen), arrived.idle(chosen)
    return [
        ExplainedRow(
            input=of.name,
            row=of.values(row),
            reason=row[c.REASON],
            event_time=time_us(row[c.EVENT_US]),
            arrival_time=time_us(_arrival_us(stream, row)),
            source_partition=stream.own_partition(of, row[c.PARTITION]),
            rows_before=before.get(row[ID]),
            watermark=time_ms(row[c.WATERMARK_MS]),
            partitions=_partitions(stream, partitions.get(row[ID]), row[c.WATERMARK_MS], idle(row[ID])),
            **vars(judge.judged(row)),
        )
        for row in rows
    ]


def _arrival_us(stream: Stream, row: Row) -> int | None:
    """Return the arrival time of a row, or the clock of its order, unless that is the clock of rounds."""
    us: int | None = row[c.ARRIVAL_US]
    # The clock of rounds is the time of emissions, not of rows.
    return row[c.CLOCK_US] if us is None and not stream.pipeline.replay.in_rounds else us


@dataclass(frozen=True)
class _Judged:
    """The fields of `ExplainedRow` that depend on what is around the row."""

    fate: str
    windows: Sequence[ExplainedWindow] = ()
    partners: Sequence[ExplainedPartner] | None = None
    least_bound_ms: int | None = None
    least_bound_increase_ms: int | None = None
    least_lateness_ms: int | None = None


class _Judge(Protocol):
    """Judges chosen rows."""

    def judged(self, row: Row) -> _Judged: ...


def _outside(row: Row) -> _Judged:
    """Judge a row that fills no window."""
    return _Judged(LEFT_OUT if row[c.REASON] is None else INVALID)


def _saved(judged: _Judged, stream: Stream, more: int | None) -> _Judged:
    """Return what was judged, with the least bounds or lags; `more` is how much earlier the watermark must be (ms)."""
    if more is None or not all(mark.is_bounded or mark.follows_clock for mark in stream.watermarks):
        return judged
    if len(stream.watermarks) > 1:
        return replace(judged, least_bound_increase_ms=more)
    (watermark,) = stream.watermarks
    return replace(judged, least_bound_ms=more + (watermark.lag_ms if watermark.follows_clock else watermark.bound_ms))


class _ByWindow:
    """Judges rows by their windows."""

    def __init__(self, arrived: Arrived, stream: Stream, chosen: DataFrame) -> None:
        self._stream, self._spec = stream, stream.pipeline.windows
        self._around = arrived.around(chosen)
        self._lives = Lives(arrived, stream, self._around)

    def judged(self, row: Row) -> _Judged:
        around = self._around.get(row[ID])
        if around is None:
            return _outside(row)
        lived, own = self._lives.of[row[ID]], around.row
        fate = fate_of(own, lived, self._spec)
        windows = [self._window(row[ID], verdict, around) for verdict in lived.verdicts[own.number]]
        if fate is not Lateness.TOO_LATE:
            return _Judged(UNASSIGNED if fate is None else fate.value, windows)
        more = least_lateness_ms(own, around.rows, self._spec)
        lateness_ms = None if more is None else self._spec.allowed_lateness_ms + more
        judged = _Judged(fate.value, windows, least_lateness_ms=lateness_ms)
        return _saved(judged, self._stream, least_bound_ms(own, around.rows, self._spec))

    def _window(self, number: int, verdict: Verdict[Any, ArrivedRow], around: Around) -> ExplainedWindow:
        window, repaired = verdict.window, self._stream.repaired
        spec = repaired.spec(self._spec, window.start)
        # A session grows: its later panes have other bounds.
        panes = [
            self._lives.pane(number, fired)
            for fired in self._lives.of[number].panes
            if fired.contains(around.row.number) and (spec.is_session or fired.pane.window == window)
        ]
        return ExplainedWindow(
            window_start=table_time_us(window.start * 1000),
            window_end=table_time_us(window.end * 1000),
            verdict=verdict.lateness.value,
            rule=rule_of(verdict.lateness, spec),
            fires_at_watermark=time_ms(window.last),
            closes_at_watermark=closing_time(cleanup_time(window, spec.lateness_ms)),
            panes=panes if around.is_whole else None,
            is_repaired=repaired.contains(window.start),
        )


class _ByInterval:
    """Judges rows of a side by their partners in a join by interval."""

    def __init__(self, arrived: Arrived, stream: Stream, chosen: DataFrame, side: int, reach: JoinBounds) -> None:
        self._stream, self._side, self._reach = stream, side, reach
        self._around: Mapping[int, Around] = arrived.around_joining(chosen, side, reach)

    def judged(self, row: Row) -> _Judged:
        around = self._around.get(row[ID])
        if around is None:
            return _outside(row)
        own = around.row
        # An identical row has the place of the chosen one.
        rows = [
            near
            for near, source in zip(around.rows, around.sources, strict=True)
            if near.number == own.number or source[SIDE] != self._side
        ]
        result = met(own, Side.LEFT if self._side == LEFT else Side.RIGHT, rows, self._reach)
        partners = [self._partner(around, number, meeting) for number, meeting in result.meetings.items()]
        listed = partners if around.is_whole else None
        if not result.is_late:
            return _Judged(Lateness.ON_TIME.value, partners=listed)
        return _saved(_Judged(Lateness.TOO_LATE.value, partners=listed), self._stream, own.watermark - own.ts)

    def _partner(self, around: Around, number: int, meeting: Meeting) -> ExplainedPartner:
        partner, source = around.rows[number - 1], around.sources[number - 1]
        later = around.sources[max(number, around.row.number) - 1]
        return ExplainedPartner(
            row=self._stream.values(source),
            event_time=table_time_us(partner.ts * 1000),
            watermark=time_ms(source[c.WATERMARK_MS]),
            meeting=meeting,
            rule=JOIN_RULES[meeting],
            paired_at=time_us(later[c.CLOCK_US]) if meeting is Meeting.JOINED else None,
        )


class _AsOf:
    """Judges rows by the versions of their time, or versions by the rows that they fit, in a join as of."""

    def __init__(self, arrived: Arrived, stream: Stream, chosen: DataFrame) -> None:
        self._stream = stream
        self._around = arrived.around_key(chosen)
        reaches = {reach(row) for around in self._around.values() for row in around.rows}
        end = arrived.end()
        emissions = arrived.emissions(reaches) if reaches else {}
        self._emissions = {ms: emission for ms, emission in emissions.items() if emission.watermark <= end}
        self._fits = self._fits_of_chosen()
        self._searches = self._searched()
        self._advances = self._advances_of_searches(arrived)

    def judged(self, row: Row) -> _Judged:
        around = self._around.get(row[ID])
        if around is None:
            return _outside(row)
        own = around.row
        partners = self._partners(around) if around.is_whole else None
        if not is_reached(own.ts, own.watermark):
            return _Judged(Lateness.ON_TIME.value, partners=partners)
        judged = _Judged(Lateness.TOO_LATE.value, partners=partners)
        search = self._searches.get(row[ID])
        if search is None or self._advances is None:
            return judged
        sides = self._sides(around)
        return _saved(judged, self._stream, least_increase_ms(around.row, around.rows, sides, self._advances, search))

    def _searched(self) -> Mapping[int, Search]:
        """Return the search for each late row that does not count, by its `ID`; a late row may count nevertheless."""
        searches = {}
        for number, around in self._around.items():
            own = around.row
            if not around.is_whole or not is_reached(own.ts, own.watermark):
                continue
            meetings = {fit.meeting for fit in self._fits[id(around.rows)][own.number]}
            if not meetings & {Meeting.JOINED, Meeting.WAITING}:
                searches[number] = search_of(own, around.rows, self._sides(around))
        return searches

    def _advances_of_searches(self, arrived: Arrived) -> list[int] | None:
        """Return the watermarks that `least_increase_ms` reads; None if they are too many."""
        spans = {
            (reach(row), row.ts + search.most)
            for number, search in self._searches.items()
            if search.most
            for row in self._around[number].rows
        }
        if not spans:
            return []
        inside = arrived.advances(spans)
        if inside is None:
            return None
        behind = arrived.emissions({last for _, last in spans} | {first for first, _ in spans})
        return sorted({*inside, *(each.watermark for each in behind.values() if each.watermark < MAX)})

    @staticmethod
    def _sides(around: Around) -> list[Side]:
        return [Side.LEFT if source[SIDE] == LEFT else Side.RIGHT for source in around.sources]

    def _fits_of_chosen(self) -> Mapping[int, Mapping[int, Sequence[Fit]]]:
        """Return the fits of the chosen rows of each key, by the place of the key's rows in memory."""
        keys: dict[int, list[Around]] = {}
        for around in self._around.values():
            if around.is_whole:
                keys.setdefault(id(around.rows), []).append(around)
        advances = {ms: emission.watermark for ms, emission in self._emissions.items()}
        fits_of = {}
        for place, arounds in keys.items():
            sides = self._sides(arounds[0])
            chosen = {around.row.number for around in arounds}
            fits_of[place] = fits(arounds[0].rows, sides, advances, chosen)
        return fits_of

    def _partners(self, around: Around) -> list[ExplainedPartner]:
        return [self._partner(around, fit) for fit in self._fits[id(around.rows)][around.row.number]]

    def _partner(self, around: Around, fit: Fit) -> ExplainedPartner:
        number = fit.version if around.row.number == fit.left else fit.left
        source, emission = around.sources[number - 1], self._emissions.get(reach(around.rows[fit.left - 1]))
        is_joined = fit.meeting is Meeting.JOINED and emission is not None
        return ExplainedPartner(
            row=self._stream.values(source),
            event_time=table_time_us(around.rows[number - 1].ts * 1000),
            watermark=time_ms(source[c.WATERMARK_MS]),
            meeting=fit.meeting,
            rule=AS_OF_RULES[fit.meeting],
            paired_at=time_us(emission.clock_us) if is_joined and emission is not None else None,
        )


def _partitions(
    stream: Stream, reached: Sequence[Row] | None, watermark_ms: int | None, idle: Collection[str] | None
) -> list[PartitionWatermark] | None:
    if reached is None:
        return None
    watermarks = {each.source_partition: _or_min(each.watermark_ms) for each in reached}
    partitions = listed(watermarks, _or_min(watermark_ms), idle, is_united=stream.names_sources)
    return [replace(each, source_partition=stream.partition_of(each.source_partition)) for each in partitions]


def _or_min(ms: int | None) -> int:
    return MIN if ms is None else ms
