"""Panes of sessions: one for each clean component, and those of the scan for unclean components.

Law: a clean component's pane is on time and the only pane of its session. In other components, pane p contains

    accumulating   the rows whose slot lies in [first_slot, slot] of p      (also rows of panes that p continues)
    discarding     the rows with the slot of p

The state of a slot's rows enters each chain of panes (`session_scan`) at the first pane that contains the rows. Merged
along the chain, states are those of its panes. So aggregates that can be continued read each row once.

A pane is fired by a row, or when the watermark reaches its instant, by default the end of its session. With another
trigger no component is clean. `window_results` contains the panes that no later pane continues: the latest pane of each
session, without sessions that were merged into another.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.panes import aggregates, pane_columns, retractions
from spark_jobs.replay.panes.aggregates import ROW_COUNT, aggregate_column, aggregated
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import timestamps
from spark_jobs.replay.rows.keys import key_columns
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.sessions import session_scan
from spark_jobs.replay.sessions.session_components import LAST_TS_MS, UNCLEAN
from spark_jobs.replay.watermark import timeline as t

SLOT, NEXT_SLOT = c.PREFIX + "slot", c.PREFIX + "next_slot"

FIRST_SLOT, _OF = c.PREFIX + "first_slot", c.PREFIX + "of_"
_END_MS, _INDEX = c.PREFIX + "end_ms", c.PREFIX + "pane_index"
_TIMING = c.PREFIX + "timing"
_PANE = (_END_MS, _INDEX, _TIMING, t.FIRED_US, t.FIRED_WATERMARK)


def clean_panes(
    components: DataFrame, timeline: DataFrame, groups: DataFrame, pipeline: Pipeline, *, until_us: int | None = None
) -> DataFrame:
    """Return the one pane of every clean component that has fired: the columns of `panes`.

    `components` is `session_components.components`, `timeline` the stored `timeline.advances`, `groups` the census
    groups that move the watermark.
    """
    end_ms = F.col(LAST_TS_MS) + F.lit(pipeline.windows.gap_ms)
    clean = components.where(~F.col(UNCLEAN)).withColumns(
        {_END_MS: end_ms, _INDEX: F.lit(0), _TIMING: F.lit("on_time")}
    )
    fired = t.fired(clean, F.col(_END_MS) - F.lit(1), timeline, groups, pipeline, until_us=until_us)
    return _contract(fired.where(F.col(t.FIRED_US).isNotNull()), pipeline)


def firings(
    scanned: DataFrame, timeline: DataFrame, groups: DataFrame, pipeline: Pipeline, *, until_us: int | None = None
) -> DataFrame:
    """Return the panes of unclean components that have fired, without their rows.

    A row is a pane: `COMPONENT`, `SLOT`, `NEXT_SLOT`, its window, index, timing, clock and watermark. `scanned` is
    `session_scan.scanned` and should be stored.
    """
    timings = F.array(*(F.lit(timing.value) for timing in session_scan.TIMINGS))
    panes = scanned.where("first_slot is not null").select(
        F.col("component").alias(c.COMPONENT),
        F.col("slot").alias(SLOT),
        F.col("first_slot").alias(FIRST_SLOT),
        F.col("next_slot").alias(NEXT_SLOT),
        F.col("start_ms").alias(c.WINDOW_MS),
        F.col("end_ms").alias(_END_MS),
        F.col("pane_index").alias(_INDEX),
        F.get(timings, F.col("timing")).alias(_TIMING),
        "fires_ms",
        "row_us",
        "row_watermark_ms",
    )
    passed = t.fired(panes, F.col("fires_ms"), timeline, groups, pipeline, until_us=until_us)
    by_row = {t.FIRED_US: F.col("row_us"), t.FIRED_WATERMARK: timestamps.from_millis(F.col("row_watermark_ms"))}
    is_by_row = F.col("row_us").isNotNull()
    fired = passed.withColumns({n: F.when(is_by_row, v).otherwise(F.col(n)) for n, v in by_row.items()})
    return fired.where(F.col(t.FIRED_US).isNotNull()).drop("fires_ms", "row_us", "row_watermark_ms")


def scanned_panes(firings: DataFrame, ranked: DataFrame, scanned: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the panes of unclean components: columns of `panes`, and `COMPONENT`, `FIRST_SLOT`, `SLOT`, `NEXT_SLOT`.

    `ranked` is `session_scan.ranked`. Its rows are aggregated once if all aggregates can be continued, or else once for
    each pane that contains them.
    """
    slots = scanned.where("rank is not null and slot is not null").select(
        F.col("component").alias(c.COMPONENT), F.col("rank").alias(c.RANK), F.col("slot").alias(SLOT)
    )
    rows = ranked.join(slots, [c.COMPONENT, c.RANK]).drop(c.WINDOW_MS, c.WATERMARK_MS)
    going_on = None if pipeline.windows.discards else aggregates.continued(rows, pipeline)
    if going_on is None:
        panes = _from_rows(firings, rows, pipeline)
    else:
        panes = _from_states(firings, rows, scanned, going_on, pipeline)
    return _contract(panes, pipeline, c.COMPONENT, FIRST_SLOT, SLOT, NEXT_SLOT)


