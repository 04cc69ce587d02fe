"""Compare answers: the results of another way beside Tidemark's, and the rows that are in no result.

Rows are `key, start, end, events`. A result is a (key, window) or a pair. Only Tidemark has the `missing` results, only
the other way has the `extra` ones, and `differing` results count other rows. Rows in no result were dropped, or their
windows were never given out. A table names the `reported` ones of them. In sliding windows and in pairs an event is in
several results or in none: `in_no_result` is None for them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.benchmarks.shapes import Shape
from tests.benchmarks.ways import WAYS

_RESULT = ["key", "start", "end"]
#: The ways of Tidemark; the first that ran is the base of the comparison.
_OURS = ("whole", "ours")


@dataclass(frozen=True)
class Answer:
    """The results of one way, compared with Tidemark's."""

    results: int
    rows_counted: int
    missing: int
    extra: int
    differing: int
    in_no_result: int | None
    reported: int


def answers(spark: SparkSession, lake: Path, events: int, shape: Shape = Shape.TUMBLING) -> dict[str, dict[str, int]]:
    """Compare every way that has left its results in `lake`."""
    base = next(name for name in _OURS if (lake / name).exists())
    ours = WAYS[base].results(spark, lake / base, shape).cache()
    counted_once = events if shape in (Shape.TUMBLING, Shape.SESSION) else None
    answers_by_way = {}
    for name, way in WAYS.items():
        out = lake / name
        if out.exists():
            reported = way.reported(spark, out)
            answers_by_way[name] = asdict(
                answer(way.results(spark, out, shape), ours, events=counted_once, reported=reported)
            )
    return answers_by_way


def answer(results: DataFrame, ours: DataFrame, *, events: int | None, reported: int) -> Answer:
    """Compare `results` with `ours`, which came of the same number of `events`."""
    our_rows = ours.select(*_RESULT, F.col("events").alias("told"))
    way_rows = results.select(*_RESULT, F.col("events").alias("said"))
    side_by_side = our_rows.join(way_rows, _RESULT, "full")
    counts = side_by_side.agg(
        F.count("said").alias("results"),
        F.coalesce(F.sum("said"), F.lit(0)).alias("rows_counted"),
        F.count_if(F.col("said").isNull()).alias("missing"),
        F.count_if(F.col("told").isNull()).alias("extra"),
        F.count_if(F.col("said") != F.col("told")).alias("differing"),
    ).collect()[0]
    totals = counts.asDict()
    in_no_result = None if events is None else events - totals["rows_counted"]
    return Answer(**totals, in_no_result=in_no_result, reported=reported)
