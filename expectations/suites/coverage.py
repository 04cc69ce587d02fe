"""Coverage: of each key the windows that have a result, and those that should have one (`quality.min_coverage`).

They should from the first window of the key on to the last window of any: a key that appears is new, and one that falls
silent lacks windows. A run over part of time sees that part alone.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from spark_jobs.pipeline.model import Pipeline


def rows(staged: Staged) -> DataFrame:
    """One row a key: `windows` (with a result), `first_window`, `last_window` of all keys, `expected`."""
    told = staged.window_results.select("key", "window_start").distinct()
    last = told.agg(F.max("window_start").alias("last_window"))
    own = told.groupBy("key").agg(F.count("*").alias("windows"), F.min("window_start").alias("first_window"))
    span_ms = F.unix_millis("last_window") - F.unix_millis("first_window")
    periods = F.floor(span_ms / F.lit(staged.pipeline.windows.period_ms))
    return own.crossJoin(F.broadcast(last)).withColumn("expected", periods + F.lit(1))


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """The invariant of coverage; none where no share is asked for."""
    least = pipeline.quality.min_coverage
    if least is None:
        return ()
    return (
        Invariant(
            "every_key_has_its_windows",
            f"From its first window on, a key has results of at least {100 * least:g} % of all windows "
            "(quality.min_coverage).",
            f"windows >= CAST({least!r} AS DOUBLE) * expected",
        ),
    )


SUITE = Suite("coverage", rows, invariants, shows=("key", "windows", "expected", "first_window", "last_window"))
