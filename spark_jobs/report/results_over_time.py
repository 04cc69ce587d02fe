"""Results over time: the numeric result columns of all keys, combined into a few hundred points.

No window is left out. Windows shorter than a day are combined by day if there are too many, then neighbours by rank.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.report.data import Combined, Series
from spark_jobs.report.reduced import grouped, stretched

RESULT_POINTS = 500
DAY_MS = 86_400_000

_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`""", re.DOTALL)
_FILTER = re.compile(r"\s*(?:filter\s*\(.*\)\s*)?", re.IGNORECASE | re.DOTALL)
_COMBINED = {
    "count": Combined.SUM,
    "count_if": Combined.SUM,
    "sum": Combined.SUM,
    "try_sum": Combined.SUM,
    "min": Combined.SMALLEST,
    "max": Combined.LARGEST,
}
_OVER: dict[Combined, Callable[[Any], Column]] = {Combined.SMALLEST: F.min, Combined.LARGEST: F.max}


def combined(expression: str) -> Combined:
    """Return how values of an aggregate are combined: counts and sums add up, extremes stay, others are averaged."""
    function, _, rest = _QUOTED.sub("", expression).partition("(")
    # sum(a) / sum(b) begins like a sum, but is no sum.
    whole = _FILTER.fullmatch(_after_call(rest)) is not None
    return _COMBINED.get(function.strip().lower(), Combined.MEAN) if whole else Combined.MEAN


def drawable(results: DataFrame, pipeline: Pipeline) -> list[tuple[str, Combined]]:
    """Return the numeric result columns, the row count first, and how the values of each are combined."""
    numeric = {f.name.lower() for f in results.schema if isinstance(f.dataType, T.NumericType)}
    aggregates = [(a.name, combined(a.expression)) for a in pipeline.windows.aggregates if a.name.lower() in numeric]
    return [("row_count", Combined.SUM), *aggregates]


def of_windows(results: DataFrame, series: Sequence[tuple[str, Combined]]) -> DataFrame:
    """Return the results of all keys by window, which the charts read several times: a row for each window.

    Columns: `start_ms, end_ms`; the sums `taken` and `counted` of row_count and too_late_count, the latter null without
    such a column; and the combined values of `series`.
    """
    window = [F.unix_millis("window_start").alias("start_ms"), F.unix_millis("window_end").alias("end_ms")]
    counted = F.sum("too_late_count") if "too_late_count" in results.columns else F.lit(None).cast("long")
    values = [part for i, (name, manner) in enumerate(series) for part in _of_window(i, name, manner)]
    return results.groupBy(*window).agg(F.sum("row_count").alias("taken"), counted.alias("counted"), *values)


def stretch(windows: DataFrame, pipeline: Pipeline) -> int:
    """Return the stretch of time that a point covers: a day, if there are too many shorter windows.

    Results of hours follow the hours of the day, and hundreds of days of that read as a block. 0: a window is a point.
    """
    if pipeline.windows.kind.has_grid and not 0 < pipeline.windows.period_ms < DAY_MS:
        return 0
    return DAY_MS if windows.count() > RESULT_POINTS else 0


def without_duplicates(series: Sequence[Series]) -> tuple[Series, ...]:
    """Return the series without those that have the values of an earlier one, which then names them."""
    different: list[Series] = []
    for candidate in series:
        same = next((i for i, other in enumerate(different) if _are_equal(other, candidate)), None)
        if same is None:
            different.append(candidate)
        else:
            different[same] = replace(different[same], same_as=(*different[same].same_as, candidate.name))
    return tuple(different)


def over_time(windows: DataFrame, series: Sequence[tuple[str, Combined]], stretch_ms: int = 0) -> DataFrame:
    """Return the results of neighbouring windows: `start_ms, end_ms, windows`, `v0`, `v1`, ... of `series`.

    The windows that start in one stretch of `stretch_ms` are a point. If there are too many points, neighbours are
    grouped by rank, not by distance: a window in another decade does not reduce the resolution.
    """
    again = [part for i, (_, manner) in enumerate(series) for part in _of_point(i, manner)]
    points = windows.drop("taken", "counted").withColumn("windows", F.lit(1).cast("long"))
    if stretch_ms:
        points = (
            stretched(points, stretch_ms).groupBy("start_ms", "end_ms").agg(F.sum("windows").alias("windows"), *again)
        )
    ends = (F.min("start_ms").alias("start_ms"), F.max("end_ms").alias("end_ms"), F.sum("windows").alias("windows"))
    points = grouped(points, "start_ms", RESULT_POINTS).groupBy("group").agg(*ends, *again)
    values = (_value(i, manner).alias(f"v{i}") for i, (_, manner) in enumerate(series))
    return points.select("start_ms", "end_ms", "windows", *values)


def _are_equal(series: Series, other: Series) -> bool:
    return (series.combined, series.values) == (other.combined, other.values)


def _of_window(index: int, name: str, manner: Combined) -> list[Column]:
    """Return the combined values of all keys; a mean as its sum and its count."""
    value = F.col(f"`{name}`").cast("double")
    together = _OVER.get(manner, F.sum)(value).alias(f"s{index}")
    return [together, F.count(value).alias(f"n{index}")] if manner is Combined.MEAN else [together]


def _of_point(index: int, manner: Combined) -> list[Column]:
    """Return the combined columns of `_of_window` for neighbouring windows."""
    together = _OVER.get(manner, F.sum)(f"s{index}").alias(f"s{index}")
    return [together, F.sum(f"n{index}").alias(f"n{index}")] if manner is Combined.MEAN else [together]


def _value(index: int, manner: Combined) -> Column:
    if manner is Combined.MEAN:
        return F.col(f"s{index}") / F.nullif(F.col(f"n{index}"), F.lit(0))
    return F.col(f"s{index}")


def _after_call(rest: str) -> str:
    """Return the text after the closing parenthesis of a call; `rest` is the text after its opening parenthesis."""
    depth = 1
    for i, character in enumerate(rest):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return rest[i + 1 :]
    return rest
