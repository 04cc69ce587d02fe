"""Partitions run alone, of which only the changes are kept, give the watermarks of partitions run side by side."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from spark_jobs.semantics.changes import Change, Combined, Kind, PartitionAlone, Recombined
from spark_jobs.semantics.partitions import SourcePartitions
from spark_jobs.semantics.watermark import WatermarkOutput

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
            output.emit_watermark(self._draw.randrange(60))
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


def alone_of(name: str, seed: int) -> PartitionAlone:
    return PartitionAlone(lambda _: Erratic(f"{seed}-{name}"), declared=name in DECLARED)


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
