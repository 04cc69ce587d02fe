"""The window calendar: for each window the emission that fires it and the emission that ends its state.

Law (first passage, semantics page B4): with `F_p(T)` the first epoch of partition p whose candidate reaches T,

    F(T) = min { k : F_p(T) <= k for every partition p that exists at k, and one does }

and the watermark before a row is >= T iff `epoch(row) > F(T)`. Fires at F(last), closes at F(last + lateness). A
row a window, whatever the number of keys and events; no sort of events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import EmitKind, EndOfInput, Pipeline
from spark_jobs.replay import arrival_order, watermark, windows
from spark_jobs.replay.census import CLOSE_CELL, FIRE_CELL, moving


def calendar(groups: DataFrame, rows: DataFrame, pipeline: Pipeline, *, until_us: int | None = None) -> DataFrame:
    """The calendar of all windows that hold a valid, kept row, and of the one before each such row that has none.

    `groups` is the census, `rows` the prepared rows with epoch. A row of the result is a window: `window_ms`; `holds`
    (whether it is one of the former);
    `fires_epoch`, `closes_epoch` (null: not before the input ends); `fires_us`, `closes_us` (clock of those emissions,
    the end of the input included; null: still open); `watermark_ms` after the firing emission (null: MAX, or not
    fired); `partition_watermarks` at the firing emission.
    """
    moves = moving(groups, pipeline)
    cells = {"fires_epoch": F.col(FIRE_CELL), "closes_epoch": F.col(CLOSE_CELL)}
    passed = passages(groups, pipeline, cells, until_us=until_us).localCheckpoint()
    emissions = passed.where("fires_epoch is not null").select(F.col("fires_epoch").alias("epoch")).distinct()
    points = watermark.points_after(emissions, pipeline)
    reached = watermark.combined(points, moves, rows, pipeline).withColumnRenamed("epoch", "fires_epoch")
    end = moves.agg(F.coalesce(F.lit(until_us).cast("long"), F.max("last_clock_us")).alias("end_us"))
    joined = passed.join(reached, "fires_epoch", "left").crossJoin(F.broadcast(end))
    clocked = _clocked(joined, moves, pipeline)
    ends = F.col("end_us") if pipeline.replay.end_of_input is EndOfInput.CLOSE else F.lit(None).cast("long")
    return clocked.select(
        "window_ms",
        "holds",
        "fires_epoch",
        "closes_epoch",
        F.coalesce("fires_us", ends).alias("fires_us"),
        F.coalesce("closes_us", ends).alias("closes_us"),
        "watermark_ms",
        "partition_watermarks",
    )


def passages(
    groups: DataFrame, pipeline: Pipeline, cells: Mapping[str, Column], *, until_us: int | None = None
) -> DataFrame:
    """`window_ms`, `holds`, and for each of `cells` under its name the epoch that passes the window; null if none does.

    A cell says of a census group which window is the latest that it passes.
    """
    moves = moving(groups, pipeline)
    asked = _asked(groups.where(F.col("reason").isNull() & F.col("kept")), pipeline)
    thresholds = F.array(
        *(F.struct(F.lit(i).alias("threshold"), c.alias("window_ms")) for i, c in enumerate(cells.values()))
    )
    first_of_cell = (
        moves.select("partition", "first_epoch", F.explode(thresholds).alias("cell"))
        .groupBy("partition", "cell.threshold", "cell.window_ms")
        .agg(F.min("first_epoch").alias("epoch"))
    )
    everyone = watermark.partitions(moves, pipeline)
    wanted = (
        asked.crossJoin(F.broadcast(everyone))
        .withColumn("threshold", F.explode(F.array(*map(F.lit, range(len(cells))))))
        .withColumn("asked", F.lit(True))
    )
    newest_first = (
        Window.partitionBy("partition", "threshold")
        .orderBy(F.col("window_ms").desc(), F.col("asked").asc_nulls_first())
        .rowsBetween(Window.unboundedPreceding, 0)
    )
    alone = (
        first_of_cell.unionByName(wanted, allowMissingColumns=True)
        .withColumn("joined", F.min("epoch").over(Window.partitionBy("partition")))
        .withColumn("reached", F.min("epoch").over(newest_first))
        .where("asked")
    )
    # Declared partitions first, then in the order of joining: a prefix of this order is what exists at some time.
    joining = Window.partitionBy("window_ms", "threshold").orderBy(F.col("declared").desc(), "joined", "partition")
    so_far = joining.rowsBetween(Window.unboundedPreceding, 0)
    together = (
        alone.withColumn("all_reached", F.max("reached").over(so_far))
        .withColumn("missing", F.max(F.col("reached").isNull()).over(so_far))
        .withColumn("next_declared", F.lead("declared").over(joining))
        .withColumn("next_joined", F.lead("joined").over(joining))
    )
    last_of_its_time = F.col("next_declared").isNull() | (
        ~F.col("next_declared") & (F.col("all_reached") < F.col("next_joined"))
    )
    passes = ~F.col("missing") & last_of_its_time
    passed = {
        name: F.min(F.when(passes & (F.col("threshold") == i), F.col("all_reached"))) for i, name in enumerate(cells)
    }
    held = F.max("holds").alias("holds")
    found = together.groupBy("window_ms").agg(held, *(epoch.alias(name) for name, epoch in passed.items()))
    return _emitted(found, list(cells), moves, pipeline, until_us)


def _asked(groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The windows of the groups' slices, each once: `window_ms, holds`; of a slice without windows the one before."""
    spec = pipeline.windows
    if not windows.overlap(spec):
        return groups.select("window_ms", F.lit(True).alias("holds")).distinct()
    slices = groups.select("slice_ms", "window_ms").distinct()
    # In the order of slices neither the oldest nor the newest window goes back: each adds what is behind the last.
    before = Window.partitionBy(F.lit(0)).orderBy("slice_ms")
    oldest, newest = windows.oldest_ms(F.col("slice_ms"), spec), F.col("window_ms")
    added = F.greatest(F.least(oldest, newest), F.lag("window_ms").over(before) + F.lit(spec.period_ms))
    return (
        slices.select(newest, (oldest <= newest).alias("holds"), added.alias("added"))
        .where("added <= window_ms")
        .select(F.explode(windows.starts_ms(F.col("added"), newest, spec)).alias("window_ms"), "holds")
    )


