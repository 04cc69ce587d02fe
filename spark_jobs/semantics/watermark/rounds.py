"""Rounds are the arrival order of partitions that have broker offsets and no common clock.

    round k = 1, 2, ...    each partition, by label, reads its next n rows by offset, unless it waits (`alignment`)
    clock of round k       k * update interval, since 1970: an artificial clock, which is also the clock of emissions
    position               (clock, partition, offset, ties)

A partition's watermark at the beginning of a round is that of the rows it has read, emitted or not. A strategy that
does not follow rows alone (time lag, custom, none) has no such watermark and cannot be aligned. Rows with equal offsets
are ordered like rows with equal times. Semantics B2, rule 98.
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

    def __init__(self, spec: ReplaySpec) -> None:
        alignment = spec.watermark.alignment
        if alignment is not None and not spec.watermark.follows_rows:
            strategy = spec.watermark.strategy.value
            raise ValueError(
                f"cannot align partitions by watermark.strategy {strategy}, which does not follow rows alone"
            )
        self._declared = replace(spec.watermark, idle_timeout_ms=None)
        self._rows = spec.replay.rows_per_round
        self._interval_us = spec.watermark.round_ms * 1000
        self._group = AlignmentGroup(None if alignment is None else alignment.max_drift_ms)

    @property
    def drift(self) -> list[Drift]:
        """How far each partition ran ahead."""
        return self._group.drift

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Return the events in the order of rounds, with clock and position; they come by partition and offset."""
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
        """Do nothing: no reader falls idle."""

    def mark_active(self) -> None:
        """Do nothing."""


class RoundSequence(NamedTuple):
    """Rounds of chunks: (partition, chunk, round) of every chunk, in the order of reading, and the drift."""

    read: list[tuple[str, int, int]]
    drift: list[Drift]


def simulated(chunks: Mapping[str, Sequence[int]], max_drift_ms: int | None) -> RoundSequence:
    """Return the rounds of partitions cut into chunks; a chunk is the rows that a partition reads in one round.

    `chunks` has for each partition the highest watermark of each of its chunks, in order, MIN for none.
    """
    group, reads = AlignmentGroup(max_drift_ms), list[tuple[str, int, int]]()
    reached, chunks_read = dict.fromkeys(chunks, MIN), dict.fromkeys(chunks, 0)
    left = {partition for partition, watermarks in chunks.items() if watermarks}
    number = 0
    while left:
        number += 1
        for partition in group.reading({p: reached[p] for p in left}):
            at = chunks_read[partition]
            reads.append((partition, at, number))
            reached[partition] = max(reached[partition], chunks[partition][at])
            chunks_read[partition] += 1
        left = {partition for partition in left if chunks_read[partition] < len(chunks[partition])}
    return RoundSequence(reads, group.drift)
