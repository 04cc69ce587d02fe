"""The audit step: the staged tables of a run are checked before readers see them.

Checks are conservation, the invariants of time and the pipeline's expectations. Their results are rows of the table
`quality`, also for a run that is not published. `blocks` decides whether the run may be published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from expectations import EARLIER, LIVE, AuditError, Check, check
from spark_jobs.error_codes import ErrorCode
from spark_jobs.job_protocol import STAGED_SIZES
from spark_jobs.jobs.audit import surroundings
from spark_jobs.jobs.errors import InputError
from spark_jobs.local_rows import local_rows
from spark_jobs.pipeline.model import Drift, Learned, OnFailure, Pipeline
from spark_jobs.pipeline.published_tables import QUALITY
from spark_jobs.replay.profile import silence
from spark_jobs.session import planned_once, shuffling
from spark_jobs.tables import columns, delta_rs_writes, ledger, published, source, staging
from spark_jobs.tables.errors import LakeError, SourceError
from spark_jobs.tables.interval import Interval
from spark_jobs.tables.interval_condition import holds
from spark_jobs.tables.lake import Lake, result_tables
from spark_jobs.tables.ledger import REPAIR, ROLLBACK

TABLE = QUALITY.name

#: A row for each expectation.
SCHEMA = columns.schema(QUALITY)


def audit(
    spark: SparkSession,
    pipeline: Pipeline,
    lake: Lake,
    run_id: str,
    counts: Mapping[str, int],
    interval: Interval = Interval(),  # noqa: B008
    *,
    is_change: bool = False,
) -> list[Check]:
    """Check the staged tables of the run over `interval`.

    `counts` are the run's, from the replay step. `is_change`: all other results stay as they are. Raises InputError for

    - an expectation of the pipeline that cannot be evaluated,
    - a live job's table that cannot be compared,
    - an incomplete set of staged tables.
    """
    names = [*result_tables(pipeline), *([silence.TABLE] if pipeline.quality.max_silence_ms is not None else [])]
    tables = staging.read_by_size(spark, lake, run_id, names)
    try:
        if pipeline.quality.compare_with is not None:
            tables[LIVE] = _live(spark, pipeline.quality.compare_with.table, interval)
        if pipeline.quality.drift is not None:
            tables |= _earlier(spark, lake, pipeline.quality.drift, interval)
        before = _before(spark, pipeline, lake, run_id)
        context = surroundings.measured(spark, pipeline, lake, run_id, interval, is_change=is_change)
        # These rows are sorted or grouped.
        with shuffling(spark, sum(counts.get(name, 0) for name in STAGED_SIZES)), planned_once(spark):
            return check(tables, pipeline, counts, run_id, before, context)
    except AuditError as problem:
        raise InputError(str(problem), code=problem.code) from problem


def _live(spark: SparkSession, table: str, interval: Interval) -> DataFrame:
    """Return the newest results of a live job for the windows of the run. Raises AuditError."""
    try:
        results = source.read(spark, table, source.pinned_version(spark, table))
    except SourceError as problem:
        message = f"quality.compare_with.{str(problem).removeprefix('source.')}"
        raise AuditError(message, code=ErrorCode.LIVE_TABLE_BROKEN) from problem
    # The check of the columns reports a table without windows.
    has_windows = dict(results.dtypes).get("window_start") == "timestamp"
    return results.where(holds(interval, "window_start")) if has_windows else results


def _earlier(spark: SparkSession, lake: Lake, drift: Drift, interval: Interval) -> dict[str, DataFrame]:
    """Return the published results outside `interval`, for a comparison; without such results, no table."""
    earlier_runs = ledger.published(spark, lake)
    if interval.whole or not earlier_runs:
        return {}
    results = published.read_as_of(spark, lake, earlier_runs[-1], "window_results")
    # A day more: the clock of a zone may have been set back.
    reach = timedelta(milliseconds=drift.seasons * drift.every_ms, days=1)
    first = None if interval.start is None else interval.start - reach
    rows = results.where(holds(Interval(first, interval.end), "window_start"))
    return {EARLIER: rows.where(~holds(interval, "window_start"))}


def _before(spark: SparkSession, pipeline: Pipeline, lake: Lake, run_id: str) -> list[Mapping[str, int]]:
    """Return the counts of the published runs of the same settings, newest last, if a limit is learned from them."""
    limits = pipeline.quality
    if not {limits.max_late_ratio, limits.max_too_late_ratio, limits.max_invalid_ratio} & {Learned.LEARNED}:
        return []
    return [
        run.counts
        for run in ledger.published(spark, lake)
        if run.fingerprint == pipeline.fingerprint and run.kind not in (REPAIR, ROLLBACK) and run.run_id != run_id
    ]


def quality(spark: SparkSession, run_id: str, checks: Sequence[Check]) -> DataFrame:
    """Return the checks as rows of the table `quality`."""
    return local_rows(spark, [_values(run_id, check) for check in checks], SCHEMA)


def _values(run_id: str, check: Check) -> tuple[Any, ...]:
    return run_id, check.suite, check.expectation, check.success, check.observed, check.unexpected_count, check.details


def _of_run(run_id: str) -> str:
    return f"run_id = '{run_id}'"


def record(spark: SparkSession, lake: Lake, run_id: str, checks: Sequence[Check]) -> None:
    """Write the checks to the table `quality`; they replace those of an earlier audit of the same run.

    delta-rs writes the table. Where it cannot, Spark does, in a local folder: tables of other features, other writers.
    Raises LakeError.
    """
    rows = [dict(zip(SCHEMA.names, _values(run_id, check), strict=True)) for check in checks]
    try:
        delta_rs_writes.replace(lake.path(TABLE), QUALITY, rows, _of_run(run_id))
    except LakeError:
        if lake.folder is None:
            raise
        record_by_spark(spark, lake, run_id, checks)


def record_by_spark(spark: SparkSession, lake: Lake, run_id: str, checks: Sequence[Check]) -> None:
    """Write the checks as `record` does, in any file system that Spark writes to."""
    (
        quality(spark, run_id, checks)
        .coalesce(1)
        .write.format("delta")
        .mode("overwrite")
        .option("replaceWhere", _of_run(run_id))
        .save(lake.path(TABLE))
    )


def failed(checks: Sequence[Check]) -> list[Check]:
    """Return the checks that failed, in their order."""
    return [c for c in checks if not c.success]


def blocks(checks: Sequence[Check], pipeline: Pipeline) -> bool:
    """Return whether the checks block the publication."""
    return pipeline.quality.on_failure is not OnFailure.WARN and any(check.blocks for check in failed(checks))


def failure_message(checks: Sequence[Check]) -> str:
    """Return the failed checks for a log: their number, then each with its expectation, the value and an example."""
    broken = failed(checks)
    lines = [f"{len(broken)} of {len(checks)} checks failed"]
    for failure in broken:
        lines += [
            f"  {failure.suite}: {failure.expectation}",
            f"    expected: {failure.description}",
            f"    found:    {failure.observed}",
        ]
        lines += [f"    such as:  {example}" for example in failure.details.splitlines()]
    return "\n".join(lines)
