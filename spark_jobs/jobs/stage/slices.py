"""The slices of a run: how its interval is cut, and the cut of an earlier attempt that is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.replay.rows import timestamps
from spark_jobs.replay.windows.slice import Slice
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.lake import Lake, work_folder

#: The file in which a run keeps how it is cut.
CUT = "slices.json"


def whole(interval: Interval) -> Slice:
    """The one slice of a run's interval; windows start at whole milliseconds."""
    stretches = tuple(map(_bounds_ms, interval.stretches))
    return Slice("slice-0", *_bounds_ms(interval), stretches)


def interval_of(part: Slice) -> Interval:
    """The interval that holds the windows of a slice."""
    start, end = (None if edge is None else timestamps.moment(edge) for edge in (part.start_ms, part.end_ms))
    return Interval(start, end)


def slices_of(groups: DataFrame, of: Slice, count: int, also: Sequence[int] = ()) -> list[Slice]:
    """Cut `of` into `count` stretches of windows with about as many rows each, and before the windows `also` in it.

    `groups` is the census.
    """
    inside = (ms for ms in also if of.cuts_at(ms))
    edges = [of.start_ms, *sorted({*_even(groups, of, count), *inside}), of.end_ms]
    if len(edges) == 2:
        return [of]
    return [Slice(f"slice-{i}-of-{len(edges) - 1}", a, b) for i, (a, b) in enumerate(pairwise(edges))]


def settled(lake: Lake, run_id: str, parts: Sequence[Slice]) -> list[Slice]:
    """Return the slices of the run: `parts`, unless an earlier attempt has begun with others.

    Tables are staged by slice; another cut would stage the same windows again.
    """
    text = json.dumps({"slices": [asdict(part) for part in parts], "by": uuid4().hex})
    lake.objects.create(f"{work_folder(run_id)}/{CUT}", text.encode())
    return stored_slices(lake, run_id)


def stored_slices(lake: Lake, run_id: str) -> list[Slice]:
    """Return the slices of the run; none if it has not been cut."""
    content = lake.objects.read(f"{work_folder(run_id)}/{CUT}")
    return [] if content is None else [_stored(part) for part in json.loads(content)["slices"]]


def _stored(part: Mapping[str, Any]) -> Slice:
    stretches = tuple((start, end) for start, end in part.get("stretches_ms", ()))
    return Slice(part["name"], part["start_ms"], part["end_ms"], stretches)


def _bounds_ms(interval: Interval) -> tuple[int | None, int | None]:
    start, end = (None if moment is None else _next_ms(moment) for moment in (interval.start, interval.end))
    return start, end


def _next_ms(moment: datetime) -> int:
    """The first millisecond that is not before `moment`."""
    return timestamps.literal_millis(moment + timedelta(microseconds=999))


def _even(groups: DataFrame, of: Slice, count: int) -> list[int]:
    if count <= 1:
        return []
    inside = groups.where(F.col("reason").isNull() & F.col("kept") & of.holds("window_ms"))
    sizes = inside.groupBy("window_ms").agg(F.sum("row_count").alias("n")).orderBy("window_ms").collect()
    total, filled = sum(r.n for r in sizes), 0
    cuts: list[int] = []
    for row in sizes:
        if filled >= total * (len(cuts) + 1) / count and len(cuts) < count - 1:
            cuts.append(row.window_ms)
        filled += row.n
    return cuts
