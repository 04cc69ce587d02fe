"""The step maintain: the maintenance of a pipeline's folder, by `maintenance` of its file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from spark_jobs.job_protocol import StepName, StepResult, StepState
from spark_jobs.jobs import progress
from spark_jobs.jobs.operate import maintain as maintenance
from spark_jobs.pipeline.model import Pipeline, Upkeep
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.retention import Retention


def maintain(spark: SparkSession, pipeline: Pipeline, lake: Lake, wait_s: float) -> StepResult:
    """Maintain the folder; returns how many files were merged and removed. Raises LockedError, InputError.

    Waits up to `wait_s` seconds for runs of the pipeline.
    """
    upkeep = pipeline.maintenance or Upkeep()
    policy = Retention(datetime.now(UTC), timedelta(milliseconds=upkeep.retain_ms), upkeep.keep_runs)
    ended = maintenance.maintain(spark, lake, policy, wait_s=wait_s, progress=progress.to_stderr)
    files, size = ended.removed
    counts = {
        "tables_compacted": len(ended.compacted),
        "files_before": sum(compaction.before for compaction in ended.compacted),
        "files_after": sum(compaction.after for compaction in ended.compacted),
        "files_removed": files,
        "bytes_removed": size,
        "runs_lost": len(ended.lost),
        "runs_kept": len(ended.kept),
    }
    for note in ended.notes:
        progress.to_stderr(StepName.MAINTAIN, note)
    merged = f"{counts['files_before']:,} files merged to {counts['files_after']:,}"
    message = f"{merged}, {files:,} files removed" if files or ended.compacted else "nothing to do"
    state = StepState.DONE if files or ended.compacted or ended.lost else StepState.UNCHANGED
    return StepResult(StepName.MAINTAIN, "", pipeline.name, state, message, counts)
