"""Row watermarks: the watermark before each row, which decides whether the row is late and which firing shows it.

Law: W(r) = max { W_i : k_i < epoch(r) } over the advances `W_i` at epochs `k_i`, null (MIN) if there is none (rule 17).

- Where only ticks move the watermark, all rows of an epoch have one value, joined by broadcast.
- Where rows are epochs, each stretch of the arrival order is sorted with its advances, in parallel. Identical rows have
  one position, and only the first precedes its own advance.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import arrival_order
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.watermark import timeline

_BUCKET, _IS_ADVANCE, _STRETCH = c.PREFIX + "bucket", c.PREFIX + "is_advance", c.PREFIX + "stretch_ms"
_SO_FAR, _WITH_OWN, _IS_AGAIN = c.PREFIX + "so_far_ms", c.PREFIX + "with_own_ms", c.PREFIX + "is_again"


def beside(rows: DataFrame, groups: DataFrame, advances: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return `rows` (prepared, with epoch) with `WATERMARK_MS`, the watermark before each; null: MIN.

    `groups` are the census groups that move the watermark, `advances` is `timeline.advances`.
    """
    if timeline.is_exact_by_row(pipeline):
        return timeline.judged(rows, timeline.before(groups, advances, pipeline), pipeline)
    placed = rows.withColumns({_BUCKET: arrival_order.bucket(F.col(c.EPOCH), pipeline), _IS_ADVANCE: F.lit(False)})
    risen = advances.select(
        F.col("epoch").alias(c.EPOCH),
        F.col("watermark_ms").alias(_SO_FAR),
        arrival_order.bucket(F.col("epoch"), pipeline).alias(_BUCKET),
        F.lit(True).alias(_IS_ADVANCE),
    )
    in_order = Window.partitionBy(_BUCKET).orderBy(c.EPOCH, _IS_ADVANCE)
    peers = Window.partitionBy(_BUCKET).orderBy(c.EPOCH)
    steps = placed.unionByName(risen, allowMissingColumns=True).withColumns(
        {
            c.WATERMARK_MS: F.max(_SO_FAR).over(in_order.rowsBetween(Window.unboundedPreceding, 0)),
            _WITH_OWN: F.max(_SO_FAR).over(peers.rangeBetween(Window.unboundedPreceding, 0)),
            _IS_AGAIN: F.lag(c.EPOCH).over(in_order).eqNullSafe(F.col(c.EPOCH)),
        }
    )
    within = F.when(F.col(_IS_AGAIN), F.col(_WITH_OWN)).otherwise(F.col(c.WATERMARK_MS))
    joined = steps.where(~F.col(_IS_ADVANCE)).join(F.broadcast(_at_start(risen, groups)), _BUCKET)
    before = F.greatest(within, F.col(_STRETCH))
    working = (_BUCKET, _IS_ADVANCE, _SO_FAR, _WITH_OWN, _IS_AGAIN, _STRETCH)
    return joined.withColumn(c.WATERMARK_MS, before).drop(*working)


def _at_start(risen: DataFrame, groups: DataFrame) -> DataFrame:
    """Return the watermark at the start of each stretch that has a row: `_BUCKET`, `_STRETCH`."""
    stretches = groups.select(F.col("bucket").alias(_BUCKET), F.lit(None).cast("long").alias(_SO_FAR))
    highest = stretches.unionByName(risen.select(_BUCKET, _SO_FAR)).groupBy(_BUCKET).agg(F.max(_SO_FAR).alias(_SO_FAR))
    # One partition for this window: a row a stretch, not a row an event.
    earlier = Window.partitionBy(F.lit(0)).orderBy(_BUCKET).rowsBetween(Window.unboundedPreceding, -1)
    return highest.select(_BUCKET, F.max(_SO_FAR).over(earlier).alias(_STRETCH))
