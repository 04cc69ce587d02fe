"""Explanations from the rows of the source: the streaming job of the reference replays all of them, one by one.

Law: the verdicts, panes and watermarks are those of the job itself. So an explanation equals the one that Spark makes,
and has the same fields. The job runs once a request, over at most `bounded_source.MOST_ROWS` rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

from spark_jobs.explain.explanations import (
    INVALID,
    LEFT_OUT,
    RULES,
    UNASSIGNED,
    ExplainedPane,
    ExplainedRow,
    ExplainedWindow,
    PartitionWatermark,
    WindowLife,
)
from spark_jobs.explain.life import ArrivedRow, LifePane, least_bound_ms, least_lateness_ms, life
from spark_jobs.explain.life_steps import LifeSteps, RowFacts
from spark_jobs.explain.moments import LAST_MS, Emission, closing_time, time_us
from spark_jobs.inspection.bounded_source import Deadline, NotReplayedError
from spark_jobs.inspection.inspections import RowChoice
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.semantics.panes.window_operator import Verdict
from spark_jobs.semantics.rows.arrival_order import Comparable
from spark_jobs.semantics.rows.event_time import TimeReader
from spark_jobs.semantics.rows.events import Event, Row, event_reader, without_duplicates
from spark_jobs.semantics.rows.expressions import UnknownColumnError, column
from spark_jobs.semantics.rows.instants import table_time, table_time_us
from spark_jobs.semantics.rows.left_out import LeftOut
from spark_jobs.semantics.rows.partition_labels import label, of_source
from spark_jobs.semantics.spec import ReplaySpec
from spark_jobs.semantics.streaming_job import JudgedRow, StreamingJob, group_key
from spark_jobs.semantics.watermark.rounds import Rounds
from spark_jobs.semantics.windows.calendar import LISTED_PARTITIONS, Advance
from spark_jobs.semantics.windows.lateness import Lateness, cleanup_time, fate

#: The most rows of all panes together, and verdicts of all rows.
MOST_IN_PANES, MOST_VERDICTS = 2_000_000, 500_000
_HINT = "; pass a Python function"

#: Decides about a row of the source; the event is None for an invalid row.
Choose = Callable[[Row, Event | None], bool]


@dataclass(frozen=True)
class _Placed:
    """The rows of a source: events in the order of arrival, those without a place, and invalid rows with reasons."""

    arrived: Sequence[Event]
    left_out: Sequence[Event]
    invalid: Sequence[tuple[Row, str]]


class _ObservedJob(StreamingJob):
    """A job that keeps the epoch of each row, and the watermarks of partitions before chosen rows (by `id`).

    They are those of the emission before the row: a partition that has joined since then is not among them.
    """

    def __init__(self, spec: ReplaySpec, chosen: Collection[int]) -> None:
        super().__init__(spec)
        self.epochs: list[int] = []
        self.partitions: dict[int, Mapping[str, int]] = {}
        self._chosen, self._epoch = chosen, 0
        self._rows_in_panes = self._counted = 0
        self._at_emission: Mapping[str, int] = dict(self._watermarks())

    def _process(self, event: Event) -> None:
        if id(event) in self._chosen:
            # Where rows emit, each row is an epoch.
            self.partitions[id(event)] = dict(self._watermarks()) if self._rows_emit else self._at_emission
        self.epochs.append(self._epoch)
        super()._process(event)
        self._require_few()

    def _emit(self, clocks_us: Iterable[int]) -> None:
        clocks_us = tuple(clocks_us)
        super()._emit(clocks_us)
        if clocks_us and not self._rows_emit and self._chosen:
            self._at_emission = dict(self._watermarks())

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


class ReplayedSource:
    """The rows of a source, each of them placed or invalid. Raises NotReplayedError for rows that cannot be read.

    `rows` are dicts of the source's columns in any order. `belongs` decides by the arrival time (us) whether a row
    belongs to the run. `until_us` is how far the arrival clock went; None: to the last row.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        rows: Sequence[Row],
        deadline: Deadline,
        *,
        belongs: Callable[[int | None], bool] = lambda _: True,
        until_us: int | None = None,
    ) -> None:
        self._pipeline, self._deadline, self._until_us = pipeline, deadline, until_us
        try:
            self._placed = self._read(rows, belongs)
        except NotReplayedError:
            raise
        except ValueError as problem:
            raise NotReplayedError(str(problem).partition(_HINT)[0]) from problem

    def _read(self, rows: Sequence[Row], belongs: Callable[[int | None], bool]) -> _Placed:
        pipeline = self._pipeline
        reader = event_reader(pipeline)
        completed = map(reader.completed, self._deadline.each(rows))
        read = [(row, reader.read(row)) for row in completed]
        events = [event for _, event in read if isinstance(event, Event) and belongs(event.arrival_us)]
        placed = without_duplicates(events)
        moves_all = pipeline.filtered_rows_move_watermark
        arrived = [event for event in placed if event.is_kept or moves_all]
        verdicts = len(arrived) * _windows_of_row(pipeline)
        if verdicts > MOST_VERDICTS:
            raise NotReplayedError(f"its rows have {verdicts:,} windows, and a page judges at most {MOST_VERDICTS:,}")
        if pipeline.replay.in_rounds:
            arrived = list(Rounds(pipeline).read(arrived))
        return _Placed(
            arrived,
            [] if moves_all else [event for event in placed if not event.is_kept],
            [(reader.columns(row), reason) for row, reason in read if isinstance(reason, str)],
        )

    def rows(self, choose: Choose, most: int) -> list[ExplainedRow]:
        """Explain at most `most` chosen rows: rows without a place first, then in the order of arrival."""
        placed = self._placed
        invalid = [self._invalid(row, reason) for row, reason in placed.invalid if choose(row, None)]
        left_out = [self._outside(event, None) for event in placed.left_out if choose(event.row, event)]
        numbered = [(place, event) for place, event in enumerate(placed.arrived) if choose(event.row, event)]
        numbered = numbered[: max(0, most - len(invalid) - len(left_out))]
        filling = {id(event): place for place, event in numbered if event.is_kept}
        job = _Explained(self._pipeline, self._run(filling)) if filling else None
        explained = [
            self._outside(event, place) if job is None or not event.is_kept else job.row(event, place)
            for place, event in numbered
        ]
        return [*invalid, *left_out, *explained][:most]

    def window(self, start_ms: int, key: Mapping[str, str]) -> WindowLife | None:
        """Explain the window of a key (texts) that starts at `start_ms`, or the sessions around it.

        None for a window without rows.
        """
        return _Explained(self._pipeline, self._run(())).window(start_ms, key)

    def _run(self, chosen: Collection[int]) -> _ObservedJob:
        job = _ObservedJob(self._pipeline, chosen)
        try:
            job.run(self._deadline.each(self._placed.arrived), self._until_us)
        except NotReplayedError:
            raise
        except ValueError as problem:
            raise NotReplayedError(str(problem).partition(_HINT)[0]) from problem
        return job

    def _invalid(self, row: Row, reason: str) -> ExplainedRow:
        event_us = arrival_us = None
        if not self._pipeline.sources:
            source = self._pipeline.source
            event_us = TimeReader(source.event_time).micros(row)
            arrival_us = None if source.arrival_time is None else TimeReader(source.arrival_time).micros(row)
        return _without_window(row, INVALID, reason, event_us, arrival_us, None, self._partition(row))

    def _partition(self, row: Row) -> str:
        """Return the label of the source partition of an invalid row, as a valid row has it."""
        if not self._pipeline.sources:
            return label(column(row, name) for name in self._pipeline.source.source_partition.columns)
        united = next(each for each in self._pipeline.sources if each.name == column(row, "source"))
        names = united.source.source_partition.columns
        return of_source(united.name, label(column(row, name) for name in names)) if names else united.name

    def _outside(self, event: Event, place: int | None) -> ExplainedRow:
        is_quarantined = event.verdict.left_out is LeftOut.QUARANTINED
        kind, reason = (INVALID, event.verdict.rule) if is_quarantined else (LEFT_OUT, None)
        return _without_window(event.row, kind, reason, event.event_us, event.arrival_us, place, event.partition)


