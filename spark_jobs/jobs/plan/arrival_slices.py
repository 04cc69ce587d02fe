"""Arrival slices: a run over the rows that arrived before a moment, as if the table ended at that moment.

Law (semantics B7): consecutive arrival slices publish the same results as one run over all of them. A slice ends at a
moment of the clock, not at its last row: emissions until that moment happen, and open windows stay open.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import reduce

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import Option
from spark_jobs.jobs.errors import InputError, StaleError
from spark_jobs.pipeline.model import Order, Pipeline, TimeField
from spark_jobs.pipeline.sources import SOURCE
from spark_jobs.replay.continuation import resume
from spark_jobs.replay.continuation.resume import Resumption
from spark_jobs.replay.rows import event_time, timestamps
from spark_jobs.replay.rows.computed_columns import with_computed
from spark_jobs.semantics.rows.arrival_order import COMMIT_TIMESTAMP
from spark_jobs.session import interpreting
from spark_jobs.tables import ledger, source
from spark_jobs.tables.errors import SourceError
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import ARRIVALS, CHANGED, PARTS, Run
from spark_jobs.tables.published import read_as_of

_CUT = (Order.ARRIVAL, Order.COMMIT)
_BY_COMMIT = TimeField(COMMIT_TIMESTAMP)


def require_slices(pipeline: Pipeline, arrived_to: datetime) -> None:
    """Raise InputError if rows have no arrival time, or may still arrive before `arrived_to`."""
    order, option = pipeline.replay.order, f"{Option.ARRIVED_TO} {arrived_to.isoformat()}"
    if order not in _CUT:
        raise InputError(
            f"{option}: rows have no arrival in replay.order {order}. "
            "Set replay.order to arrival or commit, or leave the option out",
            code=ErrorCode.ARRIVED_TO_REFUSED,
        )
    if arrived_to.microsecond % 1000:
        raise InputError(
            f"{option}: not in whole milliseconds, as emissions are. Round it", code=ErrorCode.ARRIVED_TO_REFUSED
        )
    if arrived_to > datetime.now(UTC):
        raise InputError(
            f"{option}: lies in the future, and rows may still arrive before it. Give a past moment",
            code=ErrorCode.ARRIVED_TO_REFUSED,
        )


def until_us(run: Run) -> int | None:
    """Return the end of the run's arrivals, in microseconds; None: the last row."""
    return None if run.arrived_to is None else timestamps.literal_millis(run.arrived_to) * 1000


def arrived(rows: DataFrame, pipeline: Pipeline, run: Run, number: int | None = None) -> DataFrame:
    """Return the source's rows that the run reads: rows that arrived in time, and rows without an arrival time.

    `number` is the source of all rows. Without it the column `source` names the source, if there are several.
    """
    if run.arrived_to is None:
        return rows
    if pipeline.replay.by_commit:
        return rows.where(_before(rows, _BY_COMMIT, run.arrived_to))
    fields = [united.source.arrival_time for united in pipeline.sources] or [pipeline.source.arrival_time]
    sources = [united.source for united in pipeline.sources] or [pipeline.source]
    if number is not None or not pipeline.sources:
        completed = with_computed(rows, sources[number or 0])
        return completed.where(_before(completed, fields[number or 0], run.arrived_to))
    if any(declared.columns for declared in sources):
        parts = enumerate(pipeline.sources)
        return source.union_rows([arrived(rows.where(F.col(SOURCE) == u.name), pipeline, run, n) for n, u in parts])
    of_each = [
        (F.col(SOURCE) == united.name) & _before(rows, field, run.arrived_to)
        for united, field in zip(pipeline.sources, fields, strict=True)
    ]
    return rows.where(reduce(Column.__or__, of_each))


def arrived_from(rows: DataFrame, pipeline: Pipeline, moment: datetime) -> DataFrame:
    """Return the rows of the pipeline's only source that arrived at `moment` or later."""
    completed = with_computed(rows, pipeline.source)
    return completed.where(_is_from(completed, _arrival_time(pipeline), timestamps.literal_millis(moment) * 1000))


def arrived_inputs(
    left: DataFrame, right: DataFrame | None, pipeline: Pipeline, run: Run
) -> tuple[DataFrame, DataFrame | None]:
    """Return the rows that the run reads of the two inputs of a join; None for the second if one source is split."""
    return arrived(left, pipeline, run, 0), None if right is None else arrived(right, pipeline, run, 1)


def base(spark: SparkSession, lake: Lake, run: Run) -> Run | None:
    """Return the published run that `run` resumes from; None for a run that starts anew.

    Raises StaleError if another run has been published since the plan.
    """
    if run.arrived_from is None:
        return None
    published = ledger.published(spark, lake)
    last = published[-1] if published else None
    if not run.versions:
        require_end(lake, run, last)
    return last


def resumption(spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run, base: Run | None) -> Resumption | None:
    """Return the state from which the run resumes after `base`; None for a run that starts anew."""
    if run.arrived_from is None or base is None:
        return None
    covered_us = timestamps.literal_millis(run.arrived_from) * 1000
    return resume.resumption(read_as_of(interpreting(spark), lake, base, "advances"), covered_us, pipeline)


