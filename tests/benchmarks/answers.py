"""How the answers differ: another way's results beside those of `ours`, and the rows that are in no result.

Rows are `key, window_start, events`; a result is a (key, window), `missing` ones only `ours` has, `extra` ones only the
other way, `differing` ones count other rows. Rows in no result were dropped, or are in windows that were never given
out; `reported` are those of them that a table names one by one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.benchmarks.ways import WAYS


@dataclass(frozen=True)
class Answer:
    """The results of one way, compared with those of `ours`."""

    results: int
    rows_counted: int
    missing: int
    extra: int
    differing: int
    in_no_result: int
    reported: int


def answers(spark: SparkSession, lake: Path, events: int) -> dict[str, dict[str, int]]:
    """Compare every way that has left its results in `lake`."""
    ours = WAYS["ours"].results(spark, lake / "ours").cache()
    answers_by_way = {}
    for name, way in WAYS.items():
        out = lake / name
        if out.exists():
            reported = way.reported(spark, out)
            answers_by_way[name] = asdict(answer(way.results(spark, out), ours, events=events, reported=reported))
    return answers_by_way


def answer(results: DataFrame, ours: DataFrame, *, events: int, reported: int) -> Answer:
    """Compare `results` with `ours`, which came of the same number of `events`."""
    our_rows = ours.select("key", "window_start", F.col("events").alias("told"))
    way_rows = results.select("key", "window_start", F.col("events").alias("said"))
    side_by_side = our_rows.join(way_rows, ["key", "window_start"], "full")
    counts = side_by_side.agg(
        F.count("said").alias("results"),
        F.coalesce(F.sum("said"), F.lit(0)).alias("rows_counted"),
        F.count_if(F.col("said").isNull()).alias("missing"),
        F.count_if(F.col("told").isNull()).alias("extra"),
        F.count_if(F.col("said") != F.col("told")).alias("differing"),
    ).collect()[0]
    totals = counts.asDict()
    return Answer(**totals, in_no_result=events - totals["rows_counted"], reported=reported)
