"""The window calendar: for each window the emission that fires it and the emission that ends its state.

Law (first passage, semantics B4): with `F_p(T)` the first epoch of partition p whose candidate reaches T,

    F(T) = min { k : F_p(T) <= k for every partition p that exists at k, and one does }

and the watermark before a row is >= T iff `epoch(row) > F(T)`. A window fires at F(last) and closes at
F(last + lateness). The calendar has a row a window, for any number of keys and events, without a sort of events. F is
read from

- the steps of all partitions (`staircase`), by default,
- the advances (`idle_passages`) where partitions fall idle,
- the clock (`time_lag`) under a time lag,
- the timeline (`timeline`) for custom generators.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import emission, window_assigners
from spark_jobs.replay.watermark import combined, staircase, time_lag, timeline
from spark_jobs.replay.watermark import idle_passages as idle_advances
from spark_jobs.replay.watermark.census import CLOSE_CELL, FIRE_CELL, moving


def calendar(
    groups: DataFrame,
    rows: DataFrame,
    pipeline: Pipeline,
    *,
    until_us: int | None = None,
    advances: DataFrame | None = None,
) -> DataFrame:
    """Return the calendar of all windows with a valid, kept row, and of the window before each such row without one.

    `groups` is the census, `rows` the prepared rows with epoch. `advances` is `timeline.advances` if the calendar is
    read from the timeline. A row of the result is a window:

    - `window_ms`
    - `holds`: whether the window has a valid, kept row
    - `fires_epoch`, `closes_epoch`: null if not before the input ends
    - `fires_us`, `closes_us`: clock of these emissions, the end of the input included; null while the window is open
    - `watermark_ms`: after the firing emission; null for MAX and for an open window
    - `partition_watermarks`: at the firing emission
    """
    windows = windows_of_groups(groups, pipeline)
    of_windows = entries(windows, groups, rows, pipeline, until_us=until_us, advances=advances)
    book = marked(of_windows, groups, pipeline)
    return book.select("window_ms", "holds", *(name for name in of_windows.columns if name != "window_ms"))


def entries(
    windows: DataFrame,
    groups: DataFrame,
    rows: DataFrame,
    pipeline: Pipeline,
    *,
    until_us: int | None = None,
    advances: DataFrame | None = None,
) -> DataFrame:
    """Return the entries of `windows` (`window_ms`) as in `calendar`, without `holds`."""
    moves = moving(groups, pipeline)
    if advances is None:
        clocked = _passed(windows, moves, rows, pipeline, until_us)
    else:
        clocked = read_off(windows, advances, pipeline)
    end = moves.agg(F.coalesce(F.lit(until_us).cast("long"), F.max("last_clock_us")).alias("end_us"))
    ends = F.col("end_us") if pipeline.replay.closes else F.lit(None).cast("long")
    return clocked.crossJoin(F.broadcast(end)).select(
        "window_ms",
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
    """Return `window_ms`, and under the name of each of `cells` the epoch that passes the window, or null.

    A cell is the latest window that a census group passes.
    """
    return _passages(windows_of_groups(groups, pipeline), moving(groups, pipeline), pipeline, cells, until_us)


def _passages(
    windows: DataFrame, moves: DataFrame, pipeline: Pipeline, cells: Mapping[str, Column], until_us: int | None
) -> DataFrame:
    passages_of_rows = first_passages(moves, windows, pipeline, cells)
    return emission.happened(passages_of_rows, list(cells), moves, pipeline, until_us=until_us)


def first_passages(moves: DataFrame, windows: DataFrame, pipeline: Pipeline, cells: Mapping[str, Column]) -> DataFrame:
    """Return the passages of `windows` by one source, also at emissions that do not happen before the input ends.

    `moves` are the census groups that move the watermark; the result is that of `passages`.
    """
    # Under a time lag every row moves all partitions alike.
    lagging = pipeline.watermark.follows_clock
    streams = moves.withColumn("partition", F.lit("")) if lagging else moves
    thresholds = F.array(
        *(F.struct(F.lit(i).alias("threshold"), c.alias("window_ms")) for i, c in enumerate(cells.values()))
    )
    first_of_cell = (
        streams.select("partition", "first_epoch", F.explode(thresholds).alias("cell"))
        .groupBy("partition", "cell.threshold", "cell.window_ms")
        .agg(F.min("first_epoch").alias("epoch"))
    )
    if pipeline.watermark.may_fall_idle and not lagging:
        return idle_advances.passages(windows, first_of_cell, moves, pipeline, list(cells))
    members = combined.first_epochs(streams) if lagging else combined.partitions(moves, pipeline)
    rises = first_of_cell.withColumnsRenamed({"threshold": "series", "window_ms": "value", "epoch": "at"})
    stairs = staircase.steps(rises, members.select("partition", "joined"), range(len(cells)))
    every_series = F.explode(F.array(*map(F.lit, range(len(cells))))).alias("series")
    reached = staircase.first_reaching(windows.select(F.col("window_ms").alias("value"), every_series), stairs)
    passed = {name: F.min(F.when(F.col("series") == i, F.col("at"))) for i, name in enumerate(cells)}
    return reached.groupBy(F.col("value").alias("window_ms")).agg(*(at.alias(name) for name, at in passed.items()))


def windows_of_groups(groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the distinct windows of the groups' slices, or the window before a slice without windows: `window_ms`."""
    filling = _filling(groups)
    if not pipeline.windows.is_sliding:
        return filling.select("window_ms").distinct()
    return _with_holds(filling, pipeline).select("window_ms")


