"""A union merges the channels of several sources once more, into one watermark.

union        one valve over all channels: the sources of a union, or both sides of a co-group      (rules 35-38)
two inputs   the minimum over the inputs that are not idle, as partitions are merged: for a join   (rule 39)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spark_jobs.semantics.watermark.generators import WatermarkOutput
from spark_jobs.semantics.watermark.multiplexer import WatermarkMerge
from spark_jobs.semantics.watermark.valve import Valve

#: Makes the channels of a number of sources; their united watermark goes to the output.
Reader = Callable[[int, WatermarkOutput], Sequence[WatermarkOutput]]


def union(count: int, output: WatermarkOutput) -> Sequence[WatermarkOutput]:
    """Return the channels of a union of `count` sources, whose watermark goes to `output`."""
    return Valve(count, output).channels


def inputs(count: int, output: WatermarkOutput) -> Sequence[WatermarkOutput]:
    """Return the channels of `count` inputs of one operator, whose watermark goes to `output`."""
    merge = WatermarkMerge(output)
    for number in range(count):
        merge.register(str(number))
    return [merge.immediate(str(number)) for number in range(count)]