def _windows_of_row(pipeline: Pipeline) -> int:
    """Return how many windows a row has at most."""
    windows = pipeline.windows
    return -(-windows.longest_ms // windows.slide_ms) if windows.is_sliding else 1


def is_choice(choice: RowChoice) -> Choose:
    """Return whether a row has the times and texts of a choice."""

    def choose(row: Row, event: Event | None) -> bool:
        if event is None or (event.event_us, event.arrival_us) != (choice.event_us, choice.arrival_us):
            return False
        return _has_values(row, choice.values)

    return choose


def has_value(name: str, text: str) -> Choose:
    """Return whether a column of a row has a text."""
    return lambda row, _: _has_values(row, {name: text})


def _has_values(row: Row, values: Mapping[str, str]) -> bool:
    try:
        return all(_is_text(column(row, name), text) for name, text in values.items())
    except UnknownColumnError:
        return False


def _is_text(value: Any, text: str) -> bool:
    """Return whether a text stands for a value, as the engine of delta-rs writes it; `null` stands for null."""
    try:
        match value:
            case None | bool():
                return text == text_of_value(value)
            case float() | Decimal():
                return type(value)(text) == value
            case datetime():
                return datetime.fromisoformat(text).replace(tzinfo=None) == value.replace(tzinfo=None)
            case _:
                return text == text_of_value(value)
    except (ValueError, ArithmeticError):
        return False


def text_of_value(value: Any) -> str:
    """Return the text of a value that chooses it again: `null` for null, ISO 8601 for times and dates."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case date():
            return value.isoformat()
        case _:
            return str(value)


def _without_window(
    row: Row,
    kind: str,
    reason: str | None,
    event_us: int | None,
    arrival_us: int | None,
    place: int | None,
    partition: str,
) -> ExplainedRow:
    return ExplainedRow(
        input=None,
        row=row,
        fate=kind,
        reason=reason,
        event_time=time_us(event_us),
        arrival_time=time_us(arrival_us),
        source_partition=partition,
        rows_before=place,
        watermark=None,
        partitions=None,
        windows=(),
        partners=None,
        least_bound_ms=None,
        least_bound_increase_ms=None,
        least_lateness_ms=None,
    )


class _Explained:
    """The explanations of one finished job."""

    def __init__(self, pipeline: Pipeline, job: _ObservedJob) -> None:
        self._pipeline, self._job, self._windows = pipeline, job, pipeline.windows

    @cached_property
    def _numbers(self) -> Mapping[int, int]:
        """The number of each judged row, by the `id` of its event."""
        return {id(judged.event): number for number, judged in enumerate(self._job.judged)}

    def row(self, event: Event, place: int) -> ExplainedRow:
        """Explain a row that fills windows; `place` is the number of rows before it."""
        number = self._numbers[id(event)]
        judged, spec = self._job.judged[number], self._windows
        lateness = fate([v.lateness for v in judged.verdicts], event.ts, spec.lateness_ms, judged.watermark)
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
            partitions=_listed(self._job.partitions[id(event)], judged.watermark),
            windows=[self._window(judged, verdict) for verdict in judged.verdicts],
            partners=None,
            least_bound_ms=saved.get("least_bound_ms"),
            least_bound_increase_ms=saved.get("least_bound_increase_ms"),
            least_lateness_ms=saved.get("least_lateness_ms"),
        )

    def _window(self, judged: JudgedRow, verdict: Verdict[Comparable, Event]) -> ExplainedWindow:
        window, spec = verdict.window, self._windows
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
            rule=RULES[verdict.lateness.value],
            fires_at_watermark=table_time(window.last),
            closes_at_watermark=closing_time(cleanup_time(window, spec.lateness_ms)),
            panes=panes,
        )

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
        of_key = [n for n, row in enumerate(self._job.judged) if _has_values(row.event.row, key)]
        numbers = self._around_instant(of_key, start_ms) if spec.is_session else self._of_window(of_key, start_ms)
        if not numbers:
            return None
        rows = [self._arrived(number, place + 1) for place, number in enumerate(numbers)]
        events = [self._job.judged[number].event for number in numbers]
        steps = LifeSteps(
            life(rows, spec, self._job.watermark),
            [RowFacts(event.row, event.clock_us) for event in events],
            spec,
            None if spec.is_session else start_ms,
            pane=lambda fired: self._life_pane(fired, events),
            closings=self._closings,
        )
        listed = list(steps.all())
        return WindowLife(dict(key), sum(step.row is not None for step in listed), listed)

    def _of_window(self, of_key: Sequence[int], start_ms: int) -> list[int]:
        return [n for n in of_key if any(v.window.start == start_ms for v in self._job.judged[n].verdicts)]

    def _around_instant(self, of_key: Sequence[int], instant_ms: int) -> list[int]:
        gap_ms = self._windows.gap_ms
        near = (n for n in of_key if -gap_ms <= self._job.judged[n].event.ts - instant_ms < gap_ms)
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


def _listed(partitions: Mapping[str, int], watermark: int) -> list[PartitionWatermark] | None:
    if len(partitions) > LISTED_PARTITIONS:
        return None
    return [PartitionWatermark(name, table_time(own), own == watermark) for name, own in sorted(partitions.items())]
