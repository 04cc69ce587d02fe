"""Explanations of rows and windows of a pipeline, over the rows that the published results are made of.

The source is read at the version of the run published last, as far as rows had arrived for that run. Without a run, the
newest version is read as a whole. The settings are those of the pipeline file. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.error_codes import ErrorCode
from spark_jobs.explain.arrived import Arrived
from spark_jobs.explain.explanations import ExplainedRow, WindowLife, as_json
from spark_jobs.explain.rows import explain_rows
from spark_jobs.explain.windows import explain_window
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan import arrival_slices
from spark_jobs.jobs.plan.check import checked
from spark_jobs.jobs.plan.check_source import condition as condition_misfits
from spark_jobs.jobs.progress import Progress, silent
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows.computed_columns import with_computed
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.supported import UnsupportedPipelineError, require_support
from spark_jobs.session import shuffling
from spark_jobs.tables import ledger, source
from spark_jobs.tables.effective_runs import effective_runs
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.run import Run

_STEP = "explain"


@dataclass(frozen=True)
class Request:
    """What to explain: rows by SQL conditions, at most `most` of each, and a window by an instant and a key (texts)."""

    conditions: Sequence[str] = ()
    most: int = 10
    window_start_ms: int | None = None
    key: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Explanation:
    """The explanations, and what they are about: `run_id` is the run published last, None without one.

    `rows` are those of each condition. `window` is None without a request for a window, and for a window without rows.
    """

    pipeline: str
    source_versions: Mapping[str, int]
    run_id: str | None
    arrived_to: datetime | None
    rows: Sequence[Sequence[ExplainedRow]]
    window: WindowLife | None

    def as_json(self) -> dict[str, Any]:
        """Return one object of plain values and times."""
        return {
            "pipeline": self.pipeline,
            "source_versions": dict(self.source_versions),
            "run_id": self.run_id,
            "arrived_to": self.arrived_to,
            "rows": [as_json(row) for rows in self.rows for row in rows],
            "window": None if self.window is None else as_json(self.window),
        }


def explain(
    spark: SparkSession, pipeline: Pipeline, lake: Lake, request: Request, *, progress: Progress = silent
) -> Explanation:
    """Explain rows and windows. Raises InputError for a request, a pipeline or a source that does not fit."""
    if pipeline.join is not None:
        raise InputError(
            "explain: the pipeline is a join, and explain reads windows of one input or of several sources. "
            "Read late_events for the watermark that each late row missed",
            code=ErrorCode.NOT_COMPARABLE,
        )
    try:
        require_support(pipeline)
    except UnsupportedPipelineError as problem:
        raise InputError(str(problem), code=problem.code) from problem
    versions = checked(spark, pipeline)
    run = effective_runs(ledger.published(spark, lake)).latest
    if run is not None:
        versions = dict(run.pinned)
        pipeline = arrival_slices.pipeline_for_run(pipeline, run)
    progress(_STEP, f"reading version {', '.join(map(str, versions.values()))} of {pipeline.source.table}")
    try:
        events = _events(spark, pipeline, run, versions)
    except SourceError as problem:
        raise InputError(str(problem), code=problem.code) from problem
    conditions = [_condition(events, pipeline, text) for text in request.conditions]
    with shuffling(spark, 0):
        until_us = None if run is None else arrival_slices.until_us(run)
        arrived = Arrived(events, pipeline, until_us=until_us)
        rows = [explain_rows(arrived, pipeline, condition, request.most) for condition in conditions]
        window = _window(arrived, pipeline, request)
    run_id, arrived_to = (None, None) if run is None else (run.run_id, run.arrived_to)
    return Explanation(pipeline.name, versions, run_id, arrived_to, rows, window)


def _events(spark: SparkSession, pipeline: Pipeline, run: Run | None, versions: Mapping[str, int]) -> DataFrame:
    events = source.events(spark, pipeline, versions)
    return events if run is None else arrival_slices.arrived(events, pipeline, run)


def _condition(events: DataFrame, pipeline: Pipeline, text: str) -> Column:
    """Return the condition of an option. Raises InputError if it is none."""
    completed = events if pipeline.sources else with_computed(events, pipeline.source)
    misfits = list(condition_misfits(completed, "--row", text))
    if misfits:
        raise InputError(misfits[0].message, code=misfits[0].code)
    return F.expr(text)


def _window(arrived: Arrived, pipeline: Pipeline, request: Request) -> WindowLife | None:
    if request.window_start_ms is None:
        return None
    key = _key(pipeline, request.key or {})
    # A column of any type is compared as text; null has no text.
    same = [
        F.col(quoted(name)).isNull() if text == "null" else F.col(quoted(name)).cast("string") == F.lit(text)
        for name, text in key.items()
    ]
    of_key = reduce(Column.__and__, same, F.lit(True))
    return explain_window(arrived, pipeline, request.window_start_ms, of_key, key)


def _key(pipeline: Pipeline, values: Mapping[str, str]) -> dict[str, str]:
    """Return the key of the window. Raises InputError unless each column of the key has a value."""
    names = pipeline.windows.key
    if set(values) != set(names):
        example = ", ".join(f"--key {name}=VALUE" for name in names) or "no --key"
        raise InputError(
            f"--key: found {', '.join(values) or 'no column'}, expected the columns of windows.key: {example}",
            code=ErrorCode.OPTION_WRONG,
        )
    return {name: values[name] for name in names}