def require_end(lake: Lake, run: Run, last: Run | None) -> None:
    """Raise StaleError unless `run` may be published after `last`, the run published last.

    - A resumed run begins where `last` ended.
    - A run over a part of time covers the same arrivals.
    - A run over changes follows the run to which it applies them.
    - No run covers fewer arrivals, as a run might that was planned earlier.
    """
    ended = None if last is None else last.arrived_to
    like = last is not None and last.fingerprint == run.fingerprint
    if run.arrived_from is not None:
        fits = like and ended == run.arrived_from
    elif run.kind == CHANGED:
        fits = last is not None and last.run_id == run.changes_run
    elif run.kind == ARRIVALS:
        fits = not like or ended is None or run.arrived_to is None or ended <= run.arrived_to
    else:
        fits = run.kind not in PARTS or last is None or ended == run.arrived_to
    if fits:
        return
    if run.kind == CHANGED:
        newest = "none is published now" if last is None else f"run {last.run_id} was published since"
        raise StaleError(
            f"run {run.run_id} was planned on the changes since run {run.changes_run}, whose results are not the "
            f"published ones of {lake.home} any more ({newest}): plan again"
        )
    raise StaleError(
        f"run {run.run_id} was planned on {_until(run.arrived_from or run.arrived_to)}, which is not where the "
        f"published tables of {lake.home} end any more ({_until(ended)}): plan again"
    )


def _until(moment: datetime | None) -> str:
    return "all arrivals" if moment is None else f"arrivals until {moment:%Y-%m-%d %H:%M:%S} UTC"


def read(spark: SparkSession, pipeline: Pipeline, run: Run) -> DataFrame:
    """Return the rows that have arrived for the run, of all its sources together."""
    entirely = run.arrived_to is None and run.interval.whole
    return arrived(source.events(spark, pipeline, run.pinned, entirely=entirely), pipeline, run)


def mattering(rows: DataFrame, pipeline: Pipeline, resumed: Resumption) -> DataFrame:
    """Return the source's rows that can still affect a resumed run (`resume`)."""
    event, arrival = pipeline.source.event_time, _arrival_time(pipeline)
    came = _is_from(rows, arrival, resumed.since_us) | _is_missing(rows, arrival)
    # Null if a time is missing, which a filter drops. Delta could not use an expression around it to skip files.
    return rows.where(came | _is_from(rows, event, resumed.oldest_ms * 1000))


def _arrival_time(pipeline: Pipeline) -> TimeField:
    if pipeline.source.arrival_time is None:
        raise ValueError(f"{pipeline.name}: source.arrival_time is not declared")
    return pipeline.source.arrival_time


def rewritten(spark: SparkSession, pipeline: Pipeline, since: int, until: int, covered: datetime) -> str | None:
    """Return the change, between two versions of the source, of rows that arrived before `covered`, in words.

    Returns None if nothing has changed: all new rows arrived later or have no arrival time, and have the same columns.
    """
    table, arrival = pipeline.source.table, pipeline.source.arrival_time
    changed = source.row_changes(spark, table, since, until)
    if changed is None:
        return log_is_gone(since, until)
    if changed.removed:
        return files_rewritten(changed, since)
    try:
        if source.read(spark, table, since).schema != source.read(spark, table, until).schema:
            return f"its columns are others than at version {since}"
        early = 0
        for version, files in changed.added.items():
            came = with_computed(source.rows_of_files(spark, table, version, files), pipeline.source)
            if arrival is not None:
                early += came.where(~_is_from(came, arrival, timestamps.literal_millis(covered) * 1000)).count()
    except (SourceError, PySparkException):
        # Files that compaction has replaced are deleted later.
        return f"rows that came after version {since} can no longer be distinguished from earlier rows"
    return f"{early:,} rows that arrived before {covered:%Y-%m-%d %H:%M:%S} UTC came later" if early else None


def log_is_gone(since: int, until: int) -> str:
    """Return in words that the commits between two versions are not known."""
    return f"the log of the versions {since} to {until} is gone"


def files_rewritten(changed: source.RowChanges, since: int) -> str:
    """Return in words how many files were rewritten since a version."""
    return f"{changed.removed} files of version {since} have been rewritten"


def _before(rows: DataFrame, field: TimeField | None, end: datetime) -> Column:
    if field is None:
        return F.lit(True)
    return _is_missing(rows, field) | ~_is_from(rows, field, timestamps.literal_millis(end) * 1000)


def _is_missing(rows: DataFrame, field: TimeField) -> Column:
    value = F.expr(field.expression)
    return value.isNull() if _is_plain(rows, field) else event_time.micros(rows, field).isNull()


def _is_from(rows: DataFrame, field: TimeField, moment_us: int) -> Column:
    """Return whether a time is at a moment or later; null if the time is missing."""
    if _is_plain(rows, field):
        return F.expr(field.expression) >= F.timestamp_micros(F.lit(moment_us))
    return event_time.micros(rows, field) >= F.lit(moment_us)


def _is_plain(rows: DataFrame, field: TimeField) -> bool:
    """Return whether a time is compared without conversion, so that Delta can skip files."""
    return isinstance(rows.select(F.expr(field.expression).alias("value")).schema[0].dataType, T.TimestampType)
