"""Retractions: a pane is withdrawn before its next pane is added, one row for each pane number of a window.

A retraction has the values of the withdrawn pane, and the firing time of the next pane. The next pane of a session may
belong to a longer session that the session was merged into. So for sessions the firing time is not compared.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations import windows
from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.published_tables import PANES

_SHOWN = ("timing", "row_count", "shown")
_MOMENT = ("fired_at", "watermark")


def rows(staged: Staged) -> DataFrame:
    """Return one row for each pane number of a (key, window).

    `panes` and `retractions` are the numbers of rows. `pane.*`, `retraction.*` and `next.*` are the values of the pane,
    of its retraction and of the next pane.
    """
    place = ("key", *windows.bounds(staged.pipeline))
    # The end of a session is one of its bounds already.
    columns = dict.fromkeys((*place, "window_end", "pane_index", *_SHOWN, *_MOMENT))
    panes, withdrawn = (rows.select(*columns) for rows in (staged.panes, staged.retractions))
    after = panes.withColumn("pane_index", F.col("pane_index") - 1)
    kinds = {"pane": panes, "retraction": withdrawn, "next": after}
    apart = [rows.withColumn("kind", F.lit(kind)) for kind, rows in kinds.items()]
    everything = apart[0].unionByName(apart[1]).unionByName(apart[2])
    names = list(dict.fromkeys((*place, "pane_index")))
    return (
        everything.groupBy(*names)
        .agg(
            *(_of(kind, F.struct(*_SHOWN, *_MOMENT)).alias(kind) for kind in kinds),
            F.count_if(F.col("kind") == "pane").alias("panes"),
            F.count_if(F.col("kind") == "retraction").alias("retractions"),
            *(() if "window_end" in place else (F.max("window_end").alias("window_end"),)),
        )
        .where("pane_index >= 0")
    )


def _of(kind: str, values: Column) -> Column:
    return F.max(F.when(F.col("kind") == kind, values))


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariants of retractions; none for a pipeline that does not retract."""
    if not pipeline.windows.retracts:
        return ()
    same = " AND ".join(f"retraction.{name} <=> pane.{name}" for name in _SHOWN)
    shows = Invariant(
        "a_retraction_shows_its_pane_again",
        "A retraction has the number, timing and values of exactly one pane, which is withdrawn once.",
        f"retractions = 0 OR (panes = 1 AND retractions = 1 AND {same})",
    )
    if pipeline.windows.is_session:
        return (shows,)
    moment = " AND ".join(f"retraction.{name} <=> next.{name}" for name in _MOMENT)
    comes = Invariant(
        "a_pane_is_withdrawn_when_the_next_comes",
        "A pane is withdrawn at the firing time and watermark of the next pane, and only then.",
        f"CASE WHEN next IS NULL THEN retractions = 0 ELSE retractions > 0 AND {moment} END",
    )
    return (shows, comes)


SUITE = Suite(
    "retractions",
    PANES,
    rows,
    invariants,
    shows=("key", "window_start", "window_end", "pane_index", "pane", "retraction", "next"),
)
