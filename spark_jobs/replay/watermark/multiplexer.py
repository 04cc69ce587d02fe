"""The multiplexer: merge the changes of partitions into the advances of the watermark, with the merge of `semantics`.

The number of changes does not depend on the number of rows. One task merges them in order:

    epoch; rows before the tick that ends them; at a tick source after source, partitions before the main output

Law: `partition_runner`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.replay.rows.arrival_order import bucket
from spark_jobs.replay.rows.emission import Clock
from spark_jobs.replay.watermark.custom import values
from spark_jobs.replay.watermark.partition_runner import (
    Change,
    ChangeKind,
    PartitionMerge,
    SourceMerge,
    UnitedAdvance,
)
from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.watermark.union import Reader

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import RecordBatch

_PARTITION_WATERMARKS = "array<struct<source_partition: string, watermark_ms: long>>"
_ADVANCES_A_BATCH = 10_000

Reached = Mapping[str, int]


class _Merge(Protocol):
    """A merge of changes. It returns new watermarks, and with each the watermark of every partition by label."""

    def at_row(self, source: int, partition: str, changes: Iterable[Change]) -> list[tuple[int, Reached]]: ...

    def at_emission(self, changes: Iterable[tuple[int, str | None, Change]]) -> list[tuple[int, Reached]]: ...


def of_one(labels: Sequence[str]) -> Callable[[], _Merge]:
    """Return a factory of the merge of one source; `labels` are the partitions that exist from the beginning."""
    return partial(_OneSource, labels)


def of_several(labels: Sequence[Sequence[str]], prefixes: Sequence[str], reader: Reader) -> Callable[[], _Merge]:
    """Return a factory of the merge of several sources, which `reader` reads.

    By source: `labels` are the partitions that exist from the beginning, `prefixes` precede labels in the result.
    """
    return partial(_Several, labels, prefixes, reader)


def advances(changes: DataFrame, clock: Clock, new_merge: Callable[[], _Merge]) -> DataFrame:
    """Return all advances of the watermark: `epoch, clock_us, watermark_ms, partition_watermarks`, a row each.

    `changes` has the columns of `partition_changes.changes` and `source`, the source's number. Several advances may
    have one epoch: a row may emit more than once, and sources emit one after the other.
    """
    kind = changes.schema["epoch"].dataType.simpleString()
    schema = f"epoch {kind}, watermark_ms long, partition_watermarks {_PARTITION_WATERMARKS}"
    tick = F.when(F.col("is_tick"), bucket(F.col("epoch"), clock.pipeline)).alias("tick")
    in_order = (
        changes.select("source", "partition", "epoch", "is_tick", tick, "row", "number", "kind", "watermark_ms")
        .repartition(1)
        .sortWithinPartitions("epoch", "is_tick", "source", F.col("partition").asc_nulls_last(), "number")
    )
    risen = clock.dated(in_order.mapInArrow(partial(_merged, new_merge), schema))
    return risen.select("epoch", "clock_us", "watermark_ms", "partition_watermarks")


class _OneSource:
    def __init__(self, labels: Sequence[str]) -> None:
        self._merge = PartitionMerge(labels)

    def at_row(self, source: int, partition: str, changes: Iterable[Change]) -> list[tuple[int, Reached]]:
        return [(*risen,) for change in changes for risen in self._merge.at_row(partition, change)]

    def at_emission(self, changes: Iterable[tuple[int, str | None, Change]]) -> list[tuple[int, Reached]]:
        of_partitions = ((partition, change) for _, partition, change in changes if partition is not None)
        return [(*risen,) for risen in self._merge.at_emission(of_partitions)]


class _Several:
    def __init__(self, labels: Sequence[Sequence[str]], prefixes: Sequence[str], reader: Reader) -> None:
        self._merge = SourceMerge(labels, reader)
        self._prefixes = prefixes

    def at_row(self, source: int, partition: str, changes: Iterable[Change]) -> list[tuple[int, Reached]]:
        return self._labelled(self._merge.at_row(source, partition, changes))

    def at_emission(self, changes: Iterable[tuple[int, str | None, Change]]) -> list[tuple[int, Reached]]:
        return self._labelled(self._merge.at_emission(changes))

    def _labelled(self, risen: list[UnitedAdvance]) -> list[tuple[int, Reached]]:
        return [
            (
                united.watermark,
                {self._prefixes[source] + label: ms for (source, label), ms in united.partitions.items()},
            )
            for united in risen
        ]


class _Changed(NamedTuple):
    """A change for the merge; `tick` is the number of the emission, None at a row; `at` is its epoch."""

    tick: int | None
    source: int
    partition: str | None
    row: int
    change: Change
    at: pa.Array

    @property
    def moment(self) -> tuple[object, ...]:
        """The key of the changes that are merged together."""
        return (None, self.source, self.partition, self.row) if self.tick is None else (self.tick,)


def _merged(new_merge: Callable[[], _Merge], batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
    """Merge the changes of all partitions, which are in order."""
    merge = new_merge()
    advanced: list[tuple[pa.Array, int, Reached]] = []
    for _, together in groupby(_in_order(batches), key=lambda changed: changed.moment):
        at_once = list(together)
        first = at_once[0]
        if first.tick is None and first.partition is not None:
            risen = merge.at_row(first.source, first.partition, [changed.change for changed in at_once])
        else:
            risen = merge.at_emission((each.source, each.partition, each.change) for each in at_once)
        advanced += [(first.at, watermark, reached) for watermark, reached in risen]
        if len(advanced) >= _ADVANCES_A_BATCH:
            yield _batch(advanced)
            advanced = []
    if advanced:
        yield _batch(advanced)


def _in_order(batches: Iterable[RecordBatch]) -> Iterator[_Changed]:
    names = ("tick", "source", "partition", "row", "kind", "watermark_ms")
    for batch in batches:
        epochs = batch.column("epoch")
        for at, (tick, source, partition, row, kind, watermark_ms) in enumerate(values(batch, names)):
            yield _Changed(tick, source, partition, row, Change(ChangeKind(kind), watermark_ms), epochs.slice(at, 1))


def _batch(advanced: Sequence[tuple[pa.Array, int, Reached]]) -> RecordBatch:
    import pyarrow as pa

    reached = [
        [
            {"source_partition": label, "watermark_ms": None if ms == MIN else ms}
            for label, ms in sorted(partitions.items())
        ]
        for *_, partitions in advanced
    ]
    entry = pa.struct([("source_partition", pa.string()), ("watermark_ms", pa.int64())])
    return pa.RecordBatch.from_arrays(
        [
            pa.concat_arrays([at for at, *_ in advanced]),
            pa.array([watermark for _, watermark, _ in advanced], pa.int64()),
            pa.array(reached, pa.list_(entry)),
        ],
        names=["epoch", "watermark_ms", "partition_watermarks"],
    )