def _emitted(
    passed: DataFrame, names: Sequence[str], moves: DataFrame, pipeline: Pipeline, until_us: int | None
) -> DataFrame:
    """Without the epochs whose emission does not happen before the input ends (B3)."""
    emit = pipeline.watermark.emit
    if emit.kind is EmitKind.PER_EVENT:
        return passed
    if emit.kind is EmitKind.EVERY_N:
        complete = F.call_function("div", F.sum("row_count"), F.lit(emit.n)) - F.lit(1)
        last = moves.agg(complete.alias("last_emitted"))
    else:
        # No tick follows the last row, unless the clock is known to have gone on.
        until = F.lit(None).cast("long") if until_us is None else arrival_order.every(F.lit(until_us), pipeline)
        last = moves.agg((F.greatest(F.max("bucket"), until) - F.lit(1)).alias("last_emitted"))
    happened = {name: F.when(F.col(name) <= F.col("last_emitted"), F.col(name)) for name in names}
    return passed.crossJoin(F.broadcast(last)).withColumns(happened).drop("last_emitted")


def _clocked(windows: DataFrame, moves: DataFrame, pipeline: Pipeline) -> DataFrame:
    """With the clock of the firing and the closing emission."""
    emit = pipeline.watermark.emit
    if emit.kind is EmitKind.EVERY_N:
        ends = moves.groupBy(F.col("bucket").alias("epoch")).agg(F.max("last_clock_us").alias("clock_us"))
        fires = ends.select(F.col("epoch").alias("fires_epoch"), F.col("clock_us").alias("fires_us"))
        closes = ends.select(F.col("epoch").alias("closes_epoch"), F.col("clock_us").alias("closes_us"))
        return windows.join(fires, "fires_epoch", "left").join(closes, "closes_epoch", "left")

    def clock(epoch: Column) -> Column:
        if emit.kind is EmitKind.PER_EVENT:
            return epoch.getField("clock_us")
        return arrival_order.emission_clock_us(epoch, pipeline)

    return windows.withColumns({"fires_us": clock(F.col("fires_epoch")), "closes_us": clock(F.col("closes_epoch"))})
