"""Late panes: what a window fires for the rows that come when it has fired, and has not been cleaned up yet.

Law: each late row fires a pane of its own: everything so far, or with discarding accumulation the row alone (rules 64,
68). Gathered, the late rows of one epoch and (key, window) fire one pane, when the epoch's emission comes: everything
so far, or these rows alone; an emission that never comes fires nothing, but for the end of the input.
"""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from spark_jobs.pipeline.model import Pipeline
from spark_jobs.replay.panes import aggregates, pane_columns
from spark_jobs.replay.panes.aggregates import ROW_COUNT, aggregate_column, aggregated, finished
from spark_jobs.replay.panes.on_time_panes import INDEX, contract
from spark_jobs.replay.panes.per_epoch import EMITTED_US
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import keys, timestamps
from spark_jobs.replay.rows.keys import key_columns
from spark_jobs.replay.rows.prepare import quoted

_IS_LATE = c.PREFIX + "is_late"
_FIRES = c.PREFIX + "fires"  # whether the row is the one that fires a pane: a late one, the last of what is gathered
_RANK = c.PREFIX + "rank"
_OF = c.PREFIX + "of_"


def late_panes(
    late: DataFrame, rows: DataFrame, first: DataFrame, pipeline: Pipeline, emissions: DataFrame | None = None
) -> DataFrame:
    """The panes that late rows fire: the columns of `panes`.

    `late` is `window_slices.late_pairs`, `rows` is `window_slices.on_time_pairs`, `first` their on-time panes with
    states. Where the aggregates can be continued, `rows` is not read; otherwise only the windows that hold a late row
    are. The watermark never falls, so on-time rows come before late ones, in whatever order among themselves.
    `emissions` (`per_epoch.emissions`) is given where late rows are gathered.
    """
    going_on = aggregates.continued(rows, pipeline)
    gathered = emissions is not None
    if going_on is None:
        fired = _from_rows(late, rows, pipeline, gathered=gathered)
    else:
        fired = _from_states(late, first, going_on, pipeline, gathered=gathered)
    clock = c.CLOCK_US
    if emissions is not None:
        fired, clock = fired.join(F.broadcast(emissions), c.EPOCH), EMITTED_US
    return contract(
        fired,
        pipeline,
        F.col(INDEX),
        F.lit("late"),
        F.timestamp_micros(clock),
        timestamps.from_millis(F.col(c.WATERMARK_MS)),
    )


def _from_states(
    late: DataFrame, first: DataFrame, going_on: list[aggregates.Continued], pipeline: Pipeline, *, gathered: bool
) -> DataFrame:
    """The late firings, from the states of on-time panes and of late rows."""
    names = aggregates.state_columns(going_on)
    parts = [part for a in going_on for part in a.parts]
    stored = iter(aggregates.stored_columns(going_on))
    held = [a.name if len(a.parts) == 1 else next(stored) for a in going_on for _ in a.parts]
    states = [F.col(quoted(h)).alias(name) for h, name in zip(held, names, strict=True)]
    started = _touched(first.withColumn(c.WINDOW_MS, F.unix_millis("window_start")), late, pipeline)
    base = started.select(
        *key_columns(pipeline), c.WINDOW_MS, *states, F.col("row_count").alias(ROW_COUNT), F.lit(False).alias(_IS_LATE)
    )
    own = [part.of_row.alias(name) for part, name in zip(parts, names, strict=True)]
    single = [F.lit(1).cast("long").alias(ROW_COUNT), F.lit(True).alias(_IS_LATE)]
    comes = late.select(*key_columns(pipeline), c.WINDOW_MS, *own, *single, *_behind(gathered=gathered))
    steps = _numbered(comes.unionByName(base, allowMissingColumns=True), pipeline, gathered=gathered)
    frame = _frame(pipeline, gathered=gathered)
    merged = {n: p.merge(F.col(n)).over(frame) for p, n in zip(parts, names, strict=True)}
    running = steps.withColumns({**merged, ROW_COUNT: F.sum(ROW_COUNT).over(frame)})
    return running.withColumns(finished(going_on)).where(_fires(gathered=gathered))


def _from_rows(late: DataFrame, rows: DataFrame, pipeline: Pipeline, *, gathered: bool) -> DataFrame:
    """The late firings, from all rows of their windows.

    Spark cannot frame every aggregate (DISTINCT, FILTER, expressions of several): those are computed again from the
    rows of the frame, for each firing.
    """
    needed = [*(F.col(quoted(n)) for n in rows.columns if not n.startswith(c.PREFIX)), F.col(c.WINDOW_MS)]
    again = _touched(rows, late, pipeline).select(*needed, F.lit(False).alias(_IS_LATE))
    comes = late.select(*needed, *_behind(gathered=gathered), F.lit(True).alias(_IS_LATE))
    steps = _numbered(comes.unionByName(again, allowMissingColumns=True), pipeline, gathered=gathered)
    if pane_columns.asked(rows.columns, pipeline):
        return _recomputed(steps, pipeline, gathered=gathered)
    frame = _frame(pipeline, gathered=gathered)
    columns = [F.expr(a.expression).over(frame).alias(aggregate_column(a.name)) for a in pipeline.windows.aggregates]
    try:
        running = steps.select("*", *columns, F.count("*").over(frame).alias(ROW_COUNT))
    except AnalysisException:
        return _recomputed(steps, pipeline, gathered=gathered)
    return running.where(_fires(gathered=gathered))


