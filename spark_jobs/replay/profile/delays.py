"""Delays: the effect of any bound and lateness on late rows, on incomplete windows, and on the time until results.

Law: F_d(w) is the first epoch after which the combined watermark has passed the end of window w, if the bound is d
(rules 10, 21-23; first passage, semantics B4). A row of w exceeds the delay iff it arrives
after F_d(w). With bound B and lateness L, which may differ from the pipeline's,

    on time    does not exceed B             w fires at F_B(w)
    late       exceeds B, but not B + L
    too late   exceeds B + L

So each delay is evaluated once for all settings that need it. A row with several windows counts by its newest window.
All times are milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import emission, window_assigners
from spark_jobs.replay.rows.arrival_order import bucket
from spark_jobs.replay.rows.epochs import Axis, axis
from spark_jobs.replay.rows.prepare import fills_windows, moves_watermark
from spark_jobs.replay.watermark.census import cell_after, census, moving
from spark_jobs.replay.windows import lateness
from spark_jobs.replay.windows.calendar import passages

_SECOND_MS = 1_000


def unweighable(pipeline: Pipeline) -> str | None:
    """Return why other bounds and latenesses need a replay of each; None if they can be weighed."""
    spec, strategy = pipeline.windows, pipeline.watermark.strategy
    reasons = {
        "join: lateness in a join is decided row by row, without windows to weigh": pipeline.join is not None,
        "sources: each of several sources has a separate bound": bool(pipeline.sources),
        f"watermark.strategy: '{strategy.value}' has no bound": not pipeline.watermark.is_bounded,
        "windows.kind: with 'session', other settings make other sessions": spec.is_session,
        "windows.slide: longer than the size, so rows between windows have no window to weigh": spec.have_gaps,
        "windows.late_data: 'update' accepts every row, however late": spec.updates,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def grid_ms(pipeline: Pipeline, delays: Sequence[int], finest_ms: int) -> int:
    """Return the longest step, a divisor of `finest_ms`, that divides the windows and the `delays`."""
    spec = pipeline.windows
    # The clock of a zone changes by whole seconds.
    lengths = (_SECOND_MS,) if spec.are_local else (spec.size_ms, spec.period_ms)
    return math.gcd(*lengths, finest_ms, *delays)


def groups(rows: DataFrame, pipeline: Pipeline, grid_ms: int) -> DataFrame:
    """Return the census of `rows` (prepared, with epoch), with `top_ms`, the highest event time of each group.

    Where rows are epochs `max_ts_ms` is floored to the grid: exact for delays that are multiples of `grid_ms`.
    """
    if axis(pipeline) is Axis.TICKS:
        return census(rows, pipeline).withColumn("top_ms", F.col("max_ts_ms"))
    spec = pipeline.windows
    floored = F.col(c.TS_MS) - F.pmod(F.col(c.TS_MS) - F.lit(spec.offset_ms), F.lit(grid_ms))
    keys = {
        "reason": F.col(c.REASON),
        "kept": F.col(c.KEPT),
        "partition": F.col(c.PARTITION),
        "bucket": F.when(moves_watermark(pipeline), bucket(F.col(c.EPOCH), pipeline)),
        "slice_ms": F.when(F.col(c.VALID), window_assigners.slice_ms(F.col(c.TS_MS), spec)),
        "max_ts_ms": F.when(F.col(c.VALID), floored),
    }
    counted = rows.groupBy(*(key.alias(name) for name, key in keys.items())).agg(
        F.min(c.EPOCH).alias("first_epoch"),
        F.max(c.TS_MS).alias("top_ms"),
        F.max(c.CLOCK_US).alias("last_clock_us"),
        F.count("*").alias("row_count"),
    )
    return counted.withColumn("window_ms", window_assigners.start_ms(F.col("slice_ms"), spec))


def passed(groups: DataFrame, pipeline: Pipeline, delays: Sequence[int]) -> DataFrame:
    """Return `window_ms`, and a column for each of `delays`: the epoch that passes it (null: none before the end)."""
    return passages(groups, pipeline, {_name(delay): cell_after(delay + 1, pipeline) for delay in delays})


def of_groups(groups: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the input of `judged` from the census; only for ticks, where all rows of a group have one lateness."""
    filling = groups.where(F.col("reason").isNull() & F.col("kept"))
    return _placed(filling, F.col("slice_ms"), F.col("window_ms"), F.col("bucket"), F.col("row_count"), pipeline)


