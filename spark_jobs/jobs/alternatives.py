"""What other settings would have given: rows on time, late and too late for other bounds and latenesses.

The census of a run holds, for each source partition, epoch and window, how many rows there are. All rows of a group
share their fate under any bound and lateness, so the counts are exact and no event is read again. A row with several
windows meets the fate that its newest has for it. Where rows are epochs there are no such groups, and no alternatives;
nor of joins or several sources, where a strategy has no bound, late rows update results whatever the lateness, or
windows leave gaps and a row's own time decides, or for sessions, whose windows themselves would be others.
"""

from __future__ import annotations

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import LateData, Pipeline, Strategy
from spark_jobs.replay import lateness, windows
from spark_jobs.replay.calendar import passages
from spark_jobs.replay.census import cell_after, gathered
from spark_jobs.replay.epochs import Axis, axis
from spark_jobs.tables import staging
from spark_jobs.tables.lake import Lake
from spark_jobs.tables.ledger import Run

_BOUNDED = (Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS)


def alternatives(spark: SparkSession, pipeline: Pipeline, lake: Lake, run: Run) -> list[dict[str, int]]:
    """The run's own settings and others around them.

    An entry has `out_of_orderness` and `allowed_lateness` (milliseconds), and the rows `on_time`, `late`, `too_late` of
    the whole source; none where there are no alternatives. One job, whatever the number of entries.
    """
    if pipeline.join is not None:
        return []
    spec = pipeline.windows
    no_groups = axis(pipeline) is not Axis.TICKS or windows.have_gaps(spec) or spec.kind == windows.SESSION
    if (
        no_groups
        or pipeline.sources
        or pipeline.watermark.strategy not in _BOUNDED
        or spec.late_data is LateData.UPDATE
    ):
        return []
    groups = gathered(staging.found(spark, lake, run.run_id, "census"))
    others = _others(pipeline)
    delays = {delay for bound, allowed in others for delay in (_fires(bound), _fires(bound) + allowed)}
    passed = passages(groups, pipeline, {_name(delay): cell_after(delay, pipeline) for delay in sorted(delays)})
    filling = groups.where(F.col("reason").isNull() & F.col("kept"))
    judged = filling.join(F.broadcast(passed), "window_ms")
    sums: dict[str, Column] = {}
    for i, (bound, allowed) in enumerate(others):
        on_time = lateness.is_on_time(F.col("bucket"), F.col(_name(_fires(bound))))
        too_late = lateness.is_too_late(F.col("bucket"), F.col(_name(_fires(bound) + allowed)))
        fates = {"on_time": on_time, "late": ~on_time & ~too_late, "too_late": too_late}
        sums |= {f"{fate}_{i}": F.sum(F.when(holds, F.col("row_count"))) for fate, holds in fates.items()}
    row = judged.agg(*(n.alias(name) for name, n in sums.items())).collect()[0]
    return [
        {
            "out_of_orderness": bound,
            "allowed_lateness": allowed,
            **{fate: int(row[f"{fate}_{i}"] or 0) for fate in ("on_time", "late", "too_late")},
        }
        for i, (bound, allowed) in enumerate(others)
    ]


def _others(pipeline: Pipeline) -> list[tuple[int, int]]:
    """Bounds and latenesses worth comparing with: half and double the bound; no lateness and double."""
    bound, allowed = pipeline.watermark.out_of_orderness_ms, pipeline.windows.allowed_lateness_ms
    bounds = [bound] if pipeline.watermark.strategy is Strategy.MONOTONOUS else [bound // 2, bound, bound * 2]
    return list(dict.fromkeys((b, a) for b in bounds for a in (0, allowed, allowed * 2)))


def _fires(bound_ms: int) -> int:
    """How far the watermark stays behind the highest event time (rule 10)."""
    return bound_ms + 1


def _name(delay_ms: int) -> str:
    return f"passed_{delay_ms}"
