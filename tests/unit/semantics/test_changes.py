"""Partitions run alone, of which only the changes are kept, give the watermarks of partitions run side by side."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.watermark.generators import WatermarkOutput
from spark_jobs.semantics.watermark.partition_changes import Change, Combined, Kind, PartitionAlone, Recombined
from spark_jobs.semantics.watermark.source_output import SourceOutput
from spark_jobs.semantics.watermark.source_partitions import SourcePartitions
from spark_jobs.semantics.watermark.union import Reader, Reunited, inputs, union

NAMES, DECLARED = "abc", "ab"


class Erratic:
    """Says anything at rows and at ticks, drawn from a seed of its partition's."""

    def __init__(self, seed: str) -> None:
        self._draw = random.Random(seed)

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        for _ in range(self._draw.choice([0, 0, 1, 2])):
            self._say(output)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        for _ in range(self._draw.choice([0, 1, 2])):
            self._say(output)

    def _say(self, output: WatermarkOutput) -> None:
        what = self._draw.random()
        if what < 0.6:
            watermark = self._draw.randrange(-15, 60)
            output.emit_watermark(MIN if watermark < 0 else watermark)
        elif what < 0.85:
            output.mark_idle()
        else:
            output.mark_active()


class Sent:
    """What a merge sends on, with what its partitions had reached; `joining` names the one that is made next."""

    def __init__(self, seed: int) -> None:
        self.risen: list[Combined] = []
        self.joining = ""
        self.partitions = SourcePartitions(lambda: Erratic(f"{seed}-{self.joining}"), declared=(), output=self)

    def emit_watermark(self, watermark: int) -> None:
        self.risen.append(Combined(watermark, dict(self.partitions.watermarks)))

    def mark_idle(self) -> None:
        """Go on."""

    def mark_active(self) -> None:
        """Go on."""


@pytest.mark.parametrize("seed", range(200))
def test_changes_give_the_watermarks_of_all_that_was_said(seed: int) -> None:
    draw, sent = random.Random(seed), Sent(seed)
    for sent.joining in DECLARED:
        sent.partitions._join(sent.joining)
    alone = {name: alone_of(name, seed) for name in NAMES}
    merge, recombined = Recombined(DECLARED), list[Combined]()
    for _ in range(60):
        if draw.random() < 0.4:
            sent.partitions.on_periodic_emit()
            said = [(name, change) for name in NAMES for change in alone[name].on_periodic_emit(0)]
            # An emission at which nothing changes is not even told.
            recombined += merge.at_emission(said) if said else []
        else:
            sent.joining = draw.choice(NAMES)
            sent.partitions.on_event(sent.joining, {}, 0)
            for change in alone[sent.joining].on_event({}, 0, 0):
                recombined += merge.at_row(sent.joining, change)
    assert recombined == sent.risen


def alone_of(name: str, seed: int | str) -> PartitionAlone:
    return PartitionAlone(lambda _: Erratic(f"{seed}-{name}"), declared=name in DECLARED)


class Sources:
    """Sources side by side, and the united watermarks, each with what is reached when all have spoken."""

    def __init__(self, seed: int, count: int, reader: Reader) -> None:
        self.risen: list[tuple[int, dict[tuple[int, str], int]]] = []
        self.fresh: list[int] = []
        self.joining = ""
        self.sources: list[SourcePartitions] = []
        self.mains = [(Erratic(f"{seed}-{n}-main"), n) for n in range(count)]
        self.outputs = [SourceOutput(channel) for channel in reader(count, self)]
        for n, output in enumerate(self.outputs):
            named = partial(self._new, seed, n)
            self.sources.append(SourcePartitions(named, declared=(), output=output.partitions))
            for self.joining in DECLARED:
                self.sources[n]._join(self.joining)

    def _new(self, seed: int, number: int) -> Erratic:
        return Erratic(f"{seed}-{number}-{self.joining}")

    def on_event(self, source: int, partition: str) -> None:
        self.joining = partition
        self.sources[source].on_event(partition, {}, 0)
        self._tell()

    def on_periodic_emit(self) -> None:
        for source, (main, n) in zip(self.sources, self.mains, strict=True):
            source.on_periodic_emit()
            main.on_periodic_emit(self.outputs[n].main)
        self._tell()

    def _tell(self) -> None:
        reached = {(n, label): w for n, one in enumerate(self.sources) for label, w in one.watermarks.items()}
        self.risen += [(watermark, reached) for watermark in self.fresh]
        self.fresh = []

    def emit_watermark(self, watermark: int) -> None:
        self.fresh.append(watermark)

    def mark_idle(self) -> None:
        """Go on."""

    def mark_active(self) -> None:
        """Go on."""


@pytest.mark.parametrize("reader", [union, inputs])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("seed", range(100))
def test_changes_of_several_sources_give_the_united_watermarks(seed: int, count: int, reader: Reader) -> None:
    draw, side_by_side = random.Random(seed), Sources(seed, count, reader)
    alone = {(n, name): alone_of(name, f"{seed}-{n}") for n in range(count) for name in NAMES}
    mains = [PartitionAlone(lambda _, n=n: Erratic(f"{seed}-{n}-main"), is_main=True) for n in range(count)]  # type: ignore[misc]
    merge, risen = Reunited([DECLARED] * count, reader), []
    said: list[tuple[int, str | None, Change]]
    for _ in range(80):
        if draw.random() < 0.4:
            side_by_side.on_periodic_emit()
            said = [(n, name, change) for (n, name), one in alone.items() for change in one.on_periodic_emit(0)]
            said += [(n, None, change) for n, main in enumerate(mains) for change in main.on_periodic_emit(0)]
            risen += merge.at_emission(said) if said else []
        else:
            source, partition = draw.randrange(count), draw.choice(NAMES)
            side_by_side.on_event(source, partition)
            if changes := alone[source, partition].on_event({}, 0, 0):
                risen += merge.at_row(source, partition, changes)
    assert risen == side_by_side.risen


class Saying:
    """Emits the row's event time as watermark."""

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        output.emit_watermark(ts)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Say nothing."""


def test_only_what_is_higher_than_all_before_is_a_change() -> None:
    alone = PartitionAlone(lambda clock: Saying(), declared=True)
    found = [alone.on_event({}, ts, 0) for ts in (10, 5, 7, 10, 11)]
    assert found == [[Change(Kind.WATERMARK, 10)], [], [], [], [Change(Kind.WATERMARK, 11)]]
