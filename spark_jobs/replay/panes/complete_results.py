"""Complete results: what all rows of a window say, as if none had come too late, and what the watermark cost.

Law (`semantics.panes.complete_results`): a window that the watermark has passed is told with the aggregates over all of
its rows, `missed_rows` of which no pane shows. Where windows wait for their end and panes hold all rows so far, a
result lacks exactly the rows that its window has dropped: then windows that have dropped none say what their results
say, and only the rows of the others are aggregated again.

Columns: the key, `window_start`, `window_end`, the aggregates, `row_count`, `missed_rows`, `is_shown`, and `faithful`,
a struct of the aggregates and `row_count` of `window_results`, null where that has none. Sessions: `complete_sessions`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.panes import aggregates, pane_columns, per_epoch
from spark_jobs.replay.panes.aggregates import ROW_COUNT, aggregate_column, aggregated
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import keys, timestamps
from spark_jobs.replay.rows.keys import key_columns
from spark_jobs.replay.rows.prepare import quoted
from spark_jobs.replay.windows import window_slices

FAITHFUL = c.PREFIX + "faithful"  # what `window_results` says of a window; null: nothing
SHOWN_ROWS = c.PREFIX + "shown_rows"  # how many rows of a window panes show, each counted once; null: none

# More windows than this are not looked for among the rows: all are aggregated again.
_FEW = 200_000


def results_lack_only_dropped_rows(columns: Sequence[str], pipeline: Pipeline) -> bool:
    """Whether a window that has dropped no row has the complete result; `columns` are those of the source.

    Not so where late rows may wait to be fired together, nor where an aggregate asks for the watermark, which of a
    complete result is the end of the input.
    """
    fires_all = pipeline.windows.trigger.is_default and not per_epoch.gathers(pipeline)
    holds_all = fires_all and not pipeline.windows.discards
    return holds_all and "watermark" not in pane_columns.asked(columns, pipeline)


def dropping(late_rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The windows that have dropped a row, each once: the key, `WINDOW_MS`; `late_rows` is `late_events.late_rows`."""
    return window_slices.dropped_pairs(late_rows, pipeline).select(*key_columns(pipeline), c.WINDOW_MS).distinct()


def of_dropping(
    rows: DataFrame, dropping: DataFrame, results: DataFrame, calendar: DataFrame, pipeline: Pipeline
) -> DataFrame:
    """The complete results, where results lack dropped rows only; otherwise as `of_all`.

    `dropping` should be stored: its rows are counted first, in a small job.
    """
    count = dropping.count()
    if count > _FEW:
        return of_all(rows, results, None, calendar, pipeline)
    key, names = pipeline.windows.key, [*pipeline.windows.key, "window_start"]
    starts = dropping.withColumn("window_start", timestamps.from_millis(F.col(c.WINDOW_MS)))
    others = keys.among(results, starts, names, are=False) if count else results
    copied = contract(others.withColumns({FAITHFUL: faithful(pipeline), SHOWN_ROWS: F.col("row_count")}), pipeline)
    if not count:
        return copied
    pairs = keys.among(window_slices.pairs(rows, pipeline), dropping, [*key, c.WINDOW_MS])
    again = _told(_of_pairs(pairs, pipeline), calendar, pipeline)
    shown = _shown(keys.among(results, starts, names), None, pipeline)
    return contract(keys.beside(again, shown, names), pipeline).unionByName(copied)


def of_all(
    rows: DataFrame, results: DataFrame, panes: DataFrame | None, calendar: DataFrame, pipeline: Pipeline
) -> DataFrame:
    """The complete results of tumbling or sliding windows, every one aggregated over all of its rows.

    `rows` are prepared and fill windows; they need no epoch. `results` are the contract's `window_results`, `panes`
    those of which a result does not hold all rows so far. `calendar` has the windows that the rows have.
    """
    names = [*pipeline.windows.key, "window_start"]
    told = _told(_aggregated(rows, pipeline), calendar, pipeline)
    return contract(keys.beside(told, _shown(results, panes, pipeline), names), pipeline)


def faithful(pipeline: Pipeline, *bounds: str) -> Column:
    """What a result says, as the column `faithful` has it; `bounds` are columns that it says besides."""
    return F.struct(*bounds, *(F.col(quoted(a.name)) for a in pipeline.windows.aggregates), F.col("row_count"))


