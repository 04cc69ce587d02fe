"""Rounds: the clock of rows whose partitions have no common clock is that of the round in which each row is read.

Law (`semantics.watermark.rounds`): a partition reads its rows by offset, n at a time. The chunk of a row is
`div(rank, n)`, with its rank in its partition. The round that reads a chunk depends on the highest candidates of the
earlier chunks of all partitions.

Rows are numbered and aggregated by chunk. One task simulates the rounds, a step a chunk, with the alignment of
`semantics`. The round of a chunk is joined to its rows: `clock = round * update interval`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from spark_jobs.local_rows import no_rows
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import arrival_order, candidates
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.prepare import moves_watermark
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.watermark.census import is_small
from spark_jobs.semantics.rows.instants import MIN
from spark_jobs.semantics.watermark.rounds import RoundSequence, simulated

if TYPE_CHECKING:
    from pyarrow import RecordBatch

# Rows are numbered in stretches of this many offsets, side by side.
_NUMBERING_STRETCH = 65_536
_ROWS_A_BATCH = 100_000

_STRETCH, _PLACE, _CHUNK, _ROUND = (c.PREFIX + name for name in ("stretch", "place", "chunk", "round"))
_SIZE, _START = c.PREFIX + "size", c.PREFIX + "start"
_ROUNDS = f"{c.PARTITION} string, {_CHUNK} long, {_ROUND} long"
_DRIFT = "source_partition string, max_drift_ms long, paused_rounds long, rounds long"


def rounds(prepared: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the round of each chunk of each partition, a row a chunk, for `placed`; to be stored."""
    return _from_rounds(prepared, pipeline, _read, _ROUNDS)


def drift(prepared: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return `alignment.Drift` of each partition: `source_partition, max_drift_ms, paused_rounds, rounds`."""
    return _from_rounds(prepared, pipeline, _drifted, _DRIFT)


def no_drift(spark: SparkSession) -> DataFrame:
    """Return the drift of an order that has no rounds."""
    return no_rows(spark, _DRIFT)


def placed(prepared: DataFrame, rounds: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return `prepared` with the clock of each row's round; null in rows that have no position in the order.

    `rounds` should be stored: a small job counts its rows first.
    """
    read = F.broadcast(rounds) if is_small(rounds) else rounds
    clock_us = F.col(_ROUND) * F.lit(pipeline.watermark.round_ms * 1000)
    beside = _chunked(prepared, pipeline).join(read, [c.PARTITION, _CHUNK], "left")
    return beside.withColumn(c.CLOCK_US, clock_us).select(*map(quoted, prepared.columns))


def _chunked(prepared: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return `prepared` with the chunk of each row that has a position; each stretch is numbered separately."""
    counted = moves_watermark(pipeline)
    # As a double: it may round, but never goes back from an offset to a later one.
    stretch = F.floor(F.col(c.OFFSET) / F.lit(_NUMBERING_STRETCH))
    place = F.struct(c.OFFSET, *arrival_order.ties(prepared, pipeline))
    marked = prepared.withColumns({_STRETCH: F.when(counted, stretch), _PLACE: F.when(counted, place)})
    sizes = marked.where(counted).groupBy(c.PARTITION, _STRETCH).agg(F.count("*").alias(_SIZE))
    in_order = Window.partitionBy(c.PARTITION).orderBy(_STRETCH).rowsBetween(Window.unboundedPreceding, -1)
    starts = sizes.select(c.PARTITION, _STRETCH, F.coalesce(F.sum(_SIZE).over(in_order), F.lit(0)).alias(_START))
    within = Window.partitionBy(c.PARTITION, _STRETCH).orderBy(_PLACE)
    rank = F.col(_START) + F.row_number().over(within) - F.lit(1)
    chunk = F.call_function("div", rank, F.lit(pipeline.replay.rows_per_round))
    return marked.join(starts, [c.PARTITION, _STRETCH], "left").withColumn(_CHUNK, F.when(counted, chunk))


def _from_rounds(
    prepared: DataFrame,
    pipeline: Pipeline,
    to_rows: Callable[[RoundSequence], Iterable[tuple[object, ...]]],
    schema: str,
) -> DataFrame:
    alignment = pipeline.watermark.alignment
    rows = _chunked(prepared, pipeline).where(moves_watermark(pipeline))
    highest = F.max(candidates.without_clock(pipeline)).alias("candidate_ms")
    chunks = rows.groupBy(F.col(c.PARTITION).alias("partition"), F.col(_CHUNK).alias("chunk")).agg(highest)
    # One task: a row a chunk, not a row an event.
    in_order = chunks.repartition(1).sortWithinPartitions("partition", "chunk")
    names = [column.split()[0] for column in schema.split(", ")]
    simulate = partial(_simulate, to_rows, names, None if alignment is None else alignment.max_drift_ms)
    return in_order.mapInArrow(simulate, schema)


def _simulate(
    to_rows: Callable[[RoundSequence], Iterable[tuple[object, ...]]],
    names: Sequence[str],
    max_drift_ms: int | None,
    batches: Iterable[RecordBatch],
) -> Iterator[RecordBatch]:
    import pyarrow as pa

    chunks: dict[str, list[int]] = {}
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("partition", "candidate_ms"))
        for partition, candidate_ms in zip(*columns, strict=True):
            chunks.setdefault(partition, []).append(MIN if candidate_ms is None else candidate_ms)
    rows = list(to_rows(simulated(chunks, max_drift_ms)))
    kinds = [pa.string(), *[pa.int64()] * (len(names) - 1)]
    for first in range(0, len(rows), _ROWS_A_BATCH):
        columns_of = zip(*rows[first : first + _ROWS_A_BATCH], strict=True)
        arrays = [pa.array(column, kind) for column, kind in zip(columns_of, kinds, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=list(names))


def _read(sequence: RoundSequence) -> Iterable[tuple[object, ...]]:
    return sequence.read


def _drifted(sequence: RoundSequence) -> Iterable[tuple[object, ...]]:
    return map(astuple, sequence.drift)
