"""A change is what a partition's generator says that is news to its partition; nothing else moves a combined watermark.

    joins        the partition exists from here on, active, at MIN
    watermark    higher than all before of the partition, or any while it is idle
    idle         while it is active
    active       while it is idle

Generators of different partitions know nothing of each other, so each can be run alone (`PartitionAlone`), and what
they say be merged afterwards (`Recombined`): changes at a row at once, those at one emission together. Law: that gives
the combined watermark as if all had been run side by side, since to repeat what a partition has said raises no minimum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from spark_jobs.semantics.rows.clock import ArrivalClock
from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.watermark.generators import WatermarkGenerator, WatermarkOutput
from spark_jobs.semantics.watermark.multiplexer import WatermarkMerge
from spark_jobs.semantics.windows.lateness import advances


class Kind(IntEnum):
    """What has changed."""

    JOINS = 0
    WATERMARK = 1
    IDLE = 2
    ACTIVE = 3


class Change(NamedTuple):
    """A change; `watermark` is that of a WATERMARK, else MIN."""

    kind: Kind
    watermark: int = MIN


class Combined(NamedTuple):
    """A new combined watermark, and what every partition had reached."""

    watermark: int
    partitions: Mapping[str, int]


class PartitionAlone:
    """One partition's generator; gives what changes. It joins with its first row, or is `declared`.

    A source's main output (`is_main`) is there from the beginning, and has told nothing: what it says first is news,
    and that it is active always, since a source may be idle whose main output has spoken (`source_output`).
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
        self._news = _MainNews() if is_main else _News()

    def on_event(self, row: Mapping[str, Any], ts: int, clock_us: int) -> list[Change]:
        """Show a row to the generator."""
        self._clock.advance_to(clock_us)
        joins = [] if self._exists else [Change(Kind.JOINS)]
        self._exists = True
        self._generator.on_event(row, ts, self._news)
        return joins + self._news.taken()

    def on_periodic_emit(self, clock_us: int) -> list[Change]:
        """Let the generator emit, if the partition exists."""
        self._clock.advance_to(clock_us)
        if self._exists:
            self._generator.on_periodic_emit(self._news)
        return self._news.taken()


class _News:
    """An output that keeps what is news."""

    def __init__(self, *, is_idle: bool | None = False) -> None:
        self._watermark, self._is_idle = MIN, is_idle
        self._found: list[Change] = []

    def taken(self) -> list[Change]:
        found, self._found = self._found, []
        return found

    def emit_watermark(self, watermark: int) -> None:
        if advances(watermark, self._watermark) or self._is_idle is not False:
            self._found.append(Change(Kind.WATERMARK, watermark))
        self._watermark, self._is_idle = max(watermark, self._watermark), False

    def mark_idle(self) -> None:
        if self._is_idle is not True:
            self._found.append(Change(Kind.IDLE))
        self._is_idle = True

    def mark_active(self) -> None:
        if self._is_idle is not False:
            self._found.append(Change(Kind.ACTIVE))
        self._is_idle = False


class _MainNews(_News):
    """An output that takes its sender for neither idle nor active at first."""

    def __init__(self) -> None:
        super().__init__(is_idle=None)

    def mark_active(self) -> None:
        self._is_idle = None
        super().mark_active()


class Recombined:
    """The combined watermark of partitions that have been run alone; `declared` ones exist from the beginning."""

    def __init__(self, declared: Iterable[str]) -> None:
        self._merge = WatermarkMerge(self)
        self._risen: list[Combined] = []
        for partition in declared:
            self._merge.register(partition)

    def at_row(self, partition: str, change: Change) -> list[Combined]:
        """Take a change at a row; give the combined watermarks that follow from it, of which there is at most one."""
        self._take(self._merge.immediate, partition, change)
        return self._taken()

    def at_emission(self, changes: Iterable[tuple[str, Change]]) -> list[Combined]:
        """Take all changes at one emission, each with its partition; give the same."""
        for partition, change in changes:
            self._take(self._merge.deferred, partition, change)
        self._merge.on_periodic_emit()
        return self._taken()

    def _take(self, output: Callable[[str], WatermarkOutput], partition: str, change: Change) -> None:
        if change.kind is Kind.JOINS:
            self._merge.register(partition)
        else:
            tell(output(partition), change)

    def _taken(self) -> list[Combined]:
        risen, self._risen = self._risen, []
        return risen

    def emit_watermark(self, watermark: int) -> None:
        """Take what the merge sends on."""
        self._risen.append(Combined(watermark, dict(self._merge.partitions)))

    def mark_idle(self) -> None:
        """Go on: a source without active partitions moves no watermark."""

    def mark_active(self) -> None:
        """Go on."""


def tell(output: WatermarkOutput, change: Change) -> None:
    """Say a change other than JOINS to an output."""
    if change.kind is Kind.WATERMARK:
        output.emit_watermark(change.watermark)
    elif change.kind is Kind.IDLE:
        output.mark_idle()
    else:
        output.mark_active()
