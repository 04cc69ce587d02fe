"""Coverage: for each key, the windows with a result as a share of the expected windows (`quality.min_coverage`).

A key is expected in all windows from its first window to the last window of any key. So a new key lacks no windows
before its first row, but a key that falls silent lacks windows. A run over part of time counts this part only.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations import local_time
from expectations.invariant import Invariant, Suite
from expectations.staged import Staged
from spark_jobs.pipeline.model import Pipeline, Windows
from spark_jobs.pipeline.published_tables import WINDOW_RESULTS


def rows(staged: Staged) -> DataFrame:
    """Return one row for each key.

    `windows` is the number of windows with a result, `expected` the number of expected windows. `first_window` is the
    first window of the key, `last_window` the last window of all keys.
    """
    windows = staged.window_results.select("key", "window_start").distinct()
    last = windows.agg(F.max("window_start").alias("last_window"))
    own = windows.groupBy("key").agg(F.count("*").alias("windows"), F.min("window_start").alias("first_window"))
    periods = F.floor(_span_ms(staged.pipeline.windows) / F.lit(staged.pipeline.windows.period_ms))
    return own.crossJoin(F.broadcast(last)).withColumn("expected", periods + F.lit(1))


def _span_ms(windows: Windows) -> Column:
    """Return the time from `first_window` to `last_window`, by the clock of the windows."""
    if windows.are_local:
        first, last = (local_time.clock_start(name, windows) for name in ("first_window", "last_window"))
        return F.expr(f"{last} - {first}")
    return F.unix_millis("last_window") - F.unix_millis("first_window")


def invariants(pipeline: Pipeline) -> tuple[Invariant, ...]:
    """Return the invariant of coverage; none without `quality.min_coverage`."""
    least = pipeline.quality.min_coverage
    if least is None:
        return ()
    return (
        Invariant(
            "every_key_has_its_windows",
            f"From its first window on, a key has results for at least {100 * least:g} % of all windows "
            "(quality.min_coverage).",
            f"windows >= CAST({least!r} AS DOUBLE) * expected",
        ),
    )


SUITE = Suite(
    "coverage", WINDOW_RESULTS, rows, invariants, shows=("key", "windows", "expected", "first_window", "last_window")
)