def _from_states(
    firings: DataFrame, rows: DataFrame, scanned: DataFrame, going_on: list[aggregates.Continued], pipeline: Pipeline
) -> DataFrame:
    """Return the firings of accumulating panes with aggregates: states of slots, merged along chains of panes."""
    at_once = aggregates.at_once(going_on)
    own = rows.groupBy(*key_columns(pipeline), c.COMPONENT, SLOT).agg(*(s.alias(name) for name, s in at_once.items()))
    entries = scanned.where("rank is null and first_slot is null").select(
        F.col("component").alias(c.COMPONENT), F.col("slot").alias(SLOT), F.col("next_slot").alias(NEXT_SLOT)
    )
    entering = own.join(entries, [c.COMPONENT, SLOT]).drop(SLOT).withColumnRenamed(NEXT_SLOT, SLOT)
    steps = own.unionByName(entering).groupBy(*key_columns(pipeline), c.COMPONENT, SLOT)
    panes = scanned.where("first_slot is not null").select(
        F.col("component").alias(c.COMPONENT), F.col("slot").alias(SLOT), F.col("first_slot").alias(FIRST_SLOT)
    )
    chained = panes.join(steps.agg(*aggregates.merged(going_on)), [c.COMPONENT, SLOT], "left")
    in_chain = Window.partitionBy(c.COMPONENT, FIRST_SLOT).orderBy(SLOT).rowsBetween(Window.unboundedPreceding, 0)
    merged = {name: part.merge(F.col(name)) for name, part in aggregates.state_parts(going_on).items()}
    merged[ROW_COUNT] = F.sum(ROW_COUNT)
    # A pane may add no row, but the first of a chain does.
    key = {name: F.first(quoted(name), ignorenulls=True) for name in pipeline.windows.key}
    running = chained.withColumns({name: column.over(in_chain) for name, column in {**key, **merged}.items()})
    finished = running.withColumns(aggregates.finished(going_on)).drop(FIRST_SLOT)
    return finished.join(firings, [c.COMPONENT, SLOT])