def _recomputed(steps: DataFrame, pipeline: Pipeline, *, gathered: bool) -> DataFrame:
    names, told = _window(pipeline), [c.CLOCK_US, c.WATERMARK_MS, INDEX, *([c.EPOCH] if gathered else [])]
    of_rank, of = F.col(_OF + "rank"), [F.col(f"{_OF}{i}") for i in range(len(names))]
    fires = steps.where(_fires(gathered=gathered)).select(
        *(F.col(quoted(n)).alias(f"{_OF}{i}") for i, n in enumerate(names)),
        F.col(_RANK).alias(_OF + "rank"),
        *(F.col(name).alias(_OF + name) for name in told),
    )
    same = [F.col(quoted(n)).eqNullSafe(o) for n, o in zip(names, of, strict=True)]
    frames = steps.join(fires, [*same, _reach(of_rank, pipeline, gathered=gathered)])
    watermark = timestamps.from_millis(F.col(_OF + c.WATERMARK_MS))
    asked = pane_columns.asked((n for n in steps.columns if not n.startswith(c.PREFIX)), pipeline)
    shown = pane_columns.told(F.col(c.WINDOW_MS), F.lit(pipeline.windows.size_ms), watermark)
    return (
        pane_columns.beside(frames, shown, pipeline)
        .groupBy(
            *(o.alias(n) for o, n in zip(of, names, strict=True)),
            of_rank,
            *(F.col(_OF + name).alias(name) for name in told),
            *asked,
        )
        .agg(*aggregated(pipeline))
    )


def _reach(of_rank: Column, pipeline: Pipeline, *, gathered: bool) -> Column:
    """Whether a pane holds the row, by the rank of the row that fires it."""
    if not pipeline.windows.discards:
        return F.col(_RANK) <= of_rank
    return (F.col(c.EPOCH) == F.col(_OF + c.EPOCH)) & (F.col(_RANK) <= of_rank) if gathered else F.col(_RANK) == of_rank


def _numbered(steps: DataFrame, pipeline: Pipeline, *, gathered: bool) -> DataFrame:
    """With the number of the pane that each late row fires, or that the next to fire one does.

    The on-time rows made pane 0, if there were any; the firings before this row made one each.
    """
    in_order = _in_order(pipeline)
    before = in_order.rowsBetween(Window.unboundedPreceding, 0)
    late = F.col(_IS_LATE).cast("int")
    if gathered:
        following = F.lead(c.EPOCH).over(in_order)
        last = following.isNull() | (following != F.col(c.EPOCH))
        steps = steps.withColumn(_FIRES, F.col(_IS_LATE) & last)
    number = F.sum(F.col(_FIRES).cast("int") if gathered else late).over(before) - F.min(late).over(before)
    return steps.withColumns({INDEX: number, _RANK: F.row_number().over(in_order)})


def _fires(*, gathered: bool) -> Column:
    """Whether a row fires a pane."""
    return F.col(_FIRES) if gathered else F.col(_IS_LATE)


def _frame(pipeline: Pipeline, *, gathered: bool) -> WindowSpec:
    """The rows that a pane holds, up to the one that fires it."""
    if not pipeline.windows.discards:
        return _in_order(pipeline).rowsBetween(Window.unboundedPreceding, 0)
    if not gathered:
        return _in_order(pipeline).rowsBetween(0, 0)
    of_epoch = Window.partitionBy(*key_columns(pipeline), c.WINDOW_MS, c.EPOCH).orderBy(
        _IS_LATE, c.POSITION, c.WATERMARK_MS
    )
    return of_epoch.rowsBetween(Window.unboundedPreceding, 0)


def _in_order(pipeline: Pipeline) -> WindowSpec:
    # Identical rows have one position, but may be judged by different watermarks.
    return Window.partitionBy(*key_columns(pipeline), c.WINDOW_MS).orderBy(_IS_LATE, c.POSITION, c.WATERMARK_MS)


def _behind(*, gathered: bool) -> list[Column]:
    """What is known of a late row besides its values."""
    return [F.col(n) for n in (c.CLOCK_US, c.POSITION, c.WATERMARK_MS, *((c.EPOCH,) if gathered else ()))]


def _touched(rows: DataFrame, late: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The rows of windows that hold a late row."""
    return keys.matching(rows, late, _window(pipeline))


def _window(pipeline: Pipeline) -> list[str]:
    return [*pipeline.windows.key, c.WINDOW_MS]
