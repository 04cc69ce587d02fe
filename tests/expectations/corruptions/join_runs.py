"""Runs of joins, drawn by hand: staged pairs, late rows and invalid rows that violate no invariant.

Seconds; windows of 10 s, allowed lateness 5 s; bounds of the interval join from -5 s to 10 s, exclusive. Payments are
the versions of the as-of joins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from spark_jobs.pipeline import Pipeline, from_mapping
from spark_jobs.semantics.spec import WindowKind
from tests.expectations.corruptions.staged_run import StagedRun
from tests.support.generated_run import Rows, at

_TIMES = {"arrival_time": "landed", "watermark": {"strategy": "monotonous"}}
_SOURCES = [
    {"name": "orders", "table": "o/o", "event_time": "made", **_TIMES},
    {"name": "payments", "table": "p/p", "event_time": "paid", **_TIMES},
]
_INTERVAL = from_mapping(
    {
        "name": "paid_orders",
        "sources": _SOURCES,
        "join": {
            "key": {"orders": ["order_id"], "payments": ["paid_for"]},
            "between": ["-5s", "10s"],
            "exclusive": ["upper"],
        },
        "quality": {"max_too_late_ratio": 0.5},
    }
)
_AS_OF, _AS_OF_INNER = (
    from_mapping(
        {
            "name": "paid_orders",
            "sources": _SOURCES,
            "join": {"key": {"orders": ["order_id"], "payments": ["paid_for"]}, "as_of": kind},
            "quality": {"max_too_late_ratio": 0.5},
        }
    )
    for kind in ("left_outer", "inner")
)
_WINDOW = from_mapping(
    {
        "name": "paid_orders",
        "sources": _SOURCES,
        "join": {"key": {"orders": ["order_id"], "payments": ["paid_for"]}},
        "windows": {"size": "10s", "allowed_lateness": "5s"},
    }
)
_SESSION = replace(_WINDOW, windows=replace(_WINDOW.windows, kind=WindowKind.SESSION, size_ms=0, gap_ms=10_000))
_SPLIT = from_mapping(
    {
        "name": "paid_orders",
        "source": {"table": "e/e", "event_time": "made", "arrival_time": "landed"},
        "watermark": {"strategy": "monotonous"},
        "join": {"key": ["order_id"], "between": ["-5s", "10s"], "second_when": "kind = 'payment'"},
    }
)
# An expression with a default has a value for a pair without a second row too.
_SPLIT_AS_OF = from_mapping(
    {
        "name": "paid_orders",
        "source": {"table": "e/e", "event_time": "coalesce(made, timestamp'1970-01-01')", "arrival_time": "landed"},
        "watermark": {"strategy": "monotonous"},
        "join": {"key": ["order_id"], "as_of": "left_outer", "second_when": "kind = 'payment'"},
        "quality": {"max_too_late_ratio": 0.5},
    }
)
_PAIR = (
    "orders struct<order_id string, made timestamp, landed timestamp>, "
    "payments struct<paid_for string, paid timestamp, landed timestamp>, fired_at timestamp, run_id string"
)
_FIRING = "order_id string, window_start timestamp, window_end timestamp, pane_index int, timing string, "
_EVENT = "struct<order_id string, made timestamp, landed timestamp, kind string>"
_LATE = "source string, event_time timestamp, arrival_time timestamp, watermark timestamp, late_by_ms bigint"
_VERDICT = "verdict string"
_INVALID = {"invalid_events": "source string, reason string, run_id string"}
_INTERVAL_SCHEMAS = {"pairs": f"event_time timestamp, {_PAIR}", "late_events": _LATE, **_INVALID}
_AS_OF_SCHEMAS = {**_INTERVAL_SCHEMAS, "late_events": f"{_LATE}, {_VERDICT}"}
_WINDOW_SCHEMAS = {
    "pairs": f"{_FIRING} watermark timestamp, {_PAIR}",
    "late_events": f"{_LATE}, window_start timestamp, window_end timestamp",
    **_INVALID,
}
_SPLIT_SCHEMAS = {
    "pairs": f"event_time timestamp, left {_EVENT}, right {_EVENT}, fired_at timestamp, run_id string",
    "late_events": _LATE,
    **_INVALID,
}
_SPLIT_AS_OF_SCHEMAS = {**_SPLIT_SCHEMAS, "late_events": f"{_LATE}, {_VERDICT}"}


def order(key: str | None, event: float, arrival: float) -> tuple[Any, ...]:
    """Return a row of an input: its key, event time and arrival time."""
    return (key, at(event), at(arrival))


def _pair(first: tuple[Any, ...], second: tuple[Any, ...] | None, event: datetime, fired: datetime) -> dict[str, Any]:
    return {"orders": first, "payments": second, "event_time": event, "fired_at": fired, "run_id": "r1"}


def late(source: str, event: float, arrival: float, watermark: float) -> dict[str, Any]:
    """Return a late event of a window of 10 s."""
    times = {"event_time": at(event), "arrival_time": at(arrival), "watermark": at(watermark)}
    start = int(event // 10 * 10)
    window = {"window_start": at(start), "window_end": at(start + 10)}
    return {"source": source, **times, "late_by_ms": round((watermark - event) * 1000), **window}


def _fired(
    first: tuple[Any, ...], second: tuple[Any, ...], index: int, timing: str, moment: float, watermark: float
) -> dict[str, Any]:
    start = int((first[1] - at(0)).total_seconds() // 10 * 10)
    window = {"window_start": at(start), "window_end": at(start + 10), "order_id": first[0]}
    pane = {"pane_index": index, "timing": timing, "watermark": at(watermark)}
    return {**_pair(first, second, at(0), at(moment)), **window, **pane}


def _session_firing(orders: list[tuple[Any, ...]], end: float, *firing: Any) -> list[dict[str, Any]]:
    """Return the pairs of a firing of the session that begins at 11 and has one payment, of 14."""
    window = {"window_start": at(11), "window_end": at(end)}
    return [{**_fired(first, order("a", 14, 15), *firing), **window} for first in orders]


_NEAR, _EARLY = order("a", 10, 11), order(None, 20, 25)
_INVALIDS = [{"source": "orders", "reason": "event_time_missing", "run_id": "r1"}]
_LATES = [late("orders", 5, 19, 16), late("payments", 6, 20, 18)]
_AS_OF_LATES = [{**row, "verdict": verdict} for row, verdict in zip(_LATES, ("unmatched", "kept"), strict=True)]
_VERSIONED = [
    _pair(_NEAR, order("a", 8, 9), at(10), at(13)),
    _pair(_EARLY, order(None, 15, 22), at(20), at(26)),
]
_ROWS: dict[str, Rows] = {
    "as_of_join": {
        "pairs": [
            *_VERSIONED,
            _pair(order("b", 12, 14), None, at(12), at(15)),
            _pair(order("a", 5, 19), None, at(5), at(20)),
        ],
        "late_events": _AS_OF_LATES,
        "invalid_events": _INVALIDS,
    },
    "as_of_inner_join": {"pairs": _VERSIONED, "late_events": _AS_OF_LATES, "invalid_events": _INVALIDS},
    "interval_join": {
        "pairs": [
            _pair(_NEAR, order("a", 15, 16), at(15), at(16)),
            _pair(_EARLY, order(None, 15, 22), at(20), at(25)),
        ],
        "late_events": _LATES,
        "invalid_events": _INVALIDS,
    },
    "window_join": {
        "pairs": [
            _fired(order("a", 11, 12), order("a", 12, 13), 0, "on_time", 22, 19.999),
            _fired(order("a", 11, 12), order("a", 12, 13), 1, "late", 23, 20),
            _fired(order("a", 11, 12), order("a", 14, 23), 1, "late", 23, 20),
            _fired(order(None, 22, 23), order(None, 23, 24), 2, "late", 33, 31),
        ],
        "late_events": _LATES,
        "invalid_events": _INVALIDS,
    },
    "session_join": {
        # The second order is late for a session that has fired, the third makes it a longer one.
        "pairs": [
            *_session_firing([order("a", 11, 12)], 24, 0, "on_time", 26, 23.999),
            *_session_firing([order("a", 11, 12), order("a", 13, 27)], 24, 1, "late", 27, 24),
            *_session_firing([order("a", n, m) for n, m in ((11, 12), (13, 27), (23, 28))], 33, 0, "on_time", 35, 33),
        ],
        "late_events": [
            {**late("orders", 5, 24, 20), "window_start": at(5), "window_end": at(15)},
            {**late("payments", 6, 26, 22), "window_start": at(6), "window_end": at(16)},
        ],
        "invalid_events": _INVALIDS,
    },
    "split_join": {
        "pairs": [
            {
                "left": ("a", at(10), at(11), "order"),
                "right": ("a", at(15), at(16), "payment"),
                "event_time": at(15),
                "fired_at": at(16),
            }
        ],
        "late_events": [],
        "invalid_events": [],
    },
    "split_as_of_join": {
        "pairs": [
            {
                "left": ("a", at(10), at(11), "order"),
                "right": None,
                "event_time": at(10),
                "fired_at": at(16),
            }
        ],
        "late_events": [],
        "invalid_events": [],
    },
}
_READ = {"rows_read_of_orders": 6, "filtered_of_orders": 1, "on_time_of_orders": 3, "late_of_orders": 0}
_READ |= {"rows_read_of_payments": 4, "filtered_of_payments": 0, "on_time_of_payments": 2, "late_of_payments": 1}
_READ |= {"unassigned_of_orders": 0, "unassigned_of_payments": 0}
_LEFT_OUT = {"invalid_of_orders": 1, "invalid_of_payments": 0, "too_late_of_orders": 1, "too_late_of_payments": 1}
_COUNTS = {**_READ, **_LEFT_OUT}
_NO_COUNTS = {name.replace("orders", "left").replace("payments", "right"): 0 for name in _COUNTS}
_ONE_ORDER = {**_NO_COUNTS, "rows_read_of_left": 1, "on_time_of_left": 1}


def _run(kind: str, pipeline: Pipeline, schemas: Mapping[str, str], counts: Mapping[str, int] = _COUNTS) -> StagedRun:
    rows = _ROWS[kind]
    return StagedRun(pipeline, rows, {**counts, "pairs": len(rows["pairs"])}, schemas)


RUNS: Mapping[str, StagedRun] = {
    "interval_join": _run("interval_join", _INTERVAL, _INTERVAL_SCHEMAS),
    "as_of_join": _run("as_of_join", _AS_OF, _AS_OF_SCHEMAS),
    "as_of_inner_join": _run("as_of_inner_join", _AS_OF_INNER, _AS_OF_SCHEMAS),
    "window_join": _run("window_join", _WINDOW, _WINDOW_SCHEMAS),
    "session_join": _run("session_join", _SESSION, _WINDOW_SCHEMAS),
    "split_join": _run("split_join", _SPLIT, _SPLIT_SCHEMAS, _NO_COUNTS),
    "split_as_of_join": _run("split_as_of_join", _SPLIT_AS_OF, _SPLIT_AS_OF_SCHEMAS, _ONE_ORDER),
}
