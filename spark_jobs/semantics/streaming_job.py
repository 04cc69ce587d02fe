"""A streaming job, step by step: rows in arrival order, each judged, then passed to its partition's generator.

    each row    emission due before it -> window operator, by the watermark so far -> generator -> emission due after it
    emission    late rows that were gathered fire -> generators -> the combined watermark
    the end     emission due until the clock stops -> watermark MAX, if the end of input closes

An emission, or a row that carries a watermark, runs the operator's timers at once if it raises the combined watermark.
Several sources are channels of a valve, in the declared order. Nothing is computed in closed form: the Spark code is
compared with this job. Rules 5, 17, 35-38, 61; semantics B3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from spark_jobs.semantics.panes.triggers import trigger
from spark_jobs.semantics.panes.window_operator import Pane, Verdict, WindowOperator
from spark_jobs.semantics.rows.arrival_order import Comparable, comparable
from spark_jobs.semantics.rows.clock import ArrivalClock
from spark_jobs.semantics.rows.emission import emission_clock
from spark_jobs.semantics.rows.events import Event, Row
from spark_jobs.semantics.rows.expressions import column
from spark_jobs.semantics.rows.instants import MAX
from spark_jobs.semantics.rows.partition_labels import label, of_source
from spark_jobs.semantics.sessions.session_operator import SessionOperator
from spark_jobs.semantics.spec import ReplaySpec, Windows
from spark_jobs.semantics.watermark.generators import WatermarkOutput
from spark_jobs.semantics.watermark.source import WatermarkedSource
from spark_jobs.semantics.watermark.source_partitions import SourcePartitions
from spark_jobs.semantics.watermark.strategy import generator
from spark_jobs.semantics.watermark.valve import Valve
from spark_jobs.semantics.windows.calendar import Advance, WindowCalendar
from spark_jobs.semantics.windows.window_assigners import assigner

K = TypeVar("K")
E = TypeVar("E")


@dataclass(frozen=True)
class FiredPane:
    """A pane and the clock of its firing: that of the emission, or of the late row."""

    pane: Pane[Comparable, Event]
    clock_us: int


@dataclass(frozen=True)
class JudgedRow:
    """A row that fills windows, the watermark before it, and the verdict of each of its windows."""

    event: Event
    watermark: int
    verdicts: tuple[Verdict[Comparable, Event], ...]


class StreamingJob:
    """One run of a replay spec; `fired`, `judged` and `calendar` are its results, in order."""

    def __init__(self, spec: ReplaySpec) -> None:
        windows = spec.windows
        self.fired: list[FiredPane] = []
        self.judged: list[JudgedRow] = []
        self.calendar = WindowCalendar()
        self._key = windows.key
        self._operator: WindowOperator[Comparable, Event] | SessionOperator[Comparable, Event] = operator(windows)
        self._clock = ArrivalClock()
        self._sources = _sources(spec, self._clock, self)
        self._is_united = spec.is_united
        self._reached: dict[str, int] = {}
        every_tick = any(watermark.may_move_without_rows for watermark in spec.watermarks)
        self._emissions = emission_clock(spec.watermark.emit, every_tick=every_tick)
        self._closes = spec.replay.closes
        self._rows_emit = any(watermark.emits_at_rows for watermark in spec.watermarks)

    @property
    def watermark(self) -> int:
        """The watermark now; behind the end of a bounded input MAX."""
        return self._operator.watermark

    def run(self, events: Iterable[Event], until_us: int | None) -> None:
        """Process the events, which are in arrival order, then the end of the input at `until_us` or the last row."""
        end_us = None
        for event in events:
            self._emit(self._emissions.before(event.clock_us))
            self._clock.advance_to(event.clock_us)
            if event.is_kept:
                self._process(event)
            self._sources[event.source].on_event(event.partition, event.row, event.ts)
            self._end_emission()
            self._emit(self._emissions.after(event.clock_us))
            end_us = event.clock_us
        self._emit(self._emissions.at_end(until_us))
        if self._closes and end_us is not None:
            self._end_epoch(end_us if until_us is None else until_us)
            self._advance(Advance(end_us if until_us is None else until_us, MAX, None))

    def _process(self, event: Event) -> None:
        watermark = self._operator.watermark
        key = group_key(event.row, self._key)
        verdicts = self._operator.on_row(key, event.ts, event)
        self.judged.append(JudgedRow(event, watermark, verdicts))
        self.fired += [FiredPane(verdict.pane, event.clock_us) for verdict in verdicts if verdict.pane is not None]
        if self._rows_emit:
            self._end_epoch(event.clock_us)

    def _emit(self, clocks_us: Iterable[int]) -> None:
        for clock_us in clocks_us:
            self._clock.advance_to(clock_us)
            self._end_epoch(clock_us)
            for source in self._sources.values():
                source.on_periodic_emit()
            self._end_emission()

    def emit_watermark(self, watermark: int) -> None:
        """Take the combined watermark of all sources."""
        if not self._is_united:
            self._reached = self._watermarks()
        self._advance(Advance(self._clock.now_us, watermark, self._reached))

    def mark_idle(self) -> None:
        """Do nothing: a source without active partitions moves no watermark, and its rows are judged as before."""

    def mark_active(self) -> None:
        """Do nothing."""

    def _watermarks(self) -> dict[str, int]:
        return {name: w for source in self._sources.values() for name, w in source.watermarks.items()}

    def _end_emission(self) -> None:
        """Complete the partitions of an emission's advances: a source may raise the watermark before others emit."""
        if self._is_united:
            self._reached.update(self._watermarks())
            self._reached = {}

    def _end_epoch(self, clock_us: int) -> None:
        self.fired += [FiredPane(pane, clock_us) for pane in self._operator.on_epoch_end()]

    def _advance(self, advance: Advance) -> None:
        self.calendar.record(advance)
        self.fired += [FiredPane(pane, advance.clock_us) for pane in self._operator.on_watermark(advance.watermark)]


