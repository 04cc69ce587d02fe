"""A source is where a watermark starts: partitions, each with its generator, and a main output beside them.

The main output has a generator that gets no row; partitions and main output are merged into the source's output
(`source_output`). That output is one channel of the reader: its only channel, an input of a join, or one of a union.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from spark_jobs.semantics.rows.clock import ArrivalClock
from spark_jobs.semantics.spec import Watermark
from spark_jobs.semantics.watermark.generators import WatermarkOutput
from spark_jobs.semantics.watermark.source_output import SourceOutput
from spark_jobs.semantics.watermark.source_partitions import SourcePartitions
from spark_jobs.semantics.watermark.strategy import generator


class WatermarkedSource:
    """The generators of one source; `declared` partitions exist from the beginning, watermarks go `downstream`."""

    def __init__(
        self, watermark: Watermark, clock: ArrivalClock, declared: Iterable[str], downstream: WatermarkOutput
    ) -> None:
        output = SourceOutput(downstream)
        self._partitions = SourcePartitions(
            lambda: generator(watermark, clock), declared=declared, output=output.partitions
        )
        self._main, self._main_output = generator(watermark, clock), output.main

    @property
    def watermarks(self) -> Mapping[str, int]:
        """The watermark of every partition that exists."""
        return self._partitions.watermarks

    @property
    def idle(self) -> frozenset[str]:
        """The partitions that are idle."""
        return self._partitions.idle

    def on_event(self, partition: str, row: Mapping[str, Any], ts: int) -> None:
        """Pass a row to its partition's generator."""
        self._partitions.on_event(partition, row, ts)

    def on_periodic_emit(self) -> None:
        """Let all partitions emit, then the main output."""
        self._partitions.on_periodic_emit()
        self._main.on_periodic_emit(self._main_output)
