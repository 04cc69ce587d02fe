"""Agreement: whether results and panes of windows that fired once say the same, told of all of them together.

Most windows fire once and miss no row. Of such a window one pane and one result tell the same rows, aggregates and
moment. Put side by side one by one, all of them would be shuffled with all that they tell. Instead

    places     no two first panes are of one (key, window): a hash of 64 bits of each, grouped
    contents   a hash of 64 bits of what each pane and each result tells; how many there are on both sides, the sums of
               the lower and of the upper halves, and what remains when all are combined by exclusive or, are the same

Two panes of one window are always found. A result that differs from its pane passes only where both have one hash, a
chance of 2^-64. Where anything differs, nothing is said of these windows, and each is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from expectations import firings, windows
from expectations.hashing import hashed
from expectations.staged import Staged
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay import keys
from spark_jobs.replay.late_events import drops

_PANES_A_PIECE = 300_000
_SUMS = ("rows", "lower", "upper", "combined")


def may_be_seen(pipeline: Pipeline) -> bool:
    """Whether windows fire once by default, and each that has fired has a result: sessions may swallow others."""
    return firings.are_default(pipeline) and not windows.are_sessions(pipeline)


def of_windows_fired_once(staged: Staged) -> int | None:
    """How many windows there are besides `staged.again`, if all of them agree; None if that cannot be seen so."""
    if not staged.few_again:
        return None
    names = staged.place
    first = keys.among(staged.panes.where("pane_index = 0"), staged.again, names, are=False)
    results = keys.among(staged.window_results, staged.again, names, are=False)
    pieces = 1 + staged.counts.get("panes", 0) // _PANES_A_PIECE
    panes = _of_panes(first, pieces)
    if panes["most"] > 1:
        return None
    found = _of_results(results, staged.pipeline)
    agree = not found["strange"] and all(panes[name] == found[name] for name in _SUMS)
    return int(panes["rows"]) if agree else None


def _of_panes(first: DataFrame, pieces: int) -> dict[str, Any]:
    """The sums over the first panes; `most` is how many are in one place, more than 1 also where one is not right.

    Spread by place before they are grouped, and in many pieces: nothing comes together before, and a piece's groups
    stay in a core's own memory.
    """
    place = _hash(first, ("window_start",)).alias("place")
    weight = F.when(F.col("is_right"), 1).otherwise(2).alias("weight")
    each = _told(first, "fired_at").select(place, "content", weight).repartition(pieces, "place")
    # A place of one pane tells what that does; where there is another, nothing that is told matters.
    places = each.groupBy("place").agg(F.sum("weight").alias("weight"), F.bit_xor("content").alias("content"))
    most = F.coalesce(F.max("weight"), F.lit(0)).alias("most")
    return places.agg(most, *_sums()).collect()[0].asDict()


def _of_results(results: DataFrame, pipeline: Pipeline) -> dict[str, Any]:
    """The sums over the results; `strange` counts those that lack something, are not of one pane, or off the grid."""
    right = [F.col("pane_count") == 1, *(F.expr(law.holds) for law in windows.laws(pipeline))]
    if not drops(pipeline):
        right.append(F.col("too_late_count") == 0)
    strange = F.count_if(~F.col("is_right")).alias("strange")
    return _told(results, "last_fired_at", right).agg(strange, *_sums()).collect()[0].asDict()


def _told(rows: DataFrame, fired_at: str, right: Sequence[Column] = ()) -> DataFrame:
    """`content`, the hash of what a row tells, and `is_right`, whether nothing is null and `right` holds."""
    told = ("window_start", "window_end", "row_count", fired_at, "shown")
    holds = [*(F.col(name).isNotNull() for name in told), *right]
    is_right = F.coalesce(reduce(Column.__and__, holds), F.lit(False))
    return rows.select("key", "window_start", _hash(rows, told).alias("content"), is_right.alias("is_right"))


def _hash(rows: DataFrame, names: Sequence[str]) -> Column:
    """The hash of the key's columns, and of others."""
    key = rows.schema["key"].dataType
    of_key = [(F.col("key").getField(f.name), f.dataType) for f in key.fields] if isinstance(key, T.StructType) else []
    return hashed([*of_key, *((F.col(name), rows.schema[name].dataType) for name in names)])


def _sums() -> list[Column]:
    lower, upper = F.expr("content & 4294967295"), F.shiftrightunsigned("content", 32)
    return [
        F.count("*").alias("rows"),
        F.coalesce(F.sum(lower), F.lit(0)).alias("lower"),
        F.coalesce(F.sum(upper), F.lit(0)).alias("upper"),
        F.coalesce(F.bit_xor("content"), F.lit(0)).alias("combined"),
    ]