def of_rows(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the input of `judged` from single rows."""
    filling = rows.where(fills_windows())
    return _placed(filling, F.col(c.TS_MS), F.col(c.WINDOW_MS), F.col(c.EPOCH), F.lit(1), pipeline)


def judged(filling: DataFrame, passed: DataFrame, delays: Sequence[int]) -> DataFrame:
    """Return `delay_ms, behind, windows_missing, rows`: a row a delay.

    `filling` is `of_groups` or `of_rows`. `rows` is the number of rows in windows, `behind` the number of rows that
    exceed the delay. `windows_missing` is the number of windows that lack a row if no row is accepted after the delay.
    """
    with_passages = filling.join(passed, "window_ms")
    counts, newest = F.col("row_count"), F.col("is_newest")
    sums: dict[str, Column] = {"rows": F.sum(F.when(newest, counts))}
    for delay in delays:
        exceeds = lateness.is_too_late(F.col("epoch"), F.col(_name(delay)))
        sums[f"behind_{delay}"] = F.coalesce(F.sum(F.when(exceeds & newest, counts)), F.lit(0))
        sums[f"missing_{delay}"] = F.max(exceeds)
    by_window = with_passages.groupBy("window_ms").agg(*(column.alias(name) for name, column in sums.items()))
    totals = by_window.agg(
        F.sum("rows").alias("rows"),
        *(F.sum(f"behind_{delay}").alias(f"behind_{delay}") for delay in delays),
        *(F.count_if(F.col(f"missing_{delay}")).alias(f"missing_{delay}") for delay in delays),
    )
    each = (
        F.struct(
            F.lit(delay).cast("long").alias("delay_ms"),
            F.coalesce(f"behind_{delay}", F.lit(0)).alias("behind"),
            F.col(f"missing_{delay}").alias("windows_missing"),
        )
        for delay in delays
    )
    judgements = F.explode(F.array(*each)).alias("judgement")
    return totals.select(judgements, F.coalesce("rows", F.lit(0)).alias("rows")).select("judgement.*", "rows")


def waits(passed: DataFrame, groups: DataFrame, pipeline: Pipeline, delays: Sequence[int]) -> DataFrame:
    """Return the waits for results `delay_ms, windows, fired, mean_ms, max_ms`: a row a delay.

    The watermark passes `fired` of `windows` before the input ends. The times from their ends to their firings
    are `mean_ms` and `max_ms`.
    """
    each = (
        F.struct(F.lit(delay).cast("long").alias("delay_ms"), F.col(_name(delay)).alias("epoch")) for delay in delays
    )
    by_delay = passed.select("window_ms", F.explode(F.array(*each)).alias("passage")).select("window_ms", "passage.*")
    clocked = emission.clocked(by_delay, {"epoch": "clock_us"}, moving(groups, pipeline), pipeline)
    ends_us = window_assigners.end_ms(F.col("window_ms"), pipeline.windows) * F.lit(1000)
    waited = (F.when(F.col("epoch").isNotNull(), F.col("clock_us")) - ends_us) / F.lit(1000)
    return clocked.groupBy("delay_ms").agg(
        F.count("*").alias("windows"),
        F.count("epoch").alias("fired"),
        F.avg(waited).alias("mean_ms"),
        F.max(waited).alias("max_ms"),
    )


def _placed(
    filling: DataFrame, instant: Column, newest: Column, epoch: Column, counts: Column, pipeline: Pipeline
) -> DataFrame:
    """Return `window_ms, is_newest, epoch, row_count`: each row of `filling` once for each of its windows."""
    spec = pipeline.windows
    placed = filling.select(
        instant.alias("instant_ms"), newest.alias("newest_ms"), epoch.alias("epoch"), counts.alias("row_count")
    )
    window = F.col("newest_ms")
    if spec.is_sliding:
        window = F.explode(
            window_assigners.starts_ms(window_assigners.oldest_ms(F.col("instant_ms"), spec), window, spec)
        )
    return placed.select("newest_ms", window.alias("window_ms"), "epoch", "row_count").select(
        "window_ms", (F.col("window_ms") == F.col("newest_ms")).alias("is_newest"), "epoch", "row_count"
    )


def _name(delay_ms: int) -> str:
    return f"passed_{delay_ms}"
