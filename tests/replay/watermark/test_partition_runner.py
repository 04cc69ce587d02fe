"""Changes of partitions that run apart, merged afterwards, give the watermarks of partitions that run side by side."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from spark_jobs.replay.watermark.partition_runner import (
    Change,
    ChangeKind,
    CombinedAdvance,
    PartitionMerge,
    PartitionRunner,
    SourceMerge,
)
from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.watermark.generators import WatermarkOutput
from spark_jobs.semantics.watermark.source_output import SourceOutput
from spark_jobs.semantics.watermark.source_partitions import SourcePartitions
from spark_jobs.semantics.watermark.union import Reader, inputs, union

NAMES, DECLARED = "abc", "ab"


class Erratic:
    """Emits and marks at random, at rows and at ticks, by the seed of its partition."""

    def __init__(self, seed: str) -> None:
        self._draw = random.Random(seed)

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        for _ in range(self._draw.choice([0, 0, 1, 2])):
            self._emit(output)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        for _ in range(self._draw.choice([0, 1, 2])):
            self._emit(output)

    def _emit(self, output: WatermarkOutput) -> None:
        draw = self._draw.random()
        if draw < 0.6:
            watermark = self._draw.randrange(-15, 60)
            output.emit_watermark(MIN if watermark < 0 else watermark)
        elif draw < 0.85:
            output.mark_idle()
        else:
            output.mark_active()


class Sent:
    """What a merge sends on, with what its partitions had reached; `joining` names the one that is made next."""

    def __init__(self, seed: int) -> None:
        self.risen: list[CombinedAdvance] = []
        self.joining = ""
        self.partitions = SourcePartitions(lambda: Erratic(f"{seed}-{self.joining}"), declared=(), output=self)

    def emit_watermark(self, watermark: int) -> None:
        self.risen.append(CombinedAdvance(watermark, dict(self.partitions.watermarks)))

    def mark_idle(self) -> None:
        """Do nothing."""

    def mark_active(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize("seed", range(200))
def test_changes_give_the_watermarks_of_partitions_side_by_side(seed: int) -> None:
    draw, sent = random.Random(seed), Sent(seed)
    for sent.joining in DECLARED:
        sent.partitions._join(sent.joining)
    alone = {name: alone_of(name, seed) for name in NAMES}
    merge, recombined = PartitionMerge(DECLARED), list[CombinedAdvance]()
    for _ in range(60):
        if draw.random() < 0.4:
            sent.partitions.on_periodic_emit()
            changes = [(name, change) for name in NAMES for change in alone[name].on_periodic_emit(0)]
            # An emission without changes is left out.
            recombined += merge.at_emission(changes) if changes else []
        else:
            sent.joining = draw.choice(NAMES)
            sent.partitions.on_event(sent.joining, {}, 0)
            for change in alone[sent.joining].on_event({}, 0, 0):
                recombined += merge.at_row(sent.joining, change)
    assert recombined == sent.risen


def alone_of(name: str, seed: int | str) -> PartitionRunner:
    return PartitionRunner(lambda _: Erratic(f"{seed}-{name}"), declared=name in DECLARED)


class Sources:
    """Sources side by side, and the united watermarks, each with the partitions after the last one has emitted."""

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
        self._finish()

    def on_periodic_emit(self) -> None:
        for source, (main, n) in zip(self.sources, self.mains, strict=True):
            source.on_periodic_emit()
            main.on_periodic_emit(self.outputs[n].main)
        self._finish()

    def _finish(self) -> None:
        reached = {(n, label): w for n, source in enumerate(self.sources) for label, w in source.watermarks.items()}
        self.risen += [(watermark, reached) for watermark in self.fresh]
        self.fresh = []

    def emit_watermark(self, watermark: int) -> None:
        self.fresh.append(watermark)

    def mark_idle(self) -> None:
        """Do nothing."""

    def mark_active(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize("reader", [union, inputs])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("seed", range(100))
def test_changes_of_several_sources_give_the_united_watermarks(seed: int, count: int, reader: Reader) -> None:
    draw, side_by_side = random.Random(seed), Sources(seed, count, reader)
    alone = {(n, name): alone_of(name, f"{seed}-{n}") for n in range(count) for name in NAMES}
    mains = [PartitionRunner(lambda _, n=n: Erratic(f"{seed}-{n}-main"), is_main=True) for n in range(count)]  # type: ignore[misc]
    merge, risen = SourceMerge([DECLARED] * count, reader), []
    for _ in range(80):
        if draw.random() < 0.4:
            side_by_side.on_periodic_emit()
            changed: list[tuple[int, str | None, Change]] = [
                (n, name, change) for (n, name), runner in alone.items() for change in runner.on_periodic_emit(0)
            ]
            changed += [(n, None, change) for n, main in enumerate(mains) for change in main.on_periodic_emit(0)]
            risen += merge.at_emission(changed) if changed else []
        else:
            source, partition = draw.randrange(count), draw.choice(NAMES)
            side_by_side.on_event(source, partition)
            if changes := alone[source, partition].on_event({}, 0, 0):
                risen += merge.at_row(source, partition, changes)
    assert risen == side_by_side.risen


class EmitsEventTime:
    """Emits the row's event time as watermark."""

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        output.emit_watermark(ts)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit nothing."""


def test_only_what_is_higher_than_all_before_is_a_change() -> None:
    alone = PartitionRunner(lambda clock: EmitsEventTime(), declared=True)
    changes = [alone.on_event({}, ts, 0) for ts in (10, 5, 7, 10, 11)]
    assert changes == [[Change(ChangeKind.WATERMARK, 10)], [], [], [], [Change(ChangeKind.WATERMARK, 11)]]
