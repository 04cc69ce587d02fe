"""Custom watermark generators, run in Python workers: one for each partition, over its rows and all ticks, in order.

Law (`partition_runner`): a generator sees only its partition, so partitions run in parallel. The result contains only
changes: a partition joins, its watermark rises, it falls idle or becomes active. Changes are few and are merged
afterwards (`multiplexer`). Every existing partition gets every tick, since a generator may count ticks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline, Watermark
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import declared_labels
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.watermark.partition_runner import Change, PartitionRunner
from spark_jobs.semantics.watermark.custom import GeneratorError
from spark_jobs.semantics.watermark.strategy import generator

if TYPE_CHECKING:
    from pyarrow import RecordBatch


def fault(problem: Exception) -> str | None:
    """Return the GeneratorError of a worker in one line; None if `problem` has another cause."""
    named = f"{GeneratorError.__module__}.{GeneratorError.__qualname__}: "
    errors = [line.removeprefix(named) for line in str(problem).splitlines() if line.startswith(named)]
    return errors[-1] if errors else None


def own_columns(rows: DataFrame) -> Column:
    """Return the struct of the source's columns in prepared rows, which a generator gets for a row."""
    return F.struct(*(F.col(quoted(name)) for name in rows.columns if not name.startswith(c.PREFIX)))


def changes(rows: DataFrame, row: Column, ticks: DataFrame, pipeline: Pipeline, *, has_main: bool = False) -> DataFrame:
    """Return the changes of each partition; with `has_main` the partition null is the source's main output.

    `rows` are the prepared rows with epoch that move the watermark, `row` is `own_columns` of them. `ticks` has
    `partition, epoch, clock_us`. A row of the result is a change:

    - `partition`, `epoch`, `is_tick`
    - `number`: its rank in the partition
    - `row`: identifies the source row within the partition
    - `kind`, `watermark_ms`: as in `partition_runner`
    """
    steps = rows.select(
        F.col(c.PARTITION).alias("partition"),
        F.col(c.EPOCH).alias("epoch"),
        F.col(c.CLOCK_US).alias("clock_us"),
        F.col(c.TS_MS).alias("ts_ms"),
        row.alias("row"),
    ).unionByName(ticks.select("partition", "epoch", "clock_us"), allowMissingColumns=True)
    kind = steps.schema["epoch"].dataType.simpleString()
    schema = f"partition string, epoch {kind}, is_tick boolean, number long, row long, kind int, watermark_ms long"
    in_order = steps.repartition("partition").sortWithinPartitions("partition", "epoch")
    mains = frozenset([None] if has_main else [])
    run = partial(_changed, pipeline.watermark, frozenset(declared_labels(pipeline)), mains)
    return in_order.mapInArrow(run, schema)


class _Step(NamedTuple):
    """A row or, without event time, a tick, as a partition's generator sees it."""

    partition: str | None
    clock_us: int
    ts_ms: int | None
    row: dict[str, Any] | None


def _changed(
    declared: Watermark, labels: frozenset[str], mains: frozenset[None], batches: Iterable[RecordBatch]
) -> Iterator[RecordBatch]:
    """Run the generators of the partitions in `batches`, in which each partition is one contiguous run of rows."""
    import pyarrow as pa

    alone: PartitionRunner | None = None
    partition, number = None, 0
    for batch in batches:
        recorded: list[tuple[int, _Step, int, int, Change]] = []
        for at, step in enumerate(map(_Step._make, values(batch, _Step._fields))):
            if alone is None or step.partition != partition:
                partition, number = step.partition, 0
                new = partial(generator, declared)
                alone = PartitionRunner(new, declared=partition in labels, is_main=partition in mains)
            if step.ts_ms is None or step.row is None:
                changes = alone.on_periodic_emit(step.clock_us)
            else:
                changes = alone.on_event(step.row, step.ts_ms, step.clock_us)
            recorded += [(at, step, number + i, number, change) for i, change in enumerate(changes)]
            number += len(changes)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([step.partition for _, step, *_ in recorded], pa.string()),
                batch.column("epoch").take(pa.array([at for at, *_ in recorded], pa.int64())),
                pa.array([step.ts_ms is None for _, step, *_ in recorded], pa.bool_()),
                pa.array([place for _, _, place, _, _ in recorded], pa.int64()),
                pa.array([row for *_, row, _ in recorded], pa.int64()),
                pa.array([int(change.kind) for *_, change in recorded], pa.int32()),
                pa.array([change.watermark for *_, change in recorded], pa.int64()),
            ],
            names=["partition", "epoch", "is_tick", "number", "row", "kind", "watermark_ms"],
        )


def values(batch: RecordBatch, names: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the values of these columns, row by row."""
    return zip(*(batch.column(name).to_pylist(maps_as_pydicts="strict") for name in names), strict=True)
