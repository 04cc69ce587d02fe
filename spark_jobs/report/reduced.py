"""The tables of a run reduced for charts: at most a few thousand rows, from tables of any size.

No range is cut off: neighbours are combined, and samples are even and counted. Instants are long columns of
milliseconds. The DataFrames are lazy.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.report.bins import Bins
from spark_jobs.semantics.rows.carried_columns import carried_name
from spark_jobs.semantics.rows.instants import END_OF_INPUT

LINE_GROUPS = 700
PARTITION_POINTS = 240
PARTITIONS = 8
COMPLETENESS_POINTS = 500
MARKS = 2500
HEAVIEST = 10
EXAMPLES = 5

_END_MS = round(END_OF_INPUT.timestamp() * 1000)


def firings(watermarks: DataFrame) -> DataFrame:
    """Return the emissions that fired windows: `fires_ms`, `watermark_ms`; without the end of the input."""
    reached = F.unix_millis("watermark_at_fire")
    return _fired(watermarks).groupBy("fires_ms").agg(F.max(reached).alias("watermark_ms"))


def line(emissions: DataFrame) -> DataFrame:
    """Groups of neighbouring emissions: `first`, `last` and `farthest` behind arrival; `firings` counts them."""
    point = F.struct("fires_ms", "watermark_ms")
    return (
        grouped(emissions, "fires_ms", LINE_GROUPS)
        .groupBy("group")
        .agg(
            F.min_by(point, "fires_ms").alias("first"),
            F.max_by(point, "fires_ms").alias("last"),
            F.max_by(point, F.col("fires_ms") - F.col("watermark_ms")).alias("farthest"),
            F.count("*").alias("firings"),
        )
    )


def of_partitions(watermarks: DataFrame) -> DataFrame:
    """Return watermarks of source partitions: `fires_ms, watermark_ms, emissions, name, own_ms`.

    A row is a partition at the last emission of a group of neighbours; `emissions` is the size of the group.
    """
    last = F.max_by(F.struct("fires_ms", "watermark_ms"), "fires_ms").alias("last")
    groups = grouped(firings(watermarks), "fires_ms", PARTITION_POINTS).groupBy("group")
    points = groups.agg(last, F.count("*").alias("emissions")).select("last.*", "emissions")
    # All windows of an emission have equal partition watermarks.
    by_emission = _fired(watermarks).dropDuplicates(["fires_ms"])
    each = by_emission.join(F.broadcast(points), "fires_ms").select(*points.columns, F.inline("partition_watermarks"))
    own = F.unix_millis("watermark").alias("own_ms")
    return each.where("source_partition is not null").select(
        *points.columns, F.col("source_partition").alias("name"), own
    )


def farthest_partitions(of_partitions: DataFrame) -> DataFrame:
    """Return the partitions farthest behind arrival on average: `name, behind_ms`, and `partitions`, their number."""
    behind = F.avg(F.col("fires_ms") - F.col("own_ms")).alias("behind_ms")
    each = of_partitions.groupBy("name").agg(behind)
    alone = Window.partitionBy(F.lit(0))
    counted = each.withColumn("partitions", F.count("*").over(alone))
    return counted.orderBy(F.desc_nulls_first("behind_ms"), "name").limit(PARTITIONS)


def completeness(windows: DataFrame, late_events: DataFrame, stretch_ms: int = 0) -> DataFrame:
    """Return rows of all keys and of neighbouring windows: `start_ms, end_ms, taken, missed`.

    `windows` are those of `results_over_time.of_windows`. The windows that start in one stretch of `stretch_ms` are a
    point.
    The missed rows of a window are those that its result counts, or without a result those in `late_events`.
    """
    window = [F.unix_millis("window_start").alias("start_ms"), F.unix_millis("window_end").alias("end_ms")]
    in_results = windows.select("start_ms", "end_ms", "taken", "counted")
    late = late_events.where("window_start is not null").groupBy(*window).agg(F.count("*").alias("late"))
    per_window = (
        in_results.unionByName(late, allowMissingColumns=True)
        .groupBy("start_ms", "end_ms")
        .agg(
            F.coalesce(F.sum("taken"), F.lit(0)).alias("taken"),
            F.coalesce(F.greatest(F.sum("counted"), F.sum("late")), F.lit(0)).alias("missed"),
        )
    )
    sums = [F.sum(name).alias(name) for name in ("taken", "missed")]
    if stretch_ms:
        per_window = stretched(per_window, stretch_ms).groupBy("start_ms", "end_ms").agg(*sums)
    groups = grouped(per_window, "start_ms", COMPLETENESS_POINTS).groupBy("group")
    return groups.agg(F.min("start_ms").alias("start_ms"), F.max("end_ms").alias("end_ms"), *sums).drop("group")


def unplotted(watermarks: DataFrame) -> DataFrame:
    """Return the numbers of windows that no emission fired: `at_end` by the end of the input, `still_open`."""
    return watermarks.agg(
        F.count_if(F.unix_millis("watermark_at_fire") >= F.lit(_END_MS)).alias("at_end"),
        F.count_if(F.col("fires_at").isNull()).alias("still_open"),
    )


def marks(panes: DataFrame, late_events: DataFrame) -> DataFrame:
    """Return late rows by place in a chart: `too_late, arrived_ms, start_ms, end_ms, watermark_ms, lateness_ms, rows`.

    A late pane represents a late row, if each late row fires its window. Lateness is the watermark minus the window's
    last millisecond (rule 51). For a row without a window it is the watermark minus the event time (rule 53).
    """
    own = F.unix_millis("event_time")
    judged = {
        "window_start": F.coalesce("window_start", F.timestamp_millis(own)),
        "window_end": F.coalesce("window_end", F.timestamp_millis(own + F.lit(1))),
    }
    late = _late(panes.where("timing = 'late'"), F.lit(False), "fired_at")
    too_late = _late(late_events.withColumns(judged), F.lit(True), "arrival_time")
    places = ["too_late", "arrived_ms", "start_ms", "end_ms", "watermark_ms"]
    lateness = F.col("watermark_ms") - (F.col("end_ms") - F.lit(1))
    placed = late.unionByName(too_late).groupBy(*places).agg(F.count("*").alias("rows"))
    return placed.withColumn("lateness_ms", lateness)


def even_sample(marks: DataFrame, *, too_late: bool) -> DataFrame:
    """Return a deterministic, uniform sample of at most `MARKS` of the marks with an arrival."""
    order = F.xxhash64("arrived_ms", "start_ms", "watermark_ms")
    # In the order of offsets the arrival of a row may be unknown: such a row is in no chart of arrivals.
    arrived = marks.where((F.col("too_late") == F.lit(too_late)) & F.col("arrived_ms").isNotNull())
    return arrived.orderBy(order, "arrived_ms", "start_ms").limit(MARKS)


def by_magnitude(marks: DataFrame) -> DataFrame:
    """Return `too_late, magnitude, rows, marks, longest_ms`: lateness in `[2^(magnitude-1), 2^magnitude)` or 0."""
    magnitude = F.when(F.col("lateness_ms") < 1, 0).otherwise(F.length(F.bin("lateness_ms")))
    return marks.groupBy("too_late", magnitude.alias("magnitude")).agg(
        F.sum("rows").alias("rows"), F.count("*").alias("marks"), F.max("lateness_ms").alias("longest_ms")
    )


def by_lateness(marks: DataFrame, bins: Bins) -> DataFrame:
    """Return `too_late, bin, rows`: rows by the number of their bin; the last bin includes all later rows."""
    place = F.floor((F.col("lateness_ms") - F.lit(bins.allowed_ms)) / F.lit(bins.width_ms))
    return marks.groupBy("too_late", F.least(place, F.lit(bins.last)).alias("bin")).agg(F.sum("rows").alias("rows"))


def heaviest_windows(late_events: DataFrame) -> DataFrame:
    """Return the windows with most too late rows: `start_ms, end_ms, rows, late_by_ms`.

    `watermark_ms` is the highest watermark before these rows. `first_ms` and `last_ms` are their first and last
    arrival, null where arrivals have no time.
    """
    window = [F.unix_millis("window_start").alias("start_ms"), F.unix_millis("window_end").alias("end_ms")]
    arrived = F.unix_millis("arrival_time")
    more = [
        F.max(F.unix_millis("watermark")).alias("watermark_ms"),
        F.min(arrived).alias("first_ms"),
        F.max(arrived).alias("last_ms"),
    ]
    return _heaviest(late_events.where("window_start is not null"), window, ["start_ms"], more)


def heaviest_keys(late_events: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the keys with most too late rows: `k0`, `k1`, ... as text, `rows, late_by_ms`."""
    keys = _keys_of_late_events(late_events, pipeline)
    return _heaviest(late_events, keys, [f"k{i}" for i in range(len(keys))])


