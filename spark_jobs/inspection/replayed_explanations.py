"""Explanations from the rows of the source: the streaming job of the reference replays all of them, one by one.

Law: the verdicts, panes and watermarks are those of the job itself. So an explanation equals the one that Spark makes,
and has the same fields. The job runs once a request, over at most `bounded_source.MOST_ROWS` rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from spark_jobs.explain.explanations import INVALID, LEFT_OUT, ExplainedRow, WindowLife
from spark_jobs.explain.moments import time_us
from spark_jobs.inspection.bounded_source import Deadline, NotReplayedError
from spark_jobs.inspection.explained_job import ExplainedJob, ObservedJob
from spark_jobs.inspection.row_choices import Choose
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.semantics.rows.event_time import TimeReader
from spark_jobs.semantics.rows.events import Event, Row, event_reader, without_duplicates
from spark_jobs.semantics.rows.expressions import column
from spark_jobs.semantics.rows.left_out import LeftOut
from spark_jobs.semantics.rows.partition_labels import label, of_source
from spark_jobs.semantics.watermark.rounds import Rounds
from spark_jobs.tables.repaired_windows import RepairedWindows

#: The most verdicts of all rows.
MOST_VERDICTS = 500_000
_HINT = "; pass a Python function"
_NOT_REPAIRED = RepairedWindows()


@dataclass(frozen=True)
class _Placed:
    """The rows of a source: events in the order of arrival, those without a place, and invalid rows with reasons."""

    arrived: Sequence[Event]
    left_out: Sequence[Event]
    invalid: Sequence[tuple[Row, str]]


class ReplayedSource:
    """The rows of a source, each of them placed or invalid. Raises NotReplayedError for rows that cannot be read.

    `rows` are dicts of the source's columns in any order. `belongs` decides by the arrival time (us) whether a row
    belongs to the run. `until_us` is how far the arrival clock went; None: to the last row. `repaired` are the windows
    whose late rows a repair has added.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        rows: Sequence[Row],
        deadline: Deadline,
        *,
        belongs: Callable[[int | None], bool] = lambda _: True,
        until_us: int | None = None,
        repaired: RepairedWindows = _NOT_REPAIRED,
    ) -> None:
        self._pipeline, self._deadline, self._until_us, self._repaired = pipeline, deadline, until_us, repaired
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
        job = ExplainedJob(self._pipeline, self._run(filling), self._repaired) if filling else None
        explained = [
            self._outside(event, place) if job is None or not event.is_kept else job.row(event, place)
            for place, event in numbered
        ]
        return [*invalid, *left_out, *explained][:most]

    def window(self, start_ms: int, key: Mapping[str, str]) -> WindowLife | None:
        """Explain the window of a key (texts) that starts at `start_ms`, or the sessions around it.

        None for a window without rows.
        """
        return ExplainedJob(self._pipeline, self._run(()), self._repaired).window(start_ms, key)

    def _run(self, chosen: Collection[int]) -> ObservedJob:
        job = ObservedJob(self._pipeline, chosen)
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
