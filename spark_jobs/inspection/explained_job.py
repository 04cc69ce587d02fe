"""An explained job: the streaming job of the reference, observed, and what it did with a row or a window.

Law: verdicts, panes and watermarks are those of the job itself. Those of a window that a repair has computed are of a
life in which late rows update it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from spark_jobs.explain.explanations import (
    UNASSIGNED,
    ExplainedPane,
    ExplainedRow,
    ExplainedWindow,
    PartitionWatermark,
    WindowLife,
    rule_of,
)
from spark_jobs.explain.holding import listed
from spark_jobs.explain.life import ArrivedRow, Life, LifePane, least_bound_ms, least_lateness_ms
from spark_jobs.explain.life_steps import LifeSteps, RowFacts
from spark_jobs.explain.moments import LAST_MS, Emission, closing_time, time_us
from spark_jobs.explain.repaired_life import repaired_life
from spark_jobs.inspection.bounded_source import NotReplayedError
from spark_jobs.inspection.row_choices import has_values
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.semantics.panes.window_operator import Verdict
from spark_jobs.semantics.rows.arrival_order import Comparable
from spark_jobs.semantics.rows.events import Event
from spark_jobs.semantics.rows.instants import table_time, table_time_us
from spark_jobs.semantics.spec import ReplaySpec
from spark_jobs.semantics.streaming_job import JudgedRow, StreamingJob, group_key
from spark_jobs.semantics.windows.calendar import LISTED_PARTITIONS, Advance
from spark_jobs.semantics.windows.lateness import Lateness, cleanup_time, fate
from spark_jobs.semantics.windows.window_assigners import TimeWindow
from spark_jobs.tables.repaired_windows import RepairedWindows

#: The most rows of all panes together.
MOST_IN_PANES = 2_000_000


@dataclass(frozen=True)
class Reached:
    """The watermarks of partitions at a moment, and the partitions that were idle."""

    watermarks: Mapping[str, int]
    idle: frozenset[str]


class ObservedJob(StreamingJob):
    """A job that keeps the epoch of each row, and what partitions had reached before chosen rows (by `id`).

    That is as of the emission before the row: a partition that has joined since then is not listed.
    """

    def __init__(self, spec: ReplaySpec, chosen: Collection[int]) -> None:
        super().__init__(spec)
        self.epochs: list[int] = []
        self.partitions: dict[int, Reached] = {}
        self._chosen, self._epoch = chosen, 0
        self._rows_in_panes = self._counted = 0
        self._at_emission = self._reached_now()

    def _process(self, event: Event) -> None:
        if id(event) in self._chosen:
            # Where rows emit, each row is an epoch.
            self.partitions[id(event)] = self._reached_now() if self._rows_emit else self._at_emission
        self.epochs.append(self._epoch)
        super()._process(event)
        self._require_few()

    def _emit(self, clocks_us: Iterable[int]) -> None:
        clocks_us = tuple(clocks_us)
        super()._emit(clocks_us)
        if clocks_us and not self._rows_emit and self._chosen:
            self._at_emission = self._reached_now()

    def _reached_now(self) -> Reached:
        idle = frozenset(name for source in self._sources.values() for name in source.idle)
        return Reached(dict(self._watermarks()), idle)

    def _end_epoch(self, clock_us: int) -> None:
        self._epoch += 1
        super()._end_epoch(clock_us)
        self._require_few()

    def _advance(self, advance: Advance) -> None:
        super()._advance(advance)
        self._require_few()

    def _require_few(self) -> None:
        """Raise NotReplayedError when the panes so far have too many rows: each pane holds all of its rows."""
        self._rows_in_panes += sum(len(fired.pane.rows) for fired in self.fired[self._counted :])
        self._counted = len(self.fired)
        if self._rows_in_panes > MOST_IN_PANES:
            raise NotReplayedError(f"the panes of its windows have more than {MOST_IN_PANES:,} rows together")


class ExplainedJob:
    """The explanations of one finished job."""

    def __init__(self, pipeline: Pipeline, job: ObservedJob, repaired: RepairedWindows) -> None:
        self._pipeline, self._job, self._windows, self._repaired = pipeline, job, pipeline.windows, repaired

    @cached_property
    def _numbers(self) -> Mapping[int, int]:
        """The number of each judged row, by the `id` of its event."""
        return {id(judged.event): number for number, judged in enumerate(self._job.judged)}

    def row(self, event: Event, place: int) -> ExplainedRow:
        """Explain a row that fills windows; `place` is the number of rows before it."""
        number = self._numbers[id(event)]
        judged, spec = self._job.judged[number], self._windows
        windows = [self._window(judged, verdict) for verdict in judged.verdicts]
        verdicts = [Lateness(window.verdict) for window in windows]
        lateness = fate(verdicts, event.ts, spec.lateness_ms, judged.watermark)
        saved = self._saved(number) if lateness is Lateness.TOO_LATE and judged.verdicts else {}
        # The clock of rounds is the time of emissions, not of rows.
        arrival_us = event.arrival_us
        if arrival_us is None and not self._pipeline.replay.in_rounds:
            arrival_us = event.clock_us
        return ExplainedRow(
            input=None,
            row=event.row,
            fate=UNASSIGNED if lateness is None else lateness.value,
            reason=None,
            event_time=table_time_us(event.event_us),
            arrival_time=time_us(arrival_us),
            source_partition=event.partition,
            rows_before=place,
            watermark=table_time(judged.watermark),
            partitions=_listed(self._job.partitions[id(event)], judged.watermark, is_united=self._pipeline.is_united),
            windows=windows,
            partners=None,
            least_bound_ms=saved.get("least_bound_ms"),
            least_bound_increase_ms=saved.get("least_bound_increase_ms"),
            least_lateness_ms=saved.get("least_lateness_ms"),
        )

    def _window(self, judged: JudgedRow, verdict: Verdict[Comparable, Event]) -> ExplainedWindow:
        window, spec = verdict.window, self._windows
        if self._repaired.contains(window.start):
            return self._repaired_window(judged, window)
        # A session grows: its later panes have other bounds.
        panes = [
            ExplainedPane(
                fired.pane.index,
                fired.pane.timing.value,
                table_time_us(fired.clock_us),
                table_time(fired.pane.watermark),
                len(fired.pane.rows),
            )
            for fired in self._job.fired
            if fired.pane.key == verdict.key
            and (spec.is_session or fired.pane.window == window)
            and any(event is judged.event for event in fired.pane.rows)
        ]
        return ExplainedWindow(
            window_start=table_time_us(window.start * 1000),
            window_end=table_time_us(window.end * 1000),
            verdict=verdict.lateness.value,
            rule=rule_of(verdict.lateness, spec),
            fires_at_watermark=table_time(window.last),
            closes_at_watermark=closing_time(cleanup_time(window, spec.lateness_ms)),
            panes=panes,
        )

    def _repaired_window(self, judged: JudgedRow, window: TimeWindow) -> ExplainedWindow:
        """Explain a row's window that a repair has computed."""
        key = group_key(judged.event.row, self._windows.key)
        of_key = [n for n, row in enumerate(self._job.judged) if group_key(row.event.row, self._windows.key) == key]
        numbers = self._of_window(of_key, window.start)
        lived, events = self._lived(numbers)
        place = next(place for place, event in enumerate(events) if event is judged.event) + 1
        (lateness,) = (v.lateness for v in lived.verdicts[place] if v.window == window)
        return ExplainedWindow(
            window_start=table_time_us(window.start * 1000),
            window_end=table_time_us(window.end * 1000),
            verdict=lateness.value,
            rule=rule_of(lateness, self._windows),
            fires_at_watermark=table_time(window.last),
            closes_at_watermark=None,
            panes=[
                self._life_pane(fired, events)
                for fired in lived.panes
                if fired.pane.window == window and fired.contains(place)
            ],
            is_repaired=True,
        )

    def _lived(self, numbers: Sequence[int]) -> tuple[Life, list[Event]]:
        """Return the life of rows of a key, numbered from 1, and their events."""
        rows = [self._arrived(number, place + 1) for place, number in enumerate(numbers)]
        events = [self._job.judged[number].event for number in numbers]
        clocks_us = [event.clock_us for event in events]
        end = self._job.watermark
        return repaired_life(rows, clocks_us, self._windows, end, repaired=self._repaired), events

    def _saved(self, number: int) -> dict[str, int]:
        """Return the least bound and the least lateness with which a too late row would have counted."""
        spec, watermarks = self._windows, self._pipeline.watermarks
        # Only sessions depend on other rows.
        rows = self._component(number) if spec.is_session else [number]
        around = [self._arrived(each, each) for each in rows]
        own = around[rows.index(number)]
        saved = {}
        if (more := least_lateness_ms(own, around, spec)) is not None:
            saved["least_lateness_ms"] = spec.allowed_lateness_ms + more
        more = least_bound_ms(own, around, spec)
        if more is None or not all(mark.is_bounded or mark.follows_clock for mark in watermarks):
            return saved
        if len(watermarks) > 1:
            return {**saved, "least_bound_increase_ms": more}
        (mark,) = watermarks
        return {**saved, "least_bound_ms": more + (mark.lag_ms if mark.follows_clock else mark.bound_ms)}

    def _arrived(self, number: int, name: int) -> ArrivedRow:
        judged = self._job.judged[number]
        return ArrivedRow(name, judged.event.ts, judged.watermark, self._job.epochs[number])

    def _component(self, number: int) -> list[int]:
        """Return the rows of a key that are connected with a row by gaps of at most the session's gap, as numbers."""
        judged = self._job.judged
        key = group_key(judged[number].event.row, self._windows.key)
        of_key = [n for n, row in enumerate(judged) if group_key(row.event.row, self._windows.key) == key]
        by_time = sorted(of_key, key=lambda n: judged[n].event.ts)
        first = last = by_time.index(number)
        while first > 0 and self._are_near(by_time[first - 1], by_time[first]):
            first -= 1
        while last + 1 < len(by_time) and self._are_near(by_time[last], by_time[last + 1]):
            last += 1
        return sorted(by_time[first : last + 1])

    def _are_near(self, earlier: int, later: int) -> bool:
        judged = self._job.judged
        return judged[later].event.ts - judged[earlier].event.ts <= self._windows.gap_ms

    def window(self, start_ms: int, key: Mapping[str, str]) -> WindowLife | None:
        """Explain the window of a key that starts at `start_ms`, or the sessions around it; None without rows."""
        spec = self._windows
        of_key = [n for n, row in enumerate(self._job.judged) if has_values(row.event.row, key)]
        numbers = self._around_instant(of_key, start_ms) if spec.is_session else self._of_window(of_key, start_ms)
        if not numbers:
            return None
        lived, events = self._lived(numbers)
        steps = LifeSteps(
            lived,
            [RowFacts(event.row, event.clock_us) for event in events],
            spec,
            None if spec.is_session else start_ms,
            pane=lambda fired: self._life_pane(fired, events),
            closings=self._closings,
            repaired=self._repaired,
        )
        in_order = list(steps.all())
        return WindowLife(dict(key), sum(step.row is not None for step in in_order), in_order)

    def _of_window(self, of_key: Sequence[int], start_ms: int) -> list[int]:
        return [n for n in of_key if any(v.window.start == start_ms for v in self._job.judged[n].verdicts)]

    def _around_instant(self, of_key: Sequence[int], instant_ms: int) -> list[int]:
        gap_ms = self._windows.gap_ms
        # A row lasts from its event time to a gap behind it.
        near = (n for n in of_key if -gap_ms < self._job.judged[n].event.ts - instant_ms <= 0)
        first = next(near, None)
        return [] if first is None else self._component(first)

    def _life_pane(self, fired: LifePane, events: Sequence[Event]) -> ExplainedPane:
        pane, watermark, clock_us = fired.pane, fired.pane.watermark, None
        if fired.row is not None:
            clock_us = events[fired.row - 1].clock_us
        elif fired.fires_ms is not None and (advance := self._reaching(fired.fires_ms)) is not None:
            clock_us, watermark = advance.clock_us, advance.watermark
        return ExplainedPane(pane.index, pane.timing.value, time_us(clock_us), table_time(watermark), len(pane.rows))

    def _closings(self, thresholds: Collection[int]) -> Mapping[int, Emission]:
        return dict(self._emissions(ms for ms in thresholds if ms < LAST_MS))

    def _emissions(self, thresholds: Iterator[int]) -> Iterator[tuple[int, Emission]]:
        for ms in thresholds:
            advance = self._reaching(ms)
            if advance is not None:
                yield ms, Emission(advance.clock_us, advance.watermark)

    def _reaching(self, watermark_ms: int) -> Advance | None:
        """Return the first advance whose watermark reaches a threshold; None without one."""
        return next((a for a in self._job.calendar.advances if a.watermark >= watermark_ms), None)


def _listed(reached: Reached, watermark: int, *, is_united: bool) -> list[PartitionWatermark] | None:
    if len(reached.watermarks) > LISTED_PARTITIONS:
        return None
    return listed(reached.watermarks, watermark, reached.idle, is_united=is_united)
