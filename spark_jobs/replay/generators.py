"""Generators of the user's own, run in Python workers: each partition's alone, over its rows and all ticks, in order.

Law (`semantics.changes`): a partition's generator knows nothing of the others', so partitions are run side by side, and
what is kept are changes: a partition joins, its watermark rises, it falls idle or is active again. These are few, and
are merged in one task by the reference's own merge, which gives the advances of the combined watermark. All else reads
off these. Every tick is told to every partition that exists, since a generator may count them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline, Strategy, Watermark
from spark_jobs.replay import columns as c
from spark_jobs.replay import emission, watermark
from spark_jobs.replay.epochs import of_tick
from spark_jobs.replay.events import declared_labels, quoted
from spark_jobs.semantics.changes import Change, Combined, Kind, PartitionAlone, Recombined
from spark_jobs.semantics.custom import GeneratorError
from spark_jobs.semantics.instants import MIN
from spark_jobs.semantics.strategy import generator

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import RecordBatch

_PARTITION_WATERMARKS = "array<struct<source_partition: string, watermark_ms: long>>"
_CHANGES_A_BATCH = 10_000


def are_asked(pipeline: Pipeline) -> bool:
    """Whether a class of the user's tells the watermark."""
    return pipeline.watermark.strategy is Strategy.CUSTOM


def fault(problem: Exception) -> str | None:
    """What a generator has done wrong in a worker, in a line; None if `problem` is something else."""
    named = f"{GeneratorError.__module__}.{GeneratorError.__qualname__}: "
    told = [line.removeprefix(named) for line in str(problem).splitlines() if line.startswith(named)]
    return told[-1] if told else None


def advances(groups: DataFrame, rows: DataFrame, pipeline: Pipeline, *, until_us: int | None = None) -> DataFrame:
    """All advances of the combined watermark, a row each: `epoch, clock_us, watermark_ms, partition_watermarks`.

    `groups` are the census groups that move the watermark, `rows` the prepared rows with epoch that do; `until_us` is
    how far the arrival clock is known to have gone. Several advances may have one epoch: a row may emit more than once.
    """
    kind = groups.schema["first_epoch"].dataType.simpleString()
    schema = f"epoch {kind}, clock_us long, watermark_ms long, partition_watermarks {_PARTITION_WATERMARKS}"
    labels = declared_labels(pipeline)
    # One task: changes are few.
    told = changes(groups, rows, pipeline, until_us=until_us).repartition(1)
    in_order = told.sortWithinPartitions("epoch", "partition", "number")
    return in_order.mapInArrow(partial(_recombined, labels), schema)


def changes(groups: DataFrame, rows: DataFrame, pipeline: Pipeline, *, until_us: int | None = None) -> DataFrame:
    """What changes in each partition, arguments as for `advances`.

    A row is a change: `partition`, `epoch`, `is_tick`, `clock_us`, `number` (its place in the partition), `kind` and
    `watermark_ms` (as in `semantics.changes`).
    """
    kind = groups.schema["first_epoch"].dataType.simpleString()
    schema = f"partition string, epoch {kind}, is_tick boolean, clock_us long, number long, kind int, watermark_ms long"
    seen = _rows(rows).unionByName(_ticks(groups, pipeline, until_us), allowMissingColumns=True)
    in_order = seen.repartition("partition").sortWithinPartitions("partition", "epoch")
    run = partial(_changed, pipeline.watermark, frozenset(declared_labels(pipeline)))
    return in_order.mapInArrow(run, schema)


def _rows(rows: DataFrame) -> DataFrame:
    columns = [F.col(quoted(name)) for name in rows.columns if not name.startswith(c.PREFIX)]
    return rows.select(
        F.col(c.PARTITION).alias("partition"),
        F.col(c.EPOCH).alias("epoch"),
        F.col(c.CLOCK_US).alias("clock_us"),
        F.col(c.TS_MS).alias("ts_ms"),
        F.struct(*columns).alias("row"),
    )


def _ticks(groups: DataFrame, pipeline: Pipeline, until_us: int | None) -> DataFrame:
    """Every tick that happens, for every partition: `partition, epoch, clock_us`."""
    happened = emission.all_ticks(groups, pipeline, until_us=until_us)
    placed = happened.select(of_tick(F.col("epoch"), groups, pipeline).alias("epoch"))
    clocked = emission.clocked(placed, {"epoch": "clock_us"}, groups, pipeline)
    everyone = watermark.partitions(groups, pipeline).select("partition")
    return clocked.crossJoin(F.broadcast(everyone)).select("partition", "epoch", "clock_us")


