"""Partition runners: each runs the generator of one partition and records changes, which are merged afterwards.

    joins        the partition exists from here on, active, at MIN
    watermark    higher than all watermarks of the partition before it, or any watermark while the partition is idle
    idle         while the partition is active
    active       while the partition is idle

Only a change of a partition can move the combined watermark, so only changes are kept. Law: a change at a row is
merged at once, the changes at one emission together. The result is the combined watermark of partitions that run side
by side. A partition that repeats its watermark raises no minimum.

Several sources are merged in the order of the list, in each source partitions before the main output. This is exact
too: a source forwards only new watermarks, and its partitions and main output mark idleness themselves. The exception
is a main output that marks itself active: it makes the source active each time, so each time is a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from spark_jobs.semantics.rows.clock import ArrivalClock
from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.watermark.comparisons import advances
from spark_jobs.semantics.watermark.generators import WatermarkGenerator, WatermarkOutput
from spark_jobs.semantics.watermark.multiplexer import WatermarkMerge
from spark_jobs.semantics.watermark.source_output import SourceOutput
from spark_jobs.semantics.watermark.union import Reader


class ChangeKind(IntEnum):
    """What changes in a partition."""

    JOINS = 0
    WATERMARK = 1
    IDLE = 2
    ACTIVE = 3


class Change(NamedTuple):
    """A change; `watermark` belongs to WATERMARK, and is MIN for the other kinds."""

    kind: ChangeKind
    watermark: int = MIN


class CombinedAdvance(NamedTuple):
    """A new combined watermark of one source, and the watermark of every partition."""

    watermark: int
    partitions: Mapping[str, int]


class UnitedAdvance(NamedTuple):
    """A new united watermark of several sources, and the watermark of every partition by source and label."""

    watermark: int
    partitions: Mapping[tuple[int, str], int]


class PartitionRunner:
    """The generator of one partition; each call returns the changes. The partition joins with its first row.

    A `declared` partition exists from the beginning. The main output of a source (`is_main`) exists too, and its first
    watermark or idleness is always a change. So is every time that it marks itself active, since a source may be idle
    although its main output has emitted (`semantics.watermark.source_output`).
    """

    def __init__(
        self,
        new_generator: Callable[[ArrivalClock], WatermarkGenerator],
        *,
        declared: bool = False,
        is_main: bool = False,
    ) -> None:
        self._clock = ArrivalClock()
        self._generator = new_generator(self._clock)
        self._exists = declared or is_main
        self._recorder = _MainRecorder() if is_main else _Recorder()

    def on_event(self, row: Mapping[str, Any], ts: int, clock_us: int) -> list[Change]:
        """Pass a row to the generator; return the changes."""
        self._clock.advance_to(clock_us)
        joins = [] if self._exists else [Change(ChangeKind.JOINS)]
        self._exists = True
        self._generator.on_event(row, ts, self._recorder)
        return joins + self._recorder.take()

    def on_periodic_emit(self, clock_us: int) -> list[Change]:
        """Let the generator emit if the partition exists; return the changes."""
        self._clock.advance_to(clock_us)
        if self._exists:
            self._generator.on_periodic_emit(self._recorder)
        return self._recorder.take()


class _Recorder:
    """An output that records changes; with `is_idle` None, the first idleness or watermark is a change in any case."""

    def __init__(self, *, is_idle: bool | None = False) -> None:
        self._watermark, self._is_idle = MIN, is_idle
        self._changes: list[Change] = []

    def take(self) -> list[Change]:
        changes, self._changes = self._changes, []
        return changes

    def emit_watermark(self, watermark: int) -> None:
        if advances(watermark, self._watermark) or self._is_idle is not False:
            self._changes.append(Change(ChangeKind.WATERMARK, watermark))
        self._watermark, self._is_idle = max(watermark, self._watermark), False

    def mark_idle(self) -> None:
        if self._is_idle is not True:
            self._changes.append(Change(ChangeKind.IDLE))
        self._is_idle = True

    def mark_active(self) -> None:
        if self._is_idle is not False:
            self._changes.append(Change(ChangeKind.ACTIVE))
        self._is_idle = False


class _MainRecorder(_Recorder):
    """An output that records a change each time that it is marked active."""

    def __init__(self) -> None:
        super().__init__(is_idle=None)

    def mark_active(self) -> None:
        self._is_idle = None
        super().mark_active()


class PartitionMerge:
    """The combined watermark of partitions that ran apart; `declared` partitions exist from the beginning."""

    def __init__(self, declared: Iterable[str]) -> None:
        self._merge = WatermarkMerge(self)
        self._advances: list[CombinedAdvance] = []
        for partition in declared:
            self._merge.register(partition)

    def at_row(self, partition: str, change: Change) -> list[CombinedAdvance]:
        """Take a change at a row; return the new combined watermark, at most one."""
        self._take(self._merge.immediate, partition, change)
        return self._new_advances()

    def at_emission(self, changes: Iterable[tuple[str, Change]]) -> list[CombinedAdvance]:
        """Take all changes at one emission, each with its partition; return the new combined watermark."""
        for partition, change in changes:
            self._take(self._merge.deferred, partition, change)
        self._merge.on_periodic_emit()
        return self._new_advances()

    def _take(self, output: Callable[[str], WatermarkOutput], partition: str, change: Change) -> None:
        if change.kind is ChangeKind.JOINS:
            self._merge.register(partition)
        else:
            _apply(change, output(partition))

    def _new_advances(self) -> list[CombinedAdvance]:
        advances, self._advances = self._advances, []
        return advances

    def emit_watermark(self, watermark: int) -> None:
        """Record the combined watermark."""
        self._advances.append(CombinedAdvance(watermark, dict(self._merge.partitions)))

    def mark_idle(self) -> None:
        """Go on: a source without active partitions moves no watermark."""

    def mark_active(self) -> None:
        """Go on."""


class SourceMerge:
    """The united watermark of sources whose partitions ran apart; `reader` makes their channels.

    `declared` are the partitions that exist from the beginning, by source. A main output has no label.
    """

    def __init__(self, declared: Sequence[Iterable[str]], reader: Reader) -> None:
        self._risen: list[int] = []
        channels = reader(len(declared), self)
        self._sources = [_Source(labels, channel) for labels, channel in zip(declared, channels, strict=True)]

    def at_row(self, source: int, partition: str, changes: Iterable[Change]) -> list[UnitedAdvance]:
        """Take the changes at a row; return the new united watermarks, with the partitions behind the last one."""
        self._sources[source].at_row(partition, changes)
        return self._new_advances()

    def at_emission(self, changes: Iterable[tuple[int, str | None, Change]]) -> list[UnitedAdvance]:
        """Take all changes at one emission, each with its source and partition; return the new united watermarks."""
        by_source: dict[int, list[tuple[str | None, Change]]] = {}
        for source, partition, change in changes:
            by_source.setdefault(source, []).append((partition, change))
        for source in sorted(by_source):
            self._sources[source].at_emission(by_source[source])
        return self._new_advances()

    def _new_advances(self) -> list[UnitedAdvance]:
        risen, self._risen = self._risen, []
        if not risen:
            return []
        partitions = {(n, label): w for n, source in enumerate(self._sources) for label, w in source.watermarks.items()}
        return [UnitedAdvance(watermark, partitions) for watermark in risen]

    def emit_watermark(self, watermark: int) -> None:
        """Take the united watermark."""
        self._risen.append(watermark)

    def mark_idle(self) -> None:
        """Go on: the reader has the rows of all sources."""

    def mark_active(self) -> None:
        """Go on."""


class _Source:
    def __init__(self, declared: Iterable[str], downstream: WatermarkOutput) -> None:
        output = SourceOutput(downstream)
        self._merge, self._main = WatermarkMerge(output.partitions), output.main
        for partition in declared:
            self._merge.register(partition)

    @property
    def watermarks(self) -> Mapping[str, int]:
        return self._merge.partitions

    def at_row(self, partition: str, changes: Iterable[Change]) -> None:
        for change in changes:
            if change.kind is ChangeKind.JOINS:
                self._merge.register(partition)
            else:
                _apply(change, self._merge.immediate(partition))

    def at_emission(self, changes: Sequence[tuple[str | None, Change]]) -> None:
        for partition, change in changes:
            if partition is not None:
                _apply(change, self._merge.deferred(partition))
        self._merge.on_periodic_emit()
        for partition, change in changes:
            if partition is None:
                _apply(change, self._main)


def _apply(change: Change, output: WatermarkOutput) -> None:
    """Pass a change other than JOINS to an output."""
    if change.kind is ChangeKind.WATERMARK:
        output.emit_watermark(change.watermark)
    elif change.kind is ChangeKind.IDLE:
        output.mark_idle()
    else:
        output.mark_active()
