"""The lines of a report over time: the watermark, the watermarks of source partitions, and completeness."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.report import data as d
from spark_jobs.report import reduced


def line(watermarks: DataFrame) -> d.WatermarkLine:
    """Return the watermark at the emissions that fired windows."""
    groups = reduced.line(reduced.firings(watermarks)).collect()
    points = sorted({tuple(point) for row in groups for point in (row.first, row.last, row.farthest)})
    rest = reduced.unplotted(watermarks).collect()[0]
    return d.WatermarkLine(
        fires_at_ms=tuple(fires for fires, _ in points),
        watermark_ms=tuple(reached for _, reached in points),
        firings=sum(row.firings for row in groups),
        at_end=rest.at_end,
        still_open=rest.still_open,
    )


def partitions(watermarks: DataFrame) -> d.PartitionLines:
    """Return the watermarks of the source partitions that were farthest behind; empty for fewer than two partitions."""
    if "partition_watermarks" not in watermarks.columns:
        return d.PartitionLines()
    each = reduced.of_partitions(watermarks).persist()
    try:
        chosen = reduced.farthest_partitions(each).collect()
        # The watermark of a single partition is the combined watermark.
        if not chosen or chosen[0].partitions < 2:
            return d.PartitionLines()
        names = [row.name for row in chosen]
        points_of_partitions = each.where(F.col("name").isin(names)).collect()
    finally:
        each.unpersist()
    points = sorted({(row.fires_ms, row.watermark_ms, row.emissions) for row in points_of_partitions})
    own = {(row.name, row.fires_ms): row.own_ms for row in points_of_partitions}
    return d.PartitionLines(
        fires_at_ms=tuple(fires for fires, _, _ in points),
        watermark_ms=tuple(reached for _, reached, _ in points),
        lines=tuple(_partition(name, points, own) for name in names),
        partitions=chosen[0].partitions,
        emissions=sum(emissions for _, _, emissions in points),
    )


def _partition(
    name: str, points: list[tuple[int, int, int]], own: Mapping[tuple[str, int], int | None]
) -> d.PartitionLine:
    marks = [own.get((name, fires)) for fires, _, _ in points]
    # A partition is not idle before it exists.
    idle = (
        (name, fires) in own and (mark is None or mark < reached)
        for mark, (fires, reached, _) in zip(marks, points, strict=True)
    )
    return d.PartitionLine(name, tuple(marks), tuple(idle))


def completeness(windows: DataFrame, late_events: DataFrame, pipeline: Pipeline, stretch_ms: int) -> d.Completeness:
    """Return the rows in results and the too late rows over time; empty if results do not contain all accepted rows.

    `windows` are those of `results_over_time.of_windows`.
    """
    spec = pipeline.windows
    if pipeline.join is not None or spec.discards or spec.trigger.counts_rows or spec.drops_late:
        return d.Completeness()
    points = reduced.completeness(windows, late_events, stretch_ms).collect()
    points.sort(key=lambda row: row.start_ms)
    return d.Completeness(
        starts_ms=tuple(row.start_ms for row in points),
        ends_ms=tuple(row.end_ms for row in points),
        taken=tuple(row.taken for row in points),
        missed=tuple(row.missed for row in points),
    )