def _keys_of_late_events(late_events: DataFrame, pipeline: Pipeline) -> list[Column]:
    names = [carried_name(late_events.schema, name) for name in pipeline.windows.key]
    return [F.col(f"`{name}`").cast("string").alias(f"k{i}") for i, name in enumerate(names)]


def late_rows(late_events: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return a few too late rows, the farthest behind first: `k0`, ... as text, `event_ms`, `arrived_ms`, `end_ms`.

    `watermark_ms` is the watermark before the row. A join has no columns of the key.
    """
    keys = [] if pipeline.join is not None else _keys_of_late_events(late_events, pipeline)
    times = {
        "event_ms": "event_time",
        "arrived_ms": "arrival_time",
        "end_ms": "window_end",
        "watermark_ms": "watermark",
    }
    instants = [F.unix_millis(column).alias(name) for name, column in times.items()]
    order = [F.desc("late_by_ms"), F.col("event_ms"), *(F.col(f"k{i}") for i in range(len(keys)))]
    return late_events.select(*keys, *instants, "late_by_ms").orderBy(*order).limit(EXAMPLES)


def reasons(invalid_events: DataFrame) -> DataFrame:
    """Return the number of invalid rows by reason: `reason, rows`."""
    return invalid_events.groupBy("reason").agg(F.count("*").alias("rows"))


def _fired(watermarks: DataFrame) -> DataFrame:
    """Return the windows that an emission fired, with `fires_ms`."""
    by_emission = F.unix_millis("watermark_at_fire") < F.lit(_END_MS)
    fired = watermarks.where(F.col("fires_at").isNotNull() & by_emission)
    return fired.withColumn("fires_ms", F.unix_millis("fires_at"))


def _late(rows: DataFrame, too_late: Column, arrived: str) -> DataFrame:
    return rows.select(
        too_late.alias("too_late"),
        F.unix_millis(arrived).alias("arrived_ms"),
        F.unix_millis("window_start").alias("start_ms"),
        F.unix_millis("window_end").alias("end_ms"),
        F.unix_millis("watermark").alias("watermark_ms"),
    )


def _heaviest(
    late_events: DataFrame, by: Sequence[Column], ties: Sequence[str], more: Sequence[Column] = ()
) -> DataFrame:
    measures = [F.count("*").alias("rows"), F.max("late_by_ms").alias("late_by_ms"), *more]
    counted = late_events.groupBy(*by).agg(*measures)
    return counted.orderBy(F.desc("rows"), *ties).limit(HEAVIEST)


def stretched(per_window: DataFrame, stretch_ms: int) -> DataFrame:
    """Return the windows with the bounds of the stretch in which each starts."""
    start = F.col("start_ms") - F.pmod(F.col("start_ms"), F.lit(stretch_ms))
    return per_window.withColumn("start_ms", start).withColumn("end_ms", F.col("start_ms") + F.lit(stretch_ms))


def grouped(rows: DataFrame, by: str, at_most: int) -> DataFrame:
    """Return `rows` with `group`: at most `at_most` groups of equal size, in the order of `by`."""
    # One partition is intended: a row a window. Spark warns of a window without a partition, not of one with a single
    # partition.
    alone = Window.partitionBy(F.pmod(F.col(by), F.lit(1)))
    size = F.ceil(F.count("*").over(alone) / F.lit(at_most))
    rank = F.row_number().over(alone.orderBy(by)) - F.lit(1)
    return rows.withColumn("group", F.floor(rank / size))
