"""Whether a pipeline fits its source: columns, types, expressions, classes. Asked before anything is computed."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.jobs.errors import InputError
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.names import INTERNAL_PREFIX
from spark_jobs.replay import TimeFieldError, UnsupportedPipelineError
from spark_jobs.replay.panes import pane_columns
from spark_jobs.replay.rows import event_time
from spark_jobs.replay.rows.prepare import offset
from spark_jobs.replay.supported import require_firing
from spark_jobs.semantics.watermark.custom import GeneratorError, new_generator


def check_source(events: DataFrame, pipeline: Pipeline) -> None:
    """Raise InputError with every problem of `pipeline` against the columns of `events`; return if there is none."""
    alone = [pipeline.alone(united) for united in pipeline.sources] or [pipeline]
    found = [problem for one in alone for problem in problems(events, one)]
    if told := list(dict.fromkeys([*found, *_firing(events, pipeline)])):
        raise InputError("\n".join(told))


def problems(events: DataFrame, pipeline: Pipeline) -> list[str]:
    """Every problem of a pipeline that reads one source against the columns of `events`."""
    looked_at = (_columns, _times, _offsets, _expressions)
    return [*(problem for look in looked_at for problem in look(events, pipeline)), *_generator(pipeline)]


def condition(events: DataFrame, key: str, written: str | None) -> Iterator[str]:
    """What is wrong with the SQL condition that the file has under `key`."""
    if written is None:
        return
    try:
        kind = events.select(F.expr(written).alias("holds")).schema[0].dataType.simpleString()
        if kind != "boolean":
            yield f"{key}: asked for a condition, found '{written}' of type {kind}"
    except AnalysisException as problem:
        yield f"{key}: {_told(problem, events)}"


def _columns(events: DataFrame, pipeline: Pipeline) -> Iterator[str]:
    there = {name.lower(): name for name in events.columns}
    asked = [
        *(("source.source_partition", name) for name in pipeline.source.source_partition.columns),
        *(("source.tie_break", name) for name in pipeline.source.tie_break),
        *(("windows.key", name) for name in pipeline.windows.key),
    ]
    for key, name in asked:
        if name.lower() not in there:
            table = pipeline.source.table
            yield f"{key}: asked for the column '{name}', which {table} does not have{hint(name, events)}"
    for name in events.columns:
        if name.startswith(INTERNAL_PREFIX):
            yield f"source.table: its column '{name}' begins with '{INTERNAL_PREFIX}', which is kept for the replay"


def _times(events: DataFrame, pipeline: Pipeline) -> Iterator[str]:
    fields = {
        "source.event_time": pipeline.source.event_time,
        "source.arrival_time": pipeline.source.arrival_time,
        "watermark.value": pipeline.watermark.value,
    }
    for key, field in fields.items():
        if field is None:
            continue
        try:
            event_time.micros(events, field)
        except TimeFieldError as problem:
            yield f"{key}: {problem}"
        except AnalysisException as problem:
            yield f"{key}: {_told(problem, events)}"


def _offsets(events: DataFrame, pipeline: Pipeline) -> Iterator[str]:
    if not pipeline.replay.in_rounds:
        return
    try:
        offset(events, pipeline)
    except TimeFieldError as problem:
        yield f"source.offset: {problem}"
    except AnalysisException as problem:
        yield f"source.offset: {_told(problem, events)}"


def _expressions(events: DataFrame, pipeline: Pipeline) -> Iterator[str]:
    yield from condition(events, "source.where", pipeline.source.where)
    yield from condition(events, "watermark.when", pipeline.watermark.when)
    for aggregate in pipeline.windows.aggregates:
        try:
            pane_columns.grouped(events, pipeline).agg(F.expr(aggregate.expression).alias(aggregate.name))
        except AnalysisException as problem:
            yield f"windows.aggregates.{aggregate.name}: {_told(problem, events)}"


def _firing(events: DataFrame, pipeline: Pipeline) -> Iterator[str]:
    try:
        require_firing(events.columns, pipeline)
    except UnsupportedPipelineError as problem:
        yield f"windows.aggregates: {problem}"


def _generator(pipeline: Pipeline) -> Iterator[str]:
    if not pipeline.watermark.is_custom:
        return
    try:
        new_generator(pipeline.watermark.generator, pipeline.watermark.arguments)
    except GeneratorError as problem:
        yield f"watermark.class: {problem}"


def _told(problem: AnalysisException, events: DataFrame) -> str:
    """The first line of Spark's message, and the nearest column where one is missing."""
    parameters = problem.getMessageParameters() or {}
    if (problem.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
        name = parameters.get("objectName", "").replace("`", "")
        return f"asked for the column '{name}', which the source does not have{hint(name, events)}"
    return str(problem).splitlines()[0]


def hint(name: str, events: DataFrame) -> str:
    """What there is instead of a column that is missing."""
    near = difflib.get_close_matches(name, events.columns, n=1)
    return (f"; did you mean '{near[0]}'?" if near else "") + f" (it has {', '.join(events.columns)})"