def named(pipeline: Pipeline) -> list[Column]:
    """The aggregates and `row_count` under the names that they are declared by, from their working names."""
    told = (F.col(aggregate_column(a.name)).alias(a.name) for a in pipeline.windows.aggregates)
    return [*told, F.col(ROW_COUNT).alias("row_count")]


def contract(told: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The columns of `complete_results`, in their order, of rows that have them up to `row_count`.

    And `FAITHFUL` and `SHOWN_ROWS` in place of the others.
    """
    return told.select(
        *key_columns(pipeline),
        "window_start",
        "window_end",
        *(F.col(quoted(a.name)) for a in pipeline.windows.aggregates),
        "row_count",
        (F.col("row_count") - F.coalesce(SHOWN_ROWS, F.lit(0))).cast("long").alias("missed_rows"),
        F.col(FAITHFUL).isNotNull().alias("is_shown"),
        F.col(FAITHFUL).alias("faithful"),
    )


def totals(told: DataFrame) -> DataFrame:
    """What the watermark cost, in a row: `windows`, those `lacking` a row, those `not_shown`, the rows `missed` by all.

    `told` are complete results.
    """
    return told.agg(
        F.count("*").alias("windows"),
        F.count_if(F.col("missed_rows") > 0).alias("lacking"),
        F.count_if(~F.col("is_shown")).alias("not_shown"),
        F.coalesce(F.sum("missed_rows"), F.lit(0)).alias("missed"),
    )


def _aggregated(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """All rows of each (key, window): key columns, `WINDOW_MS`, working names; overlapping windows by their slices."""
    going_on = aggregates.continued(rows, pipeline)
    if going_on is None or not pipeline.windows.is_sliding:
        return _of_pairs(window_slices.pairs(rows, pipeline), pipeline)
    states = window_slices.states(rows, aggregates.at_once(going_on), pipeline)
    merged = states.groupBy(*key_columns(pipeline), c.WINDOW_MS).agg(*aggregates.merged(going_on))
    return merged.withColumns(aggregates.finished(going_on))


def _of_pairs(pairs: DataFrame, pipeline: Pipeline) -> DataFrame:
    asked = pane_columns.asked(pairs.columns, pipeline)
    told = pane_columns.told(F.col(c.WINDOW_MS), F.lit(pipeline.windows.size_ms), timestamps.end_of_input())
    beside = pane_columns.beside(pairs, told, pipeline)
    return beside.groupBy(*key_columns(pipeline), c.WINDOW_MS, *asked).agg(*aggregated(pipeline)).drop(*asked)


def _told(aggregated: DataFrame, calendar: DataFrame, pipeline: Pipeline) -> DataFrame:
    """What the windows say that the watermark has passed, under the contract's names."""
    passed = calendar.where("fires_us is not null").select(F.col("window_ms").alias(c.WINDOW_MS))
    start = F.col(c.WINDOW_MS)
    return aggregated.join(F.broadcast(passed), c.WINDOW_MS).select(
        *key_columns(pipeline),
        timestamps.from_millis(start).alias("window_start"),
        timestamps.from_millis(start + F.lit(pipeline.windows.size_ms)).alias("window_end"),
        *named(pipeline),
    )


def _shown(results: DataFrame, panes: DataFrame | None, pipeline: Pipeline) -> DataFrame:
    """What is shown of each (key, window): the key, `window_start`, `FAITHFUL`, `SHOWN_ROWS`."""
    group = [*key_columns(pipeline), F.col("window_start")]
    if panes is None:
        return results.select(*group, faithful(pipeline).alias(FAITHFUL), F.col("row_count").alias(SHOWN_ROWS))
    rows = panes.select(*group, F.col("row_count").alias(SHOWN_ROWS))
    told = results.select(*group, faithful(pipeline).alias(FAITHFUL)).unionByName(rows, allowMissingColumns=True)
    return told.groupBy(*group).agg(
        F.first(FAITHFUL, ignorenulls=True).alias(FAITHFUL), F.sum(SHOWN_ROWS).alias(SHOWN_ROWS)
    )