def _filling(groups: DataFrame) -> DataFrame:
    """Return the groups of rows that fill windows; groups from an earlier run (`resume`) have no window."""
    return groups.where(F.col("reason").isNull() & F.col("kept") & F.col("window_ms").isNotNull())


def _passed(
    windows: DataFrame, moves: DataFrame, rows: DataFrame, pipeline: Pipeline, until_us: int | None
) -> DataFrame:
    """Return the entries by first passages; `fires_us` and `closes_us` without the end of the input."""
    if pipeline.watermark.moves_at_every_tick:
        passed = time_lag.passages(windows, moves, pipeline, until_us=until_us)
    else:
        cells = {"fires_epoch": F.col(FIRE_CELL), "closes_epoch": F.col(CLOSE_CELL)}
        passed = _passages(windows, moves, pipeline, cells, until_us)
    passed = passed.localCheckpoint()
    emissions = passed.where("fires_epoch is not null").select(F.col("fires_epoch").alias("epoch")).distinct()
    points = combined.points_after(emissions, pipeline)
    reached = combined.combined(points, moves, rows, pipeline).withColumnRenamed("epoch", "fires_epoch")
    clocks = {"fires_epoch": "fires_us", "closes_epoch": "closes_us"}
    return emission.clocked(passed.join(reached, "fires_epoch", "left"), clocks, moves, pipeline)


def read_off(windows: DataFrame, advances: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the entries of `windows` from the advances of the combined watermark."""
    start, spec = F.col("window_ms"), pipeline.windows
    fired = timeline.first_reaching(windows.withColumn("threshold_ms", window_assigners.last_ms(start, spec)), advances)
    closed = timeline.first_reaching(
        windows.withColumn("threshold_ms", window_assigners.cleanup_ms(start, spec)), advances
    )
    closes = closed.select(
        "window_ms", F.col("reached.epoch").alias("closes_epoch"), F.col("reached.clock_us").alias("closes_us")
    )
    return fired.join(closes, "window_ms").select(
        "window_ms",
        F.col("reached.epoch").alias("fires_epoch"),
        "closes_epoch",
        F.col("reached.clock_us").alias("fires_us"),
        "closes_us",
        "reached.watermark_ms",
        "reached.partition_watermarks",
    )


def marked(passed: DataFrame, groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return `passed` with `holds`: whether the window has a row."""
    if not pipeline.windows.have_gaps:
        return passed.withColumn("holds", F.lit(True))
    return passed.join(_with_holds(_filling(groups), pipeline), "window_ms")


def _with_holds(groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the windows of `windows_of_groups`, for windows that overlap or leave gaps: `window_ms, holds`."""
    spec = pipeline.windows
    slices = groups.select("slice_ms", "window_ms").distinct()
    # In the order of slices, oldest and newest windows never decrease: each slice adds the windows after the last one.
    before = Window.partitionBy(F.lit(0)).orderBy("slice_ms")
    oldest, newest = window_assigners.oldest_ms(F.col("slice_ms"), spec), F.col("window_ms")
    added = F.greatest(F.least(oldest, newest), window_assigners.next_ms(F.lag("window_ms").over(before), spec))
    return (
        slices.select(newest, (oldest <= newest).alias("holds"), added.alias("added"))
        .where("added <= window_ms")
        .select(F.explode(window_assigners.starts_ms(F.col("added"), newest, spec)).alias("window_ms"), "holds")
    )
