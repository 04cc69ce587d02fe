"""The good runs that corruptions corrupt, by the kind of their pipeline. None violates an invariant.

- `readings`, `forecasts`, `retracted`, `sessions`: whole runs over 900 rows, staged as the reference computes them;
- `drawn`, `complete`: a run drawn by hand, and the same run with complete results;
- `continuous`, `count`: a stream of ten rows with early panes;
- `sliding`: a recorded scenario of overlapping windows;
- joins, drawn by hand: see `join_runs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from spark_jobs.pipeline import Pipeline
from spark_jobs.pipeline.model import EndOfInput, Mode, ReplayOrder, Trigger, TriggerKind, Windows
from spark_jobs.semantics import reference
from spark_jobs.semantics.rows.events import Event, EventReader
from spark_jobs.semantics.rows.instants import micros
from spark_jobs.semantics.streaming_job import StreamingJob
from spark_jobs.semantics.windows.lateness import Lateness
from tests.expectations.corruptions import join_runs
from tests.expectations.corruptions.staged_run import StagedRun
from tests.support import generated_run, history
from tests.support.generated_run import SCHEMAS, window
from tests.vectors.scenarios import Scenario, load, load_triggers

_EVENTS = 900
_SOURCE = "id bigint, site string, device string, happened_at timestamp, stored_at timestamp, reading double"
_AGGREGATES = "readings bigint, total double, mean double, most double"
_SETTINGS = {"windows__key": "[device, site]", "windows__allowed_lateness": "12 minutes"}
_OVERRIDES: dict[str, dict[str, str]] = {
    "readings": {},
    "forecasts": {"windows__trigger": "{continuous: 2 minutes}"},
    "retracted": {"windows__accumulation": "retracting"},
    "sessions": {"windows__kind": "session", "windows__gap": "25 seconds", "windows__size": "null"},
}
_COMPLETE_RESULTS = (
    "carrier string, window_start timestamp, window_end timestamp, flights bigint, row_count bigint, "
    "missed_rows bigint, is_shown boolean, faithful struct<flights: bigint, row_count: bigint>, run_id string"
)
_TRIGGERS = {
    "continuous": Trigger(TriggerKind.CONTINUOUS, interval_ms=2),
    "count": Trigger(TriggerKind.COUNT, n=2),
}
_SLIDING_SCENARIO = "s101-123"


@cache
def good_run(kind: str) -> StagedRun:
    """Return a good run. Its rows are shared: copy them before you change them."""
    return _OPENINGS[kind]()


def _whole(overrides: Mapping[str, str]) -> StagedRun:
    """Return what a run over the history stages, by the reference."""
    pipeline = history.pipeline("readings", **_SETTINGS, **overrides)
    outcome = reference.replay(history.events(_EVENTS), pipeline)
    rows = {table: [{**row, "run_id": "r1"} for row in getattr(outcome, table)] for table in SCHEMAS}
    return StagedRun(pipeline, rows, outcome.counts, {table: _schema(table, pipeline) for table in SCHEMAS}, "r1")


def _schema(table: str, pipeline: Pipeline) -> pa.Schema:
    schema = SCHEMAS[table].replace("flights bigint", _AGGREGATES).replace("carrier string, passenger string", _SOURCE)
    if table == "panes" and pipeline.windows.accumulation.value == "retracting":
        schema += ", is_retraction boolean"
    columns = T.StructType.fromDDL(schema.replace("carrier string", "device string, site string"))
    assert isinstance(columns, T.StructType)
    return to_arrow_schema(columns)


def _drawn() -> StagedRun:
    return StagedRun(generated_run.PIPELINE, generated_run.CORRECT, generated_run.COUNTS, SCHEMAS)


def _complete() -> StagedRun:
    """Return the drawn run with complete results."""
    drawn = _drawn()
    results = [
        complete_result("AA", 0, 5, 5),
        complete_result(None, 0, 2, 1),
        complete_result("BB", 0, 1, None),
        complete_result("AA", 10, 2, 2),
        complete_result(None, 20, 4, 4),
    ]
    return replace(
        drawn,
        pipeline=replace(drawn.pipeline, replay=ReplayOrder(mode=Mode.COMPLETE)),
        rows={**drawn.rows, "complete_results": results},
        schemas={**SCHEMAS, "complete_results": _COMPLETE_RESULTS},
    )


def complete_result(carrier: str | None, start: float, count: int, result_count: int | None) -> dict[str, Any]:
    """Return a complete result of `count` rows. `result_count` is the row count of the result, None without one."""
    faithful = None if result_count is None else (result_count, result_count)
    missing = {"missed_rows": count - (result_count or 0), "is_shown": faithful is not None, "faithful": faithful}
    return {**window(start), "carrier": carrier, "flights": count, "row_count": count, **missing}


def replayed(outcome: Any, pipeline: Pipeline, counts: Mapping[str, int]) -> StagedRun:
    """Return what a run with a text column `key` stages, from what the reference returned.

    Aggregates become texts, whatever their type: invariants see only whether they are equal.
    """
    names = [aggregate.name for aggregate in pipeline.windows.aggregates]
    rows = {table: [_with_texts(row, names) for row in getattr(outcome, table)] for table in SCHEMAS}
    texts = ", ".join(f"`{name}` string" for name in names)
    schemas = {
        table: schema.replace("carrier string", "key string").replace("flights bigint", texts)
        for table, schema in SCHEMAS.items()
    }
    return StagedRun(pipeline, rows, counts, schemas)


def _with_texts(row: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {**row, **{name: str(row[name]) for name in names if name in row}}


def _triggered(trigger: Trigger) -> StagedRun:
    """Return a run over one key whose watermark follows each row at a distance of 2 ms, in windows of 10 ms."""
    recorded = next(
        scenario.pipeline
        for scenario in load_triggers()
        if scenario.pipeline.windows.kind == "tumbling" and scenario.declared["strategy"]["kind"] == "bounded"
    )
    windows = Windows(
        size_ms=10,
        key=("key",),
        allowed_lateness_ms=20,
        aggregates=recorded.windows.aggregates,
        trigger=trigger,
    )
    source = replace(recorded.source, source_partition=type(recorded.source.source_partition)())
    watermark = replace(type(recorded.watermark)(), out_of_orderness_ms=1)
    pipeline = replace(recorded, source=source, watermark=watermark, windows=windows)
    columns = {"partition": "p", "key": "k", "value": 1.0}
    times = (1, 2, 5, 7, 9, 12, 3, 14, 4, 25)
    events = [{"index": i, "ts": ts, "arrival_us": 1000 * i, **columns} for i, ts in enumerate(times)]
    outcome = reference.replay(events, pipeline)
    return replayed(outcome, pipeline, outcome.counts)


def sliding(scenario: Scenario, end: EndOfInput = EndOfInput.CLOSE) -> StagedRun:
    """Return what a run over a recorded scenario of sliding windows stages."""
    pipeline = replace(scenario.pipeline, replay=replace(scenario.pipeline.replay, end_of_input=end))
    outcome = reference.replay(scenario.rows, pipeline, until=scenario.until)
    reader, job = EventReader(pipeline), StreamingJob(pipeline)
    events = [event for event in map(reader.read, scenario.rows) if isinstance(event, Event)]
    job.run(events, None if scenario.until is None else micros(scenario.until))
    lateness = [verdict.lateness for judged in job.judged for verdict in judged.verdicts]
    pairs = {"row_windows": len(lateness), "row_windows_dropped": lateness.count(Lateness.TOO_LATE)}
    return replayed(outcome, pipeline, {**outcome.counts, **pairs})


def _sliding() -> StagedRun:
    return sliding(next(scenario for scenario in load() if scenario.id == _SLIDING_SCENARIO))


WHOLE_RUNS = tuple(_OVERRIDES)
TRIGGERED_RUNS = tuple(_TRIGGERS)
JOIN_RUNS = tuple(join_runs.RUNS)
_OPENINGS: Mapping[str, Callable[[], StagedRun]] = {
    **{kind: partial(_whole, overrides) for kind, overrides in _OVERRIDES.items()},
    "drawn": _drawn,
    "complete": _complete,
    **{kind: partial(_triggered, trigger) for kind, trigger in _TRIGGERS.items()},
    "sliding": _sliding,
    **{kind: partial(join_runs.RUNS.__getitem__, kind) for kind in join_runs.RUNS},
}
