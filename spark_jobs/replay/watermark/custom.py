"""Generators of the user's own, run in Python workers: each partition's alone, over its rows and all ticks, in order.

Law (`partition_runner`): a partition's generator knows nothing of the others', so partitions are
run side by side, and what is kept are changes: a partition joins, its watermark rises, it falls idle or is active
again. These are few, and are merged afterwards (`merge`). Every tick is told to every partition that exists, since a
generator may count them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline, Watermark
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import declared_labels, quoted
from spark_jobs.replay.watermark.partition_runner import Change, PartitionRunner
from spark_jobs.semantics.watermark.custom import GeneratorError
from spark_jobs.semantics.watermark.strategy import generator

if TYPE_CHECKING:
    from pyarrow import RecordBatch


def fault(problem: Exception) -> str | None:
    """What a generator has done wrong in a worker, in a line; None if `problem` is something else."""
    named = f"{GeneratorError.__module__}.{GeneratorError.__qualname__}: "
    told = [line.removeprefix(named) for line in str(problem).splitlines() if line.startswith(named)]
    return told[-1] if told else None


def own_columns(rows: DataFrame) -> Column:
    """The struct of the source's columns in prepared rows: what a generator sees of a row."""
    return F.struct(*(F.col(quoted(name)) for name in rows.columns if not name.startswith(c.PREFIX)))


def changes(rows: DataFrame, row: Column, ticks: DataFrame, pipeline: Pipeline, *, has_main: bool = False) -> DataFrame:
    """What changes in each partition; with `has_main` the partition null is the source's main output.

    `rows` are the prepared rows with epoch that move the watermark, `row` is what a generator sees of them; `ticks` has
    `partition, epoch, clock_us`. A row is a change: `partition`, `epoch`, `is_tick`, `number` (its place in the
    partition), `row` (tells the rows of a partition apart), `kind` and `watermark_ms` (as in `partition_runner`).
    """
    seen = rows.select(
        F.col(c.PARTITION).alias("partition"),
        F.col(c.EPOCH).alias("epoch"),
        F.col(c.CLOCK_US).alias("clock_us"),
        F.col(c.TS_MS).alias("ts_ms"),
        row.alias("row"),
    ).unionByName(ticks.select("partition", "epoch", "clock_us"), allowMissingColumns=True)
    kind = seen.schema["epoch"].dataType.simpleString()
    schema = f"partition string, epoch {kind}, is_tick boolean, number long, row long, kind int, watermark_ms long"
    in_order = seen.repartition("partition").sortWithinPartitions("partition", "epoch")
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
    """Run the generators of the partitions in `batches`, which lie one behind the other."""
    import pyarrow as pa

    alone: PartitionRunner | None = None
    partition, number = None, 0
    for batch in batches:
        found: list[tuple[int, _Step, int, int, Change]] = []
        for at, step in enumerate(map(_Step._make, values(batch, _Step._fields))):
            if alone is None or step.partition != partition:
                partition, number = step.partition, 0
                new = partial(generator, declared)
                alone = PartitionRunner(new, declared=partition in labels, is_main=partition in mains)
            if step.ts_ms is None or step.row is None:
                said = alone.on_periodic_emit(step.clock_us)
            else:
                said = alone.on_event(step.row, step.ts_ms, step.clock_us)
            found += [(at, step, number + i, number, change) for i, change in enumerate(said)]
            number += len(said)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([step.partition for _, step, *_ in found], pa.string()),
                batch.column("epoch").take(pa.array([at for at, *_ in found], pa.int64())),
                pa.array([step.ts_ms is None for _, step, *_ in found], pa.bool_()),
                pa.array([place for _, _, place, _, _ in found], pa.int64()),
                pa.array([row for *_, row, _ in found], pa.int64()),
                pa.array([int(change.kind) for *_, change in found], pa.int32()),
                pa.array([change.watermark for *_, change in found], pa.int64()),
            ],
            names=["partition", "epoch", "is_tick", "number", "row", "kind", "watermark_ms"],
        )


def values(batch: RecordBatch, names: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    """The values of these columns, row by row."""
    return zip(*(batch.column(name).to_pylist(maps_as_pydicts="strict") for name in names), strict=True)
