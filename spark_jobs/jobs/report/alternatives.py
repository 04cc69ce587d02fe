"""What other settings would have given: rows on time, late and too late for other bounds and latenesses.

The census of a run holds, for each source partition, epoch and window, how many rows there are. All rows of a group
share their fate under any bound and lateness (`stage.profile.delays`), so the counts are exact and no event is read
again. Where rows are epochs there are no such groups, and no alternatives; nor where other settings cannot be weighed
at all. `tidemark advise` reads the source, and knows more of them.
"""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.profile import delays
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.watermark.census import gathered
from spark_jobs.tables import staging
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run


def alternatives(spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run) -> list[dict[str, int]]:
    """The run's own settings and others around them.

    An entry has `out_of_orderness` and `allowed_lateness` (milliseconds), and the rows `on_time`, `late`, `too_late` of
    the whole source; none where there are no alternatives. One job, whatever the number of entries.
    """
    if delays.unweighable(pipeline) is not None or axis(pipeline) is not Axis.TICKS:
        return []
    groups = gathered(staging.read_work(spark, lake, run.run_id, "census"))
    others = _others(pipeline)
    wanted = sorted({delay for bound, allowed in others for delay in (bound, bound + allowed)})
    passed = F.broadcast(delays.passed(groups, pipeline, wanted))
    told = delays.judged(delays.of_groups(groups, pipeline), passed, wanted).collect()
    rows, behind = told[0]["rows"], {row["delay_ms"]: int(row["behind"]) for row in told}
    return [
        {
            "out_of_orderness": bound,
            "allowed_lateness": allowed,
            "on_time": int(rows) - behind[bound],
            "late": behind[bound] - behind[bound + allowed],
            "too_late": behind[bound + allowed],
        }
        for bound, allowed in others
    ]


def _others(pipeline: Pipeline) -> list[tuple[int, int]]:
    """Bounds and latenesses worth comparing with: half and double the bound; no lateness and double."""
    bound, allowed = pipeline.watermark.bound_ms, pipeline.windows.allowed_lateness_ms
    bounds = [bound] if not pipeline.watermark.has_bound else [bound // 2, bound, bound * 2]
    return list(dict.fromkeys((b, a) for b in bounds for a in (0, allowed, allowed * 2)))
