"""The fields by which a backfill is cut into intervals: their values, and what is wrong with them in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.durations import DurationError, parse_duration
from spark_jobs.pipeline.intervals import IntervalsError, cut
from spark_jobs.semantics.rows.instants import EPOCH
from tidemark_airflow.jobs.request import IntervalsRequest

OLDEST, NEWEST = "oldest first", "newest first"
# A bound of `IntervalsError` -> the field of the form.
_FIELDS = {"start": "from", "end": "to", "every": "every"}
_MILLISECOND = timedelta(milliseconds=1)


def requested(filled: Mapping[str, Any]) -> IntervalsRequest:
    """Return the part of a request that is about intervals; empty for a range in one piece."""
    every = _every(filled)
    if not every:
        return {}
    return {
        "every": every,
        "side_by_side": filled.get("side_by_side") or 1,
        "newest_first": filled.get("order") == NEWEST,
        "only_missing": bool(filled.get("only_missing")),
    }


def problems_of(
    filled: Mapping[str, Any], start: datetime | None, end: datetime | None, pipeline: Callable[[], Pipeline] | None
) -> Iterator[str]:
    """Yield what is wrong with the fields of intervals.

    `pipeline` loads the pipeline with the settings of the form, None if other fields are wrong.
    """
    every = _every(filled)
    if not every:
        if filled.get("only_missing"):
            yield "only_missing: every is empty, so there is no interval to leave out; fill every, or switch this off"
        return
    if filled.get("apart") and (filled.get("slices") or 1) > 1:
        yield "apart: one application computes all slices of an interval; switch this off, or leave every empty"
    for name, moment in (("from", start), ("to", end)):
        if moment is None and not (filled.get(name) or "").strip():
            yield f"{name}: empty, and a range that is cut into intervals has both bounds; fill it"
    try:
        every_ms = parse_duration(every)
    except DurationError as problem:
        yield f"every: found '{every}', {problem}"
        return
    if pipeline is not None and start is not None and end is not None:
        try:
            cut((start - EPOCH) // _MILLISECOND, (end - EPOCH) // _MILLISECOND, every_ms, pipeline())
        except IntervalsError as problem:
            yield f"{_FIELDS[problem.bound]}: {problem}"


def _every(filled: Mapping[str, Any]) -> str:
    return (filled.get("every") or "").strip()
