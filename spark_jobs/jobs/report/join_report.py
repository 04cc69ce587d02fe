"""The report of a join: its tables are converted to the tables of a pipeline with windows.

Pairs are drawn over time like results of windows: by their windows, or by stretches of event time. Late rows are drawn
at the watermark before them. A join publishes no calendar, so there is no line of the watermark. In a join by window,
late firings with pairs represent the accepted late rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.local_rows import no_rows
from spark_jobs.pipeline.durations import format_duration
from spark_jobs.pipeline.model import Join
from spark_jobs.replay.windows import watermarks_table
from spark_jobs.report import data as d

_POINTS = 500
_STRETCHES_MS = (1, 1_000, 60_000, 600_000, 3_600_000, 21_600_000, 86_400_000, 604_800_000, 2_592_000_000)
_PANES = ("window_start", "window_end", "timing", "fired_at", "watermark")
_NO_PANES = ", ".join(f"{name} {'string' if name == 'timing' else 'timestamp'}" for name in _PANES)


def as_windows(spark: SparkSession, join: Join, tables: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """Return the tables of a join with the names and columns of a pipeline with windows."""
    late, pairs = tables["late_events"], tables["pairs"]
    if not join.by_window:
        panes = no_rows(spark, _NO_PANES)
        late = late.withColumns({name: F.lit(None).cast("timestamp") for name in ("window_start", "window_end")})
        stretch = F.lit(_stretch_ms(pairs))
        start = F.unix_millis("event_time") - F.pmod(F.unix_millis("event_time"), stretch)
        windows = {"window_start": F.timestamp_millis(start), "window_end": F.timestamp_millis(start + stretch)}
        pairs = pairs.withColumns(windows)
    else:
        key = [f"`{name}`" for name in join.key[0]]
        panes = pairs.where("timing = 'late'").select(*key, *_PANES, "pane_index").distinct().select(*_PANES)
    return {
        "panes": panes,
        "watermarks": watermarks_table.empty(spark),
        "window_results": pairs.groupBy("window_start", "window_end").agg(F.count("*").alias("row_count")),
        "late_events": late,
        "invalid_events": tables["invalid_events"],
    }


def of_pairs(results: d.Results) -> d.Results:
    """Return the results with the series named `pairs`."""
    return replace(results, series=tuple(replace(series, name="pairs") for series in results.series))


def facts(join: Join) -> d.JoinFacts:
    """Return the facts of a join for its report."""
    if join.is_as_of:
        return d.JoinFacts(join.names, is_as_of=True, keeps_unmatched=join.keeps_unmatched)
    if join.lower_ms is None or join.upper_ms is None:
        return d.JoinFacts(join.names)
    lower, upper = (format_duration(bound) for bound in (join.lower_ms, join.upper_ms))
    ends = [
        name for name, inclusive in (("lower", join.lower_inclusive), ("upper", join.upper_inclusive)) if not inclusive
    ]
    exclusive = f" ({' and '.join(ends)} exclusive)" if ends else ""
    return d.JoinFacts(join.names, f"{lower} to {upper} apart{exclusive}")


def _stretch_ms(pairs: DataFrame) -> int:
    """Return the shortest round stretch that divides the time of all pairs into at most `_POINTS` stretches."""
    ends = pairs.agg(F.min("event_time").alias("first"), F.max("event_time").alias("last"))
    row = ends.select((F.unix_millis("last") - F.unix_millis("first")).alias("span_ms")).collect()[0]
    span_ms = row.span_ms or 0
    return next((ms for ms in _STRETCHES_MS if span_ms <= ms * _POINTS), _STRETCHES_MS[-1])
