"""Complete sessions: components with all of their rows, and with the sessions of each component that the job fired.

Law (semantics B6; `semantics.panes.complete_results`): a component is a complete session, `[first ts, last ts + gap)`.
Every session in `window_results` consists of rows of one component and lies in it. A clean component has one such
session, which equals it. The panes of other components come from the scan.

Columns are those of `complete_results`, with one difference. `faithful` is an array of the results that lie in the
session, by start, each with its bounds; null if none does.
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
    """Return the complete sessions that the watermark has passed.

    `rows` are prepared and fill windows, `components` is `session_components.components`, `unclean` is
    `session_components.unclean`, `scanned` is `session_panes.scanned_panes`, `fire` is `triggers.by_timeline`.
    """
    if pane_columns.requested(source_columns(rows), pipeline):
        components = session_components.retold(rows, pipeline)
    end_ms = F.col(LAST_TS_MS) + F.lit(pipeline.windows.gap_ms)
    passed = fire(components, end_ms - F.lit(1)).where(F.col(FIRED_US).isNotNull())
    complete = passed.select(
        *key_columns(pipeline),
        c.WINDOW_MS,
        UNCLEAN,
        timestamps.from_millis(F.col(c.WINDOW_MS)).alias("window_start"),
        timestamps.from_millis(end_ms).alias("window_end"),
        *complete_results.named(pipeline),
    )
    itself = {FAITHFUL: F.array(complete_results.faithful(pipeline, *_BOUNDS)), SHOWN_ROWS: F.col("row_count")}
    clean = complete.where(~F.col(UNCLEAN)).withColumns(itself)
    numbered = keys.beside(complete.where(UNCLEAN), unclean.drop(LAST_TS_MS), [*pipeline.windows.key, c.WINDOW_MS])
    scanned_sessions = numbered.join(_fired(scanned, pipeline), c.COMPONENT, "left")
    return complete_results.contract(clean, pipeline).unionByName(complete_results.contract(scanned_sessions, pipeline))


def _fired(scanned: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return what panes contain of each unclean component: `COMPONENT`, `FAITHFUL`, `SHOWN_ROWS`."""
    latest = session_panes.latest(scanned)
    results = F.collect_list(complete_results.faithful(pipeline, *_BOUNDS))
    if not pipeline.windows.discards:
        return latest.groupBy(c.COMPONENT).agg(by_start(results).alias(FAITHFUL), F.sum("row_count").alias(SHOWN_ROWS))
    rows = scanned.groupBy(c.COMPONENT).agg(F.sum("row_count").alias(SHOWN_ROWS))
    return latest.groupBy(c.COMPONENT).agg(by_start(results).alias(FAITHFUL)).join(rows, c.COMPONENT)


def by_start(results: Column) -> Column:
    """Return an array of results in the order of their bounds; results may contain unordered values, such as maps."""

    def order(first: Column, second: Column) -> Column:
        differences = [F.unix_micros(first[name]) - F.unix_micros(second[name]) for name in _BOUNDS]
        signs = [F.signum(difference).cast("int") for difference in differences]
        return F.when(signs[0] != 0, signs[0]).otherwise(signs[1])

    return F.array_sort(results, order)
