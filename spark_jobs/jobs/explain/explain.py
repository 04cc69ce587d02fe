"""Explanations of rows and windows of a pipeline, over the rows that the published results are made of.

The source is read at the version of the run published last, as far as rows had arrived for that run. Without a run, the
newest version is read as a whole. The settings are those of the pipeline file, and in windows that a repair has
computed, every late row updates them. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.error_codes import ErrorCode
from spark_jobs.explain import streams
from spark_jobs.explain.explanations import ExplainedRow, WindowLife
from spark_jobs.explain.rows import explain_rows
from spark_jobs.explain.streams import Stream
from spark_jobs.explain.window_starts import WindowStartError, named_start_ms
from spark_jobs.explain.windows import explain_window
from spark_jobs.jobs.errors import InputError
from spark_jobs.jobs.plan import arrival_slices
from spark_jobs.jobs.plan.check import checked
from spark_jobs.jobs.plan.check_source import condition as condition_misfits
from spark_jobs.jobs.progress import Progress, silent
from spark_jobs.pipeline.joining import bounds, joining
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows.computed_columns import with_computed
from spark_jobs.session import shuffling
from spark_jobs.tables import ledger, source
from spark_jobs.tables.effective_runs import effective_runs
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.repaired_windows import RepairedWindows
from spark_jobs.tables.run import Run
from spark_jobs.tables.run_pipeline import pipeline_of_tables
from spark_jobs.tables.source_tables import tables_of

_STEP = "explain"
#: The rows of the source, or of both inputs of a join; None for the second if one source is split.
Frames = tuple[DataFrame, DataFrame | None]


@dataclass(frozen=True)
class Request:
    """What to explain: rows by SQL conditions, at most `most` of each, and a window by an instant and a key (texts).

    The instant is the start of the window, or one inside if only one window has it; of sessions, any instant inside.

    `run_id` is the published run whose results are explained; empty: the run published last.
    """

    conditions: Sequence[str] = ()
    most: int = 10
    window_start_ms: int | None = None
    key: Mapping[str, str] | None = None
    run_id: str = ""


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
        """Return one object of the fields, with the values of rows as they were collected."""
        return {
            "pipeline": self.pipeline,
            "source_versions": dict(self.source_versions),
            "run_id": self.run_id,
            "arrived_to": self.arrived_to,
            "rows": [asdict(row) for rows in self.rows for row in rows],
            "window": None if self.window is None else asdict(self.window),
        }


@dataclass(frozen=True)
class Reading:
    """The rows that published results are made of: the pipeline as the run had it, and the run, None without one.

    `repaired` are the windows of the results that a repair has computed.
    """

    pipeline: Pipeline
    versions: Mapping[str, int]
    run: Run | None
    frames: Frames
    repaired: RepairedWindows

    @property
    def stream(self) -> Stream:
        """The rows as a stream."""
        until_us = None if self.run is None else arrival_slices.until_us(self.run)
        return _stream(self.frames, self.pipeline, until_us, self.repaired)

    def start_ms(self, instant_ms: int) -> int:
        """Return the start of the window that an instant names. Raises InputError if it names none."""
        try:
            return named_start_ms(self.pipeline.windows, instant_ms)
        except WindowStartError as problem:
            raise InputError(f"--window: {problem}", code=ErrorCode.OPTION_WRONG) from problem


def read(spark: SparkSession, pipeline: Pipeline, lake: Lake, progress: Progress, run_id: str = "") -> Reading:
    """Read the source as of a published run, by default the run published last. Raises InputError."""
    versions = checked(spark, pipeline)
    published = _published_until(ledger.published(spark, lake), run_id)
    run = effective_runs(published).latest
    if run is not None:
        versions = dict(run.pinned)
        pipeline = pipeline_of_tables(pipeline, run)
    tables = tables_of(pipeline)
    progress(_STEP, "reading " + ", ".join(f"version {versions[name]} of {table}" for name, table in tables.items()))
    try:
        rows = source.rows_of(spark, pipeline, versions)
    except SourceError as problem:
        raise InputError(str(problem), code=problem.code) from problem
    frames = _completed(_arrived(rows, pipeline, run), pipeline)
    return Reading(pipeline, versions, run, frames, RepairedWindows.after(published))


def _published_until(published: Sequence[Run], run_id: str) -> Sequence[Run]:
    """Return the published runs up to the one of an id, by default all. Raises InputError."""
    if not run_id:
        return published
    place = next((place for place, run in enumerate(published) if run.run_id == run_id), None)
    if place is None:
        raise InputError(
            f"run {run_id}: not published, so it has no results to explain. `tidemark status` lists the runs",
            code=ErrorCode.RUN_NOT_PUBLISHED,
        )
    return published[: place + 1]


def explain(
    spark: SparkSession, pipeline: Pipeline, lake: Lake, request: Request, *, progress: Progress = silent
) -> Explanation:
    """Explain rows and windows. Raises InputError for a request, a pipeline or a source that does not fit."""
    _require_windows(pipeline, request)
    reading = read(spark, pipeline, lake, progress, request.run_id)
    run, pipeline = reading.run, reading.pipeline
    conditions = [_condition(reading.frames, text) for text in request.conditions]
    with shuffling(spark, 0):
        stream = reading.stream
        is_as_of = pipeline.join is not None and pipeline.join.is_as_of
        near = bounds(pipeline) if pipeline.join is not None and pipeline.join.by_interval else None
        explained = [explain_rows(stream, each, request.most, near, as_of=is_as_of) for each in conditions]
        window = _window(reading, stream, request)
    run_id, arrived_to = (None, None) if run is None else (run.run_id, run.arrived_to)
    return Explanation(pipeline.name, reading.versions, run_id, arrived_to, explained, window)


def _require_windows(pipeline: Pipeline, request: Request) -> None:
    """Raise InputError for a request that the pipeline cannot answer."""
    if request.window_start_ms is None or pipeline.join is None or pipeline.join.by_window:
        return
    kind = "as of a time" if pipeline.join.is_as_of else "by interval"
    raise InputError(
        f"--window: the pipeline joins {kind} and has no windows. Explain rows: --row 'order_id = 17'",
        code=ErrorCode.OPTION_WRONG,
    )


def _arrived(rows: Frames, pipeline: Pipeline, run: Run | None) -> Frames:
    """Return the rows that had arrived for a run."""
    first, second = rows
    if run is None:
        return rows
    if pipeline.join is not None:
        return arrival_slices.arrived_inputs(first, second, pipeline, run)
    return arrival_slices.arrived(first, pipeline, run), None


def _completed(rows: Frames, pipeline: Pipeline) -> Frames:
    """Return the rows with the columns that the pipeline file computes, where each frame has one source."""
    first, second = rows
    if pipeline.join is None:
        return (first if pipeline.sources else with_computed(first, pipeline.source)), None
    left, right = joining(pipeline).inputs
    return with_computed(first, left.source), None if second is None else with_computed(second, right.source)


def _condition(completed: Frames, text: str) -> Sequence[Column | None]:
    """Return the condition of an option for each input. Raises InputError if it is one of no input."""
    frames = [frame for frame in completed if frame is not None]
    misfits = [list(condition_misfits(frame, "--row", text)) for frame in frames]
    if all(misfits):
        raise InputError(misfits[0][0].message, code=misfits[0][0].code)
    return [None if of_frame else F.expr(text) for of_frame in misfits]


def _stream(completed: Frames, pipeline: Pipeline, until_us: int | None, repaired: RepairedWindows) -> Stream:
    first, second = completed
    if pipeline.join is None:
        return streams.of_source(first, pipeline, until_us=until_us, repaired=repaired)
    inputs, names = joining(pipeline), pipeline.join.names
    if pipeline.join.is_as_of:
        return streams.of_as_of_join(first, second, inputs, names, until_us=until_us)
    if pipeline.join.by_interval:
        return streams.of_interval_join(first, second, inputs, bounds(pipeline), names, until_us=until_us)
    return streams.of_window_join(first, second, inputs, pipeline.windows, names, until_us=until_us)


def _window(reading: Reading, stream: Stream, request: Request) -> WindowLife | None:
    if request.window_start_ms is None:
        return None
    key = key_of(stream, request.key or {})
    return explain_window(stream, reading.start_ms(request.window_start_ms), key)


def key_of(stream: Stream, values: Mapping[str, str]) -> dict[str, str | None]:
    """Return the key of the window. Raises InputError unless each column of the key has a value."""
    names = stream.key
    if set(values) != set(names):
        example = ", ".join(f"--key {name}=VALUE" for name in names) or "no --key"
        raise InputError(
            f"--key: found {', '.join(values) or 'no column'}, expected the columns of windows.key: {example}",
            code=ErrorCode.OPTION_WRONG,
        )
    # Null has no text.
    return {name: None if values[name] == "null" else values[name] for name in names}
