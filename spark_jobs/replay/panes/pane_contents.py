"""Pane contents: the rows in each pane, for any trigger and accumulation mode.

Law: the firings of a (key, window) are numbered by slots, long integers in firing order. A row has the slot of the
first firing that shows it. The pane of slot s then contains

    accumulating   the rows whose slot is at most s
    discarding     the rows whose slot is s

Aggregates that can be continued are states by slot, merged along the slots; others are computed again from the rows.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.panes import aggregates
from spark_jobs.replay.panes.aggregates import ROW_COUNT, aggregate_column, aggregated
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import timestamps, window_assigners
from spark_jobs.replay.rows.keys import key_columns
from spark_jobs.replay.rows.quoting import quoted

SLOT = c.PREFIX + "slot"
SHOWN_CLOCK, SHOWN_WATERMARK = c.PREFIX + "shown_us", c.PREFIX + "shown_ms"  # of a slot: the greatest value of its rows
NEW_ROWS = c.PREFIX + "new_rows"  # of a slot: the number of its rows

_OF = c.PREFIX + "of_"
_LATEST = c.PREFIX + "latest"


def of_slots(slotted: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the pane of each slot: key columns, `WINDOW_MS`, `SLOT`, aggregates and `ROW_COUNT`.

    `slotted` are the source's columns of rows, once for each window, with `WINDOW_MS`, `SLOT`, `SHOWN_CLOCK` and
    `SHOWN_WATERMARK`. The result also has `NEW_ROWS`, and the greatest `SHOWN_CLOCK` and `SHOWN_WATERMARK` of the slot.
    """
    by_slot = [*key_columns(pipeline), F.col(c.WINDOW_MS), F.col(SLOT)]
    own = [F.max(name).alias(name) for name in (SHOWN_CLOCK, SHOWN_WATERMARK)]
    own.append(F.count("*").alias(NEW_ROWS))
    if pipeline.windows.discards:
        return slotted.groupBy(*by_slot).agg(*aggregated(pipeline), *own)
    going_on = aggregates.continued(slotted, pipeline)
    if going_on is None:
        return _recomputed(slotted, slotted.groupBy(*by_slot).agg(*own), pipeline)
    parts = aggregates.state_parts(going_on)
    states = [part.at_once.alias(name) for name, part in parts.items()]
    steps = slotted.groupBy(*by_slot).agg(*states, *own)
    so_far = of_window(pipeline).orderBy(SLOT).rowsBetween(Window.unboundedPreceding, 0)
    merged = {name: part.merge(F.col(name)).over(so_far) for name, part in parts.items()}
    running = steps.withColumns({**merged, ROW_COUNT: F.sum(NEW_ROWS).over(so_far)})
    return running.withColumns(aggregates.finished(going_on)).drop(*parts)


def of_window(pipeline: Pipeline) -> WindowSpec:
    """Return the partitions by (key, window)."""
    return Window.partitionBy(*key_columns(pipeline), c.WINDOW_MS)


def _recomputed(slotted: DataFrame, slots: DataFrame, pipeline: Pipeline) -> DataFrame:
    names = [*pipeline.windows.key, c.WINDOW_MS]
    other = {name: f"{_OF}{i}" for i, name in enumerate(names)}
    of_slot_columns = (SHOWN_CLOCK, SHOWN_WATERMARK)
    until = slots.withColumnsRenamed({**other, SLOT: _OF + "slot"})
    same = [F.col(quoted(name)).eqNullSafe(F.col(of)) for name, of in other.items()]
    pairs = slotted.drop(*of_slot_columns).join(until, [*same, F.col(SLOT) <= F.col(_OF + "slot")])
    of_slot = [F.col(of).alias(name) for name, of in other.items()]
    grouped = [F.col(_OF + "slot").alias(SLOT), *map(F.col, (*of_slot_columns, NEW_ROWS))]
    return pairs.drop(SLOT).groupBy(*of_slot, *grouped).agg(*aggregated(pipeline))


def panes(
    fired: DataFrame, index: Column, timing: Column, fired_us: Column, watermark: Column, pipeline: Pipeline
) -> DataFrame:
    """Return the columns of `panes`, in their order.

    `fired` is `of_slots`, once for each firing; `watermark` is a TIMESTAMP.
    """
    start = F.col(c.WINDOW_MS)
    return fired.select(
        *key_columns(pipeline),
        timestamps.from_millis(start).alias("window_start"),
        timestamps.from_millis(window_assigners.end_ms(start, pipeline.windows)).alias("window_end"),
        index.cast("int").alias("pane_index"),
        timing.alias("timing"),
        F.timestamp_micros(fired_us).alias("fired_at"),
        watermark.alias("watermark"),
        *(F.col(aggregate_column(a.name)).alias(a.name) for a in pipeline.windows.aggregates),
        F.col(ROW_COUNT).alias("row_count"),
    )


def window_results(panes: DataFrame, too_late: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the latest pane of every (key, window) that fired: the columns of `window_results`.

    `panes` are all panes, `too_late` is `window_slices.too_late_counts`.
    """
    values = ["window_end", *(a.name for a in pipeline.windows.aggregates), "row_count", "fired_at"]
    group = [*key_columns(pipeline), F.col("window_start")]
    start = timestamps.from_millis(F.col(c.WINDOW_MS)).alias("window_start")
    numbered = panes.select(*group, "pane_index", F.struct(*(F.col(quoted(v)) for v in values)).alias(_LATEST))
    together = numbered.unionByName(
        too_late.select(*key_columns(pipeline), start, "too_late_count"), allowMissingColumns=True
    ).groupBy(*group)
    latest = together.agg(
        F.max_by(_LATEST, "pane_index").alias(_LATEST),
        (F.max("pane_index") + 1).alias("pane_count"),
        F.coalesce(F.sum("too_late_count"), F.lit(0)).cast("long").alias("too_late_count"),
    ).where("pane_count is not null")
    value = {v: F.col(_LATEST).getField(v).alias(v) for v in values}
    return latest.select(
        *group,
        value["window_end"],
        *(value[a.name] for a in pipeline.windows.aggregates),
        "pane_count",
        value["row_count"],
        "too_late_count",
        value["fired_at"].alias("last_fired_at"),
    )
