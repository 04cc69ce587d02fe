"""A source partition is a split of the source that has its own watermark, named by its label (`rows.partition_labels`).

Declared partitions exist from the beginning; any other partition joins with its first row. Each has its own generator,
which gets the rows of its partition and every emission. Watermarks at a row are combined at once. Watermarks at an
emission are combined after all partitions have emitted. Rules 17, 19, 20, 25, 26.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from spark_jobs.semantics.watermark.generators import WatermarkGenerator, WatermarkOutput
from spark_jobs.semantics.watermark.multiplexer import WatermarkMerge


class SourcePartitions:
    """The generators of all partitions and their merged watermark, which goes to `output`."""

    def __init__(
        self,
        new_generator: Callable[[], WatermarkGenerator],
        *,
        declared: Iterable[str],
        output: WatermarkOutput,
    ) -> None:
        self._new_generator = new_generator
        self._generators: dict[str, WatermarkGenerator] = {}
        self._merge = WatermarkMerge(output)
        for partition in declared:
            self._join(partition)

    @property
    def watermarks(self) -> Mapping[str, int]:
        """The watermark of every partition that exists."""
        return self._merge.partitions

    @property
    def idle(self) -> frozenset[str]:
        """The partitions that are idle."""
        return self._merge.idle

    def on_event(self, partition: str, row: Mapping[str, Any], ts: int) -> None:
        """Pass a row to its partition's generator; a partition joins with its first row."""
        if partition not in self._generators:
            self._join(partition)
        self._generators[partition].on_event(row, ts, self._merge.immediate(partition))

    def on_periodic_emit(self) -> None:
        """Let all partitions emit, then combine once (rule 25)."""
        for partition, generator in self._generators.items():
            generator.on_periodic_emit(self._merge.deferred(partition))
        self._merge.on_periodic_emit()

    def _join(self, partition: str) -> None:
        self._generators[partition] = self._new_generator()
        self._merge.register(partition)
