"""Complete results: the aggregates over all rows of a window, as if no row were too late, and the missed rows.

Law (`semantics.panes.complete_results`): every window that the watermark has passed has the aggregates over
all of its rows; `missed_rows` of them are in no pane. If windows wait for their end and panes contain all rows so far,
a result lacks exactly the rows that its window has dropped. Then only windows that have dropped rows are aggregated
again; the other windows copy their results.

Columns: the key, `window_start`, `window_end`, the aggregates, `row_count`, `missed_rows`, `is_shown`, `faithful`. The
last is a struct of the aggregates and `row_count` in `window_results`; null without a result. Sessions:
`complete_sessions`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.panes import aggregates, pane_columns, per_epoch
from spark_jobs.replay.panes.aggregates import ROW_COUNT, aggregate_column, aggregated
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import keys, timestamps, window_assigners
from spark_jobs.replay.rows.keys import key_columns
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.windows import window_slices

FAITHFUL = c.PREFIX + "faithful"  # the window's row of `window_results`; null: none
SHOWN_ROWS = c.PREFIX + "shown_rows"  # number of the window's rows that a pane shows; null: none

# If more windows than this have dropped rows, all windows are aggregated again.
_FEW = 200_000


def results_lack_only_dropped_rows(columns: Sequence[str], pipeline: Pipeline) -> bool:
    """Return whether the result of a window without dropped rows is complete; `columns` are the source's.

    False where late rows may wait to be fired together. False where an aggregate uses the watermark: in a complete
    result it is the end of the input.
    """
    fires_all = pipeline.windows.trigger.is_default and not per_epoch.gathers(pipeline)
    holds_all = fires_all and not pipeline.windows.discards
    return holds_all and "watermark" not in pane_columns.requested(columns, pipeline)


def dropping(late_rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the distinct windows that have dropped a row of `late_events.late_rows`: the key, `WINDOW_MS`."""
    return window_slices.dropped_pairs(late_rows, pipeline).select(*key_columns(pipeline), c.WINDOW_MS).distinct()


def of_dropping(
    rows: DataFrame, dropping: DataFrame, results: DataFrame, calendar: DataFrame, pipeline: Pipeline
) -> DataFrame:
    """Return the complete results as `of_all`, where results lack dropped rows only.

    `dropping` should be stored: a small job counts its rows first.
    """
    count = dropping.count()
    if count > _FEW:
        return of_all(rows, results, None, calendar, pipeline)
    key, names = pipeline.windows.key, [*pipeline.windows.key, "window_start"]
    starts = dropping.withColumn("window_start", timestamps.from_millis(F.col(c.WINDOW_MS)))
    unchanged = keys.among(results, starts, names, are=False) if count else results
    copied = contract(unchanged.withColumns({FAITHFUL: faithful(pipeline), SHOWN_ROWS: F.col("row_count")}), pipeline)
    if not count:
        return copied
    pairs = keys.among(window_slices.pairs(rows, pipeline), dropping, [*key, c.WINDOW_MS])
    again = _of_passed(_of_pairs(pairs, pipeline), calendar, pipeline)
    fired = _fired(keys.among(results, starts, names), None, pipeline)
    return contract(keys.beside(again, fired, names), pipeline).unionByName(copied)


def of_all(
    rows: DataFrame, results: DataFrame, panes: DataFrame | None, calendar: DataFrame, pipeline: Pipeline
) -> DataFrame:
    """Return the complete results of tumbling or sliding windows, each aggregated over all of its rows.

    `rows` are prepared and fill windows; they need no epoch. `results` are the contract's `window_results`, `panes`
    all panes if a result does not contain all rows so far. `calendar` has the windows of the rows.
    """
    names = [*pipeline.windows.key, "window_start"]
    complete = _of_passed(_aggregated(rows, pipeline), calendar, pipeline)
    return contract(keys.beside(complete, _fired(results, panes, pipeline), names), pipeline)


def faithful(pipeline: Pipeline, *bounds: str) -> Column:
    """Return the struct of the column `faithful` from a result; `bounds` are further columns of the struct."""
    return F.struct(*bounds, *(F.col(quoted(a.name)) for a in pipeline.windows.aggregates), F.col("row_count"))


