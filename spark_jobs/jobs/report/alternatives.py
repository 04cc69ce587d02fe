"""Alternatives: the numbers of rows on time, late and too late for other bounds and latenesses.

The census of a run counts rows by source partition, epoch and window. All rows of a group have one lateness under any
bound (`replay.profile.delays`), so the counts are exact and no event is read again. There are no alternatives if rows
are epochs, or if other settings cannot be weighed. `tidemark advise` reads the source and weighs more settings.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from spark_jobs.job_protocol import StepName
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.profile import delays
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.watermark.census import gathered
from spark_jobs.session import for_rows
from spark_jobs.tables import staging
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import CHANGED, Run


def alternatives(spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run) -> list[dict[str, int]]:
    """Return the numbers for the run's settings and for settings around them.

    An entry has `out_of_orderness` and `allowed_lateness` (milliseconds), and the rows `on_time`, `late`, `too_late` of
    the whole source. One job computes all entries. A run that is not replayed, that resumes another, over changes, or
    whose census is removed has none.
    """
    if delays.unweighable(pipeline) is not None or axis(pipeline) is not Axis.TICKS:
        return []
    if run.finished_step(StepName.REPLAY) is None or run.arrived_from is not None or run.kind == CHANGED:
        return []
    if not staging.has_work(lake, run.run_id, "census"):
        return []
    settings = _settings_around(pipeline)
    weighed = sorted({delay for bound, allowed in settings for delay in (bound, bound + allowed)})
    # Each delay is a passage of all groups.
    size = staging.read_work(spark, lake, run.run_id, "census").count() * len(weighed)
    groups = gathered(staging.read_work(for_rows(spark, size), lake, run.run_id, "census"))
    passed = delays.passed(groups, pipeline, weighed)
    judged = delays.judged(delays.of_groups(groups, pipeline), passed, weighed).collect()
    rows, behind = judged[0]["rows"], {row["delay_ms"]: int(row["behind"]) for row in judged}
    return [
        {
            "out_of_orderness": bound,
            "allowed_lateness": allowed,
            "on_time": int(rows) - behind[bound],
            "late": behind[bound] - behind[bound + allowed],
            "too_late": behind[bound + allowed],
        }
        for bound, allowed in settings
    ]


def _settings_around(pipeline: Pipeline) -> list[tuple[int, int]]:
    """Return bounds and latenesses to compare: half and double the bound; no lateness and double the lateness."""
    bound, allowed = pipeline.watermark.bound_ms, pipeline.windows.allowed_lateness_ms
    bounds = [bound] if not pipeline.watermark.has_bound else [bound // 2, bound, bound * 2]
    return list(dict.fromkeys((b, a) for b in bounds for a in (0, allowed, allowed * 2)))
