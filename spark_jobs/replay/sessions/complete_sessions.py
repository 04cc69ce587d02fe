"""Complete sessions: components with all of their rows, and beside each the sessions that the job has fired of them.

Law (semantics page, B6; `semantics.panes.complete_results`): a component is a complete session, `[first ts, last ts +
gap)`, and every faithful session is made of rows of one component and lies in it. A clean component is its own faithful
session; of the others the scan has told which panes there are. Columns are those of `complete`, but `faithful` is an
array: the results that lie in the session, by start, each with its bounds; null where there is none.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.panes import complete_results, pane_columns
from spark_jobs.replay.panes.complete_results import FAITHFUL, SHOWN_ROWS
from spark_jobs.replay.panes.triggers import Fire
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import keys, timestamps
from spark_jobs.replay.rows.keys import key_columns
from spark_jobs.replay.rows.prepare import source_columns
from spark_jobs.replay.sessions import session_components, session_panes
from spark_jobs.replay.sessions.session_components import LAST_TS_MS, UNCLEAN
from spark_jobs.replay.watermark.timeline import FIRED_US

_BOUNDS = ("window_start", "window_end")


def results(
    rows: DataFrame,
    components: DataFrame,
    unclean: DataFrame,
    scanned: DataFrame,
    fire: Fire,
    pipeline: Pipeline,
) -> DataFrame:
    """The complete sessions that the watermark has passed.

    `rows` are prepared and fill windows, `components` is `session_components.components`, `unclean` is
    `session_components.unclean`, `scanned` is `session_panes.scanned_panes`, `fire` is `triggers.by_timeline`.
    """
    if pane_columns.asked(source_columns(rows), pipeline):
        components = session_components.retold(rows, pipeline)
    end_ms = F.col(LAST_TS_MS) + F.lit(pipeline.windows.gap_ms)
    passed = fire(components, end_ms - F.lit(1)).where(F.col(FIRED_US).isNotNull())
    told = passed.select(
        *key_columns(pipeline),
        c.WINDOW_MS,
        UNCLEAN,
        timestamps.from_millis(F.col(c.WINDOW_MS)).alias("window_start"),
        timestamps.from_millis(end_ms).alias("window_end"),
        *complete_results.named(pipeline),
    )
    itself = {FAITHFUL: F.array(complete_results.faithful(pipeline, *_BOUNDS)), SHOWN_ROWS: F.col("row_count")}
    clean = told.where(~F.col(UNCLEAN)).withColumns(itself)
    numbered = keys.beside(told.where(UNCLEAN), unclean.drop(LAST_TS_MS), [*pipeline.windows.key, c.WINDOW_MS])
    others = numbered.join(_shown(scanned, pipeline), c.COMPONENT, "left")
    return complete_results.contract(clean, pipeline).unionByName(complete_results.contract(others, pipeline))


def _shown(scanned: DataFrame, pipeline: Pipeline) -> DataFrame:
    """What is shown of each unclean component: `COMPONENT`, `FAITHFUL`, `SHOWN_ROWS`."""
    latest = session_panes.latest(scanned)
    told = F.collect_list(complete_results.faithful(pipeline, *_BOUNDS))
    if not pipeline.windows.discards:
        return latest.groupBy(c.COMPONENT).agg(by_start(told).alias(FAITHFUL), F.sum("row_count").alias(SHOWN_ROWS))
    rows = scanned.groupBy(c.COMPONENT).agg(F.sum("row_count").alias(SHOWN_ROWS))
    return latest.groupBy(c.COMPONENT).agg(by_start(told).alias(FAITHFUL)).join(rows, c.COMPONENT)


def by_start(results: Column) -> Column:
    """An array of results in the order of their bounds; they may hold what has no order, such as maps."""

    def order(first: Column, second: Column) -> Column:
        differences = [F.unix_micros(first[name]) - F.unix_micros(second[name]) for name in _BOUNDS]
        told = [F.signum(difference).cast("int") for difference in differences]
        return F.when(told[0] != 0, told[0]).otherwise(told[1])

    return F.array_sort(results, order)