def named(pipeline: Pipeline) -> list[Column]:
    """Return the aggregates and `row_count` under their declared names, from their working names."""
    results = (F.col(aggregate_column(a.name)).alias(a.name) for a in pipeline.windows.aggregates)
    return [*results, F.col(ROW_COUNT).alias("row_count")]


def contract(complete: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the columns of `complete_results`, in their order.

    `complete` has the columns up to `row_count`, `FAITHFUL` and `SHOWN_ROWS`.
    """
    return complete.select(
        *key_columns(pipeline),
        "window_start",
        "window_end",
        *(F.col(quoted(a.name)) for a in pipeline.windows.aggregates),
        "row_count",
        (F.col("row_count") - F.coalesce(SHOWN_ROWS, F.lit(0))).cast("long").alias("missed_rows"),
        F.col(FAITHFUL).isNotNull().alias("is_shown"),
        F.col(FAITHFUL).alias("faithful"),
    )


def totals(complete: DataFrame) -> DataFrame:
    """Return totals in one row: `windows`, and of these `lacking` a row and `not_shown`; the rows `missed`.

    `complete` are complete results.
    """
    return complete.agg(
        F.count("*").alias("windows"),
        F.count_if(F.col("missed_rows") > 0).alias("lacking"),
        F.count_if(~F.col("is_shown")).alias("not_shown"),
        F.coalesce(F.sum("missed_rows"), F.lit(0)).alias("missed"),
    )


def _aggregated(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the aggregates over all rows of each (key, window): key columns, `WINDOW_MS`, working names."""
    going_on = aggregates.continued(rows, pipeline)
    if going_on is None or not pipeline.windows.is_sliding:
        return _of_pairs(window_slices.pairs(rows, pipeline), pipeline)
    states = window_slices.states(rows, aggregates.at_once(going_on), pipeline)
    merged = states.groupBy(*key_columns(pipeline), c.WINDOW_MS).agg(*aggregates.merged(going_on))
    return merged.withColumns(aggregates.finished(going_on))


def _of_pairs(pairs: DataFrame, pipeline: Pipeline) -> DataFrame:
    requested = pane_columns.requested(pairs.columns, pipeline)
    values = pane_columns.values(
        F.col(c.WINDOW_MS), window_assigners.end_ms(F.col(c.WINDOW_MS), pipeline.windows), timestamps.end_of_input()
    )
    with_values = pane_columns.with_values(pairs, values, pipeline)
    grouped = with_values.groupBy(*key_columns(pipeline), c.WINDOW_MS, *requested)
    return grouped.agg(*aggregated(pipeline)).drop(*requested)


def _of_passed(aggregated: DataFrame, calendar: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the windows that the watermark has passed, with the published column names."""
    passed = calendar.where("fires_us is not null").select(F.col("window_ms").alias(c.WINDOW_MS))
    start = F.col(c.WINDOW_MS)
    return aggregated.join(F.broadcast(passed), c.WINDOW_MS).select(
        *key_columns(pipeline),
        timestamps.from_millis(start).alias("window_start"),
        timestamps.from_millis(window_assigners.end_ms(start, pipeline.windows)).alias("window_end"),
        *named(pipeline),
    )


def _fired(results: DataFrame, panes: DataFrame | None, pipeline: Pipeline) -> DataFrame:
    """Return what panes contain of each (key, window): the key, `window_start`, `FAITHFUL`, `SHOWN_ROWS`."""
    group = [*key_columns(pipeline), F.col("window_start")]
    if panes is None:
        return results.select(*group, faithful(pipeline).alias(FAITHFUL), F.col("row_count").alias(SHOWN_ROWS))
    rows = panes.select(*group, F.col("row_count").alias(SHOWN_ROWS))
    parts = results.select(*group, faithful(pipeline).alias(FAITHFUL)).unionByName(rows, allowMissingColumns=True)
    return parts.groupBy(*group).agg(
        F.first(FAITHFUL, ignorenulls=True).alias(FAITHFUL), F.sum(SHOWN_ROWS).alias(SHOWN_ROWS)
    )
