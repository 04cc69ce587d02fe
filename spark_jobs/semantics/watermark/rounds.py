"""Rounds are the arrival order of partitions that have broker offsets and no common clock.

    round k = 1, 2, ...    each partition, by label, reads its next n rows by offset, unless it waits (`alignment`)
    clock of round k       k * update interval, since 1970: made up, and the clock of emissions
    position               (clock, partition, offset, ties)

A partition's watermark at the beginning of a round is that of the rows it has read, whatever is emitted; a strategy
that does not follow from rows alone (a lag behind the clock, a class of the user's, none) has none here, and is aligned
with nobody. Equal offsets are told apart like equal times. Page section B2.4, rule 98.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, groupby
from typing import NamedTuple

from spark_jobs.semantics.rows.clock import ArrivalClock
from spark_jobs.semantics.rows.events import Event
from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.spec import ReplaySpec, Watermark
from spark_jobs.semantics.watermark.alignment import AlignmentGroup, Drift
from spark_jobs.semantics.watermark.generators import NoWatermarks
from spark_jobs.semantics.watermark.strategy import generator


class Rounds:
    """The interleaving of one source's rows; `drift` is complete when all events have been read."""

    def __init__(self, pipeline: ReplaySpec) -> None:
        alignment = pipeline.watermark.alignment
        if alignment is not None and not pipeline.watermark.follows_rows:
            strategy = pipeline.watermark.strategy.value
            raise ValueError(
                f"asked to align partitions by watermark.strategy {strategy}, which tells none from rows alone"
            )
        self._declared = replace(pipeline.watermark, idle_timeout_ms=None)
        self._rows = pipeline.replay.rows_per_round
        self._interval_us = pipeline.watermark.round_ms * 1000
        self._group = AlignmentGroup(None if alignment is None else alignment.max_drift_ms)

    @property
    def drift(self) -> list[Drift]:
        """How far each partition ran ahead."""
        return self._group.drift

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Give the events, which come by partition and offset, in the order of rounds, with clock and position."""
        readers = [_Reader(p, rows, self._declared) for p, rows in groupby(events, key=lambda event: event.partition)]
        for number in count(1):
            left = {reader.partition: reader for reader in readers if reader.has_rows}
            if not left:
                return
            clock_us = number * self._interval_us
            for partition in self._group.reading({p: reader.watermark() for p, reader in left.items()}):
                for event in left[partition].read(self._rows):
                    yield replace(event, clock_us=clock_us, position=(clock_us, *event.position))


class _Reader:
    """One partition's rows, and the watermark of those that have been read."""

    def __init__(self, partition: str, rows: Iterable[Event], declared: Watermark) -> None:
        self.partition = partition
        self._rows = deque(rows)
        self._highest = MIN
        self._generator = generator(declared, ArrivalClock()) if declared.follows_rows else NoWatermarks()

    @property
    def has_rows(self) -> bool:
        return bool(self._rows)

    def watermark(self) -> int:
        self._generator.on_periodic_emit(self)
        return self._highest

    def read(self, count: int) -> Iterator[Event]:
        for _ in range(min(count, len(self._rows))):
            event = self._rows.popleft()
            self._generator.on_event(event.row, event.ts, self)
            yield event

    def emit_watermark(self, watermark: int) -> None:
        self._highest = max(self._highest, watermark)

    def mark_idle(self) -> None:
        """Go on: no reader falls idle."""

    def mark_active(self) -> None:
        """Go on."""


class Simulated(NamedTuple):
    """Rounds without rows: (partition, chunk, round) of every chunk in the order in which they are read, and drift."""

    read: list[tuple[str, int, int]]
    drift: list[Drift]


def simulated(chunks: Mapping[str, Sequence[int]], max_drift_ms: int | None) -> Simulated:
    """Go through the rounds of partitions that are cut into chunks, each what a partition reads in one round.

    `chunks` has for each partition the highest watermark that each of its chunks tells, in order, MIN for none.
    """
    group, found = AlignmentGroup(max_drift_ms), list[tuple[str, int, int]]()
    reached, done = dict.fromkeys(chunks, MIN), dict.fromkeys(chunks, 0)
    left = {partition for partition, told in chunks.items() if told}
    number = 0
    while left:
        number += 1
        for partition in group.reading({p: reached[p] for p in left}):
            at = done[partition]
            found.append((partition, at, number))
            reached[partition] = max(reached[partition], chunks[partition][at])
            done[partition] += 1
        left = {partition for partition in left if done[partition] < len(chunks[partition])}
    return Simulated(found, group.drift)