def _from_rows(firings: DataFrame, rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the firings with aggregates over the rows of each pane."""
    renamed = {c.COMPONENT: _OF + "component", SLOT: _OF + "slot"}
    slot, of_slot = F.col(SLOT), F.col(_OF + "slot")
    in_pane = (slot == of_slot) if pipeline.windows.discards else (slot >= F.col(FIRST_SLOT)) & (slot <= of_slot)
    pairs = rows.join(firings.withColumnsRenamed(renamed), (F.col(c.COMPONENT) == F.col(_OF + "component")) & in_pane)
    of_pane = [
        F.col(c.COMPONENT),
        of_slot.alias(SLOT),
        F.col(FIRST_SLOT),
        F.col(NEXT_SLOT),
        F.col(c.WINDOW_MS),
        *map(F.col, _PANE),
    ]
    requested = pane_columns.requested((name for name in rows.columns if not name.startswith(c.PREFIX)), pipeline)
    values = pane_columns.values(F.col(c.WINDOW_MS), F.col(_END_MS), F.col(t.FIRED_WATERMARK))
    beside = pane_columns.with_values(pairs.drop(SLOT), values, pipeline)
    return beside.groupBy(*key_columns(pipeline), *of_pane, *requested).agg(*aggregated(pipeline))


def latest(panes: DataFrame) -> DataFrame:
    """Return the panes of `scanned_panes` that no other pane continues."""
    going_on = panes.select(F.col(c.COMPONENT).alias(_OF + "component"), F.col(SLOT).alias(_OF + "slot"))
    return panes.join(going_on, _followed(), "left_anti")


def rows_in(panes: DataFrame, scanned_rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return `scanned_rows`, the rows in `session_scan.scanned`, once for each of `panes` that contains them."""
    slot = F.col("slot")
    in_pane = slot == F.col(SLOT) if pipeline.windows.discards else (slot >= F.col(FIRST_SLOT)) & (slot <= F.col(SLOT))
    # A key column may have the name of a column of the scan.
    of_panes = panes.select(c.COMPONENT, FIRST_SLOT, SLOT)
    return scanned_rows.join(of_panes, (F.col("component") == F.col(c.COMPONENT)) & in_pane)


def retracted(scanned: DataFrame) -> DataFrame:
    """Return the retractions of `scanned_panes`: for each pane that a later, fired pane continues."""
    following = scanned.select(
        F.col(c.COMPONENT).alias(_OF + "component"),
        F.col(SLOT).alias(_OF + "slot"),
        F.struct("fired_at", "watermark").alias(_OF + "moment"),
    )
    followed = scanned.join(following, _followed())
    names = [name for name in scanned.columns if not name.startswith(c.PREFIX)]
    return retractions.withdrawn(followed, F.col(_OF + "moment"), names)


def too_late_rows(ranked: DataFrame, scanned: DataFrame) -> DataFrame:
    """Return the rows that no session accepted, as `late_events.late_events` reads them."""
    too_late = scanned.where("rank is not null and slot is null and is_late is null").select(
        F.col("component").alias(c.COMPONENT), F.col("rank").alias(c.RANK)
    )
    return ranked.join(too_late, [c.COMPONENT, c.RANK], "left_semi").withColumn(c.TOO_LATE, F.lit(True))


def window_results(clean: DataFrame, scanned: DataFrame, too_late: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the latest pane of every session: the columns of `window_results`.

    `clean` is `clean_panes`, `scanned` is `scanned_panes`, `too_late` is `too_late_rows`; the last two have few rows. A
    too late row is counted in the session that equals the row's window.
    """
    own = too_late.groupBy(
        c.COMPONENT,
        timestamps.from_millis(F.col(c.WINDOW_MS)).alias("window_start"),
        timestamps.from_millis(F.col(c.WINDOW_MS) + F.lit(pipeline.windows.gap_ms)).alias("window_end"),
    ).agg(F.count("*").alias("too_late_count"))
    counted = latest(scanned).join(own, [c.COMPONENT, "window_start", "window_end"], "left")
    none = clean.withColumn("too_late_count", F.lit(0).cast("long"))
    return _results(none, pipeline).unionByName(_results(counted, pipeline))


def _followed() -> Column:
    return (F.col(c.COMPONENT) == F.col(_OF + "component")) & (F.col(NEXT_SLOT) == F.col(_OF + "slot"))


def _results(panes: DataFrame, pipeline: Pipeline) -> DataFrame:
    return panes.select(
        *key_columns(pipeline),
        "window_start",
        "window_end",
        *(F.col(quoted(a.name)) for a in pipeline.windows.aggregates),
        (F.col("pane_index") + F.lit(1)).alias("pane_count"),
        "row_count",
        F.coalesce("too_late_count", F.lit(0)).cast("long").alias("too_late_count"),
        F.col("fired_at").alias("last_fired_at"),
    )


def _contract(panes: DataFrame, pipeline: Pipeline, *more: str) -> DataFrame:
    """The columns of `panes`, in their order, and `more`."""
    return panes.select(
        *key_columns(pipeline),
        timestamps.from_millis(F.col(c.WINDOW_MS)).alias("window_start"),
        timestamps.from_millis(F.col(_END_MS)).alias("window_end"),
        F.col(_INDEX).cast("int").alias("pane_index"),
        F.col(_TIMING).alias("timing"),
        F.timestamp_micros(t.FIRED_US).alias("fired_at"),
        F.col(t.FIRED_WATERMARK).alias("watermark"),
        *(F.col(aggregate_column(a.name)).alias(a.name) for a in pipeline.windows.aggregates),
        F.col(ROW_COUNT).alias("row_count"),
        *more,
    )
