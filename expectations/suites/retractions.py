"""Retractions: a pane withdrawn before another takes its place, one row a pane or retraction number of a window.

What is withdrawn is the pane as it was, at the moment of the pane that takes its place. The later pane of a session may
be that of a longer one, which has swallowed it: there it is not looked for.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations import windows
from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from spark_jobs.pipeline.model import Pipeline

_SHOWN = ("timing", "row_count", "shown")
_MOMENT = ("fired_at", "watermark")


def rows(staged: Staged) -> DataFrame:
    """`panes` and `retractions` of each number, `pane.*` and `retraction.*` what they show, `next.*` the pane after."""
    where = ("key", *windows.bounds(staged.pipeline))
    # The end of a session is one of its bounds already.
    columns = dict.fromkeys((*where, "window_end", "pane_index", *_SHOWN, *_MOMENT))
    panes, withdrawn = (rows.select(*columns) for rows in (staged.panes, staged.retractions))
    after = panes.withColumn("pane_index", F.col("pane_index") - 1)
    kinds = {"pane": panes, "retraction": withdrawn, "next": after}
    apart = [rows.withColumn("kind", F.lit(kind)) for kind, rows in kinds.items()]
    everything = apart[0].unionByName(apart[1]).unionByName(apart[2])
    names = list(dict.fromkeys((*where, "pane_index")))
    return (
        everything.groupBy(*names)
        .agg(
            *(_of(kind, F.struct(*_SHOWN, *_MOMENT)).alias(kind) for kind in kinds),
            F.count_if(F.col("kind") == "pane").alias("panes"),
            F.count_if(F.col("kind") == "retraction").alias("retractions"),
            *(() if "window_end" in where else (F.max("window_end").alias("window_end"),)),
        )
        .where("pane_index >= 0")
    )


def _of(kind: str, told: Column) -> Column:
    return F.max(F.when(F.col("kind") == kind, told))


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """The invariants of retractions, of pipelines that retract."""
    if not pipeline.windows.retracts:
        return ()
    same = " AND ".join(f"retraction.{name} <=> pane.{name}" for name in _SHOWN)
    shows = Invariant(
        "a_retraction_shows_its_pane_again",
        "A retraction has the number, the timing and the values of one pane, which is withdrawn once.",
        f"retractions = 0 OR (panes = 1 AND retractions = 1 AND {same})",
    )
    if pipeline.windows.is_session:
        return (shows,)
    moment = " AND ".join(f"retraction.{name} <=> next.{name}" for name in _MOMENT)
    comes = Invariant(
        "a_pane_is_withdrawn_when_the_next_comes",
        "A pane is withdrawn at the moment and watermark of the pane that takes its place, and only then.",
        f"CASE WHEN next IS NULL THEN retractions = 0 ELSE retractions > 0 AND {moment} END",
    )
    return (shows, comes)


SUITE = Suite(
    "retractions",
    rows,
    invariants,
    shows=("key", "window_start", "window_end", "pane_index", "pane", "retraction", "next"),
)