class _Step(NamedTuple):
    """A row or, without event time, a tick, as a partition's generator sees it."""

    partition: str
    clock_us: int
    ts_ms: int | None
    row: dict[str, Any] | None


def _changed(declared: Watermark, labels: frozenset[str], batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
    """Run the generators of the partitions in `batches`, which lie one behind the other."""
    import pyarrow as pa

    alone: PartitionAlone | None = None
    partition, number = "", 0
    for batch in batches:
        found: list[tuple[int, _Step, int, Change]] = []
        for at, step in enumerate(map(_Step._make, _values(batch, _Step._fields))):
            if alone is None or step.partition != partition:
                partition, number = step.partition, 0
                alone = PartitionAlone(partial(generator, declared), declared=partition in labels)
            if step.ts_ms is None or step.row is None:
                said = alone.on_periodic_emit(step.clock_us)
            else:
                said = alone.on_event(step.row, step.ts_ms, step.clock_us)
            found += [(at, step, number + i, change) for i, change in enumerate(said)]
            number += len(said)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([step.partition for _, step, _, _ in found], pa.string()),
                batch.column("epoch").take(pa.array([at for at, *_ in found], pa.int64())),
                pa.array([step.ts_ms is None for _, step, _, _ in found], pa.bool_()),
                pa.array([step.clock_us for _, step, _, _ in found], pa.int64()),
                pa.array([place for _, _, place, _ in found], pa.int64()),
                pa.array([int(change.kind) for *_, change in found], pa.int32()),
                pa.array([change.watermark for *_, change in found], pa.int64()),
            ],
            names=["partition", "epoch", "is_tick", "clock_us", "number", "kind", "watermark_ms"],
        )


class _Changed(NamedTuple):
    """A change as the merge sees it; `tick` numbers the emission, None at a row; `at` finds its epoch."""

    tick: int | None
    clock_us: int
    partition: str
    change: Change
    at: pa.Array


def _recombined(labels: Sequence[str], batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
    """Merge the changes of all partitions, which are in order."""
    merge = Recombined(labels)
    advanced: list[tuple[_Changed, Combined]] = []
    for tick, together in groupby(_in_order(batches), key=lambda changed: changed.tick):
        for changed in _merged(merge, tick, together):
            advanced.append(changed)
            if len(advanced) == _CHANGES_A_BATCH:
                yield _batch(advanced)
                advanced = []
    if advanced:
        yield _batch(advanced)


def _merged(merge: Recombined, tick: int | None, together: Iterable[_Changed]) -> Iterator[tuple[_Changed, Combined]]:
    if tick is None:
        for changed in together:
            yield from ((changed, risen) for risen in merge.at_row(changed.partition, changed.change))
        return
    emitted = list(together)
    yield from ((emitted[0], risen) for risen in merge.at_emission((one.partition, one.change) for one in emitted))


def _in_order(batches: Iterable[RecordBatch]) -> Iterator[_Changed]:
    names = ("is_tick", "clock_us", "partition", "kind", "watermark_ms")
    for batch in batches:
        epochs = batch.column("epoch")
        ticks = epochs.field("tick").to_pylist()
        for at, (is_tick, clock_us, partition, kind, watermark_ms) in enumerate(_values(batch, names)):
            change = Change(Kind(kind), watermark_ms)
            yield _Changed(ticks[at] if is_tick else None, clock_us, partition, change, epochs.slice(at, 1))


def _batch(advanced: Sequence[tuple[_Changed, Combined]]) -> RecordBatch:
    import pyarrow as pa

    reached = [
        [
            {"source_partition": label, "watermark_ms": None if ms == MIN else ms}
            for label, ms in sorted(combined.partitions.items())
        ]
        for _, combined in advanced
    ]
    entry = pa.struct([("source_partition", pa.string()), ("watermark_ms", pa.int64())])
    return pa.RecordBatch.from_arrays(
        [
            pa.concat_arrays([changed.at for changed, _ in advanced]),
            pa.array([changed.clock_us for changed, _ in advanced], pa.int64()),
            pa.array([combined.watermark for _, combined in advanced], pa.int64()),
            pa.array(reached, pa.list_(entry)),
        ],
        names=["epoch", "clock_us", "watermark_ms", "partition_watermarks"],
    )


def _values(batch: RecordBatch, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The values of these columns, row by row."""
    return zip(*(batch.column(name).to_pylist(maps_as_pydicts="strict") for name in names), strict=True)