def _sources(
    spec: ReplaySpec, clock: ArrivalClock, output: WatermarkOutput
) -> Mapping[str, SourcePartitions | WatermarkedSource]:
    """Return the sources by name; a single source has no name and no main output."""
    if not spec.sources:
        declared = map(label, spec.source.source_partition.declared)
        new = partial(generator, spec.watermark, clock)
        return {"": SourcePartitions(new, declared=declared, output=output)}
    channels = Valve(len(spec.sources), output).channels
    return {
        united.name: WatermarkedSource(
            united.watermark,
            clock,
            [of_source(united.name, label(values)) for values in united.source.source_partition.declared],
            channel,
        )
        for united, channel in zip(spec.sources, channels, strict=True)
    }


def group_key(row: Row, names: Iterable[str]) -> Comparable:
    """Return the key of a row: the values of its columns `names`, in comparable form."""
    return tuple(comparable(column(row, name)) for name in names)


def operator(declared: Windows) -> WindowOperator[K, E] | SessionOperator[K, E]:
    """Return the operator of the windows that a pipeline declares. Raises ValueError for what there is none of."""
    lateness_ms, discarding = declared.lateness_ms, declared.discards
    if declared.per_epoch and not declared.trigger.is_default:
        raise ValueError(f"found windows.late_panes per_epoch with the trigger {declared.trigger.kind}; keep one")
    if not declared.is_session:
        return WindowOperator(
            assigner(declared),
            allowed_lateness_ms=lateness_ms,
            discarding=discarding,
            trigger=trigger(declared.trigger),
            gathering=declared.per_epoch,
        )
    if declared.per_epoch:
        raise ValueError("found windows.late_panes per_epoch with sessions, whose late rows fire one by one")
    return SessionOperator(
        declared.gap_ms,
        allowed_lateness_ms=lateness_ms,
        discarding=discarding,
        trigger=trigger(declared.trigger),
    )
