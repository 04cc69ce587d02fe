"""Channels are what several sources send to the one that reads them; theirs are merged once more, into one watermark.

    union        one valve over all channels: a union's sources, or both sides of a co-group           (rules 35-38)
    two inputs   the minimum over the inputs that are not idle, as partitions are merged: a join's          (rule 39)

What a source sends depends on its own partitions and main output alone, so that each of them can be run alone
(`changes`). Law: merged again, source after source in their order, partitions at one emission together and before their
main output, they give the united watermark as if all had been run side by side. For whoever repeats itself moves
nothing: a source's output sends only what is news, and a side of it that falls silent says so itself. But for a main
output that says it is active: that wakes a source, however often it is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from spark_jobs.semantics.watermark.generators import WatermarkOutput
from spark_jobs.semantics.watermark.multiplexer import WatermarkMerge
from spark_jobs.semantics.watermark.partition_changes import Change, Kind, tell
from spark_jobs.semantics.watermark.source_output import SourceOutput
from spark_jobs.semantics.watermark.valve import Valve

#: Makes the channels of so many sources, which tell an output what they come to together.
Reader = Callable[[int, WatermarkOutput], Sequence[WatermarkOutput]]


class United(NamedTuple):
    """A new united watermark, and what every partition had reached, by source and label."""

    watermark: int
    partitions: Mapping[tuple[int, str], int]


def union(count: int, output: WatermarkOutput) -> Sequence[WatermarkOutput]:
    """Give the channels of a union of `count` sources, which tells `output`."""
    return Valve(count, output).channels


def inputs(count: int, output: WatermarkOutput) -> Sequence[WatermarkOutput]:
    """Give the channels of `count` inputs of one operator, likewise."""
    merge = WatermarkMerge(output)
    for number in range(count):
        merge.register(str(number))
    return [merge.immediate(str(number)) for number in range(count)]


class Reunited:
    """The watermark of sources whose partitions have been run alone; `reader` makes their channels.

    `declared` are the partitions that exist from the beginning, by source. A main output has no label.
    """

    def __init__(self, declared: Sequence[Iterable[str]], reader: Reader) -> None:
        self._risen: list[int] = []
        channels = reader(len(declared), self)
        self._sources = [_Source(labels, channel) for labels, channel in zip(declared, channels, strict=True)]

    def at_row(self, source: int, partition: str, changes: Iterable[Change]) -> list[United]:
        """Take the changes at a row; give the united watermarks that follow, with what is reached behind the last."""
        self._sources[source].at_row(partition, changes)
        return self._taken()

    def at_emission(self, changes: Iterable[tuple[int, str | None, Change]]) -> list[United]:
        """Take all changes at one emission, each with its source and partition; give the same."""
        said: dict[int, list[tuple[str | None, Change]]] = {}
        for source, partition, change in changes:
            said.setdefault(source, []).append((partition, change))
        for source in sorted(said):
            self._sources[source].at_emission(said[source])
        return self._taken()

    def _taken(self) -> list[United]:
        risen, self._risen = self._risen, []
        if not risen:
            return []
        reached = {(n, label): w for n, one in enumerate(self._sources) for label, w in one.watermarks.items()}
        return [United(watermark, reached) for watermark in risen]

    def emit_watermark(self, watermark: int) -> None:
        """Take the united watermark."""
        self._risen.append(watermark)

    def mark_idle(self) -> None:
        """Go on: who reads has all sources' rows all the same."""

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
            if change.kind is Kind.JOINS:
                self._merge.register(partition)
            else:
                tell(self._merge.immediate(partition), change)

    def at_emission(self, changes: Sequence[tuple[str | None, Change]]) -> None:
        for partition, change in changes:
            if partition is not None:
                tell(self._merge.deferred(partition), change)
        self._merge.on_periodic_emit()
        for partition, change in changes:
            if partition is None:
                tell(self._main, change)
