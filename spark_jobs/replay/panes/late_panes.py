"""Late panes: the firings of a window for rows that arrive between its firing and the end of its state.

Law: each late row fires one pane with all rows so far, or with discarding accumulation with this row alone (rules 64,
68). With late panes per epoch (`gathered`), the late rows of one epoch and (key, window) fire one pane at the epoch's
emission. It has all rows so far, or these rows alone. An epoch without an emission fires no pane, except at the end
of the input.
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
from spark_jobs.replay.panes.split_aggregates import split
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows import keys, timestamps, window_assigners
from spark_jobs.replay.rows.keys import key_columns
from spark_jobs.replay.rows.quoting import quoted

_IS_LATE = c.PREFIX + "is_late"
_FIRES = (
    c.PREFIX + "fires"
)  # whether the row fires a pane: a late row; with panes per epoch, the last late row of an epoch
_RANK = c.PREFIX + "rank"
_OF, _CALL = c.PREFIX + "of_", c.PREFIX + "call_"
#: Aggregates whose value at one row more follows from a few values. Spark evaluates a frame for each of its rows.
_RUNNING = frozenset(
    (
        *("any", "avg", "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "count", "count_if", "every", "max"),
        *("max_by", "mean", "min", "min_by", "some", "sum", "try_avg", "try_sum"),
    )
)


def late_panes(
    late: DataFrame, rows: DataFrame, first: DataFrame, pipeline: Pipeline, emissions: DataFrame | None = None
) -> DataFrame:
    """Return the late panes: the columns of `panes`.

    `late` is `window_slices.late_pairs`, `rows` is `window_slices.on_time_pairs`, `first` are their on-time panes with
    states. If the aggregates can be continued, `rows` is not read; otherwise only the windows with a late row are read.
    The watermark never falls, so all on-time rows of a window precede its late rows. `emissions` is
    `per_epoch.emissions` for late panes per epoch, otherwise None.
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
    """Return the late firings, from the states of on-time panes and of late rows."""
    parts = aggregates.state_parts(going_on)
    states = [F.col(quoted(column)).alias(name) for name, column in aggregates.pane_states(going_on).items()]
    started = _touched(first.withColumn(c.WINDOW_MS, F.unix_millis("window_start")), late, pipeline)
    base = started.select(
        *key_columns(pipeline), c.WINDOW_MS, *states, F.col("row_count").alias(ROW_COUNT), F.lit(False).alias(_IS_LATE)
    )
    own = [part.of_row.alias(name) for name, part in parts.items()]
    single = [F.lit(1).cast("long").alias(ROW_COUNT), F.lit(True).alias(_IS_LATE)]
    comes = late.select(*key_columns(pipeline), c.WINDOW_MS, *own, *single, *_row_columns(gathered=gathered))
    steps = _numbered(comes.unionByName(base, allowMissingColumns=True), pipeline, gathered=gathered)
    frame = _frame(pipeline, gathered=gathered)
    merged = {name: part.merge(F.col(name)).over(frame) for name, part in parts.items()}
    running = steps.withColumns({**merged, ROW_COUNT: F.sum(ROW_COUNT).over(frame)})
    return running.withColumns(finished(going_on)).where(_fires(gathered=gathered))


def _from_rows(late: DataFrame, rows: DataFrame, pipeline: Pipeline, *, gathered: bool) -> DataFrame:
    """Return the late firings, from all rows of their windows.

    Calls of functions with a state of few values run along the rows, in a window frame. All other aggregates are
    computed for each firing from the rows of the frame, and so are those that Spark does not support in a frame, such
    as with DISTINCT and FILTER.
    """
    columns_read = [*(F.col(quoted(n)) for n in filter(c.read_by_aggregates, rows.columns)), F.col(c.WINDOW_MS)]
    again = _touched(rows, late, pipeline).select(*columns_read, F.lit(False).alias(_IS_LATE))
    comes = late.select(*columns_read, *_row_columns(gathered=gathered), F.lit(True).alias(_IS_LATE))
    steps = _numbered(comes.unionByName(again, allowMissingColumns=True), pipeline, gathered=gathered)
    if pane_columns.requested(rows.columns, pipeline):
        return _recomputed(steps, pipeline, gathered=gathered)
    own = pipeline.windows.aggregates
    splits = split(steps, [a.expression for a in own], _RUNNING)
    if splits is None:
        return _recomputed(steps, pipeline, gathered=gathered)
    frame = _frame(pipeline, gathered=gathered)
    calls = {text: f"{_CALL}{i}" for i, text in enumerate(dict.fromkeys(text for s in splits for text in s.texts))}
    try:
        columns = [F.expr(text).over(frame).alias(name) for text, name in calls.items()]
        running = steps.select("*", *columns, F.count("*").over(frame).alias(ROW_COUNT))
    except AnalysisException:
        return _recomputed(steps, pipeline, gathered=gathered)
    values = {
        aggregate_column(a.name): F.expr(s.over([quoted(calls[text]) for text in s.texts]))
        for a, s in zip(own, splits, strict=True)
    }
    return running.withColumns(values).where(_fires(gathered=gathered))


def _recomputed(steps: DataFrame, pipeline: Pipeline, *, gathered: bool) -> DataFrame:
    names = _window(pipeline)
    row_columns = [c.CLOCK_US, c.WATERMARK_MS, INDEX, *([c.EPOCH] if gathered else [])]
    of_rank, of = F.col(_OF + "rank"), [F.col(f"{_OF}{i}") for i in range(len(names))]
    fires = steps.where(_fires(gathered=gathered)).select(
        *(F.col(quoted(n)).alias(f"{_OF}{i}") for i, n in enumerate(names)),
        F.col(_RANK).alias(_OF + "rank"),
        *(F.col(name).alias(_OF + name) for name in row_columns),
    )
    same = [F.col(quoted(n)).eqNullSafe(o) for n, o in zip(names, of, strict=True)]
    frames = steps.join(fires, [*same, _reach(of_rank, pipeline, gathered=gathered)])
    watermark = timestamps.from_millis(F.col(_OF + c.WATERMARK_MS))
    requested = pane_columns.requested((n for n in steps.columns if not n.startswith(c.PREFIX)), pipeline)
    values = pane_columns.values(
        F.col(c.WINDOW_MS), window_assigners.end_ms(F.col(c.WINDOW_MS), pipeline.windows), watermark
    )
    return (
        pane_columns.with_values(frames, values, pipeline)
        .groupBy(
            *(o.alias(n) for o, n in zip(of, names, strict=True)),
            of_rank,
            *(F.col(_OF + name).alias(name) for name in row_columns),
            *requested,
        )
        .agg(*aggregated(pipeline))
    )


def _reach(of_rank: Column, pipeline: Pipeline, *, gathered: bool) -> Column:
    """Return whether a pane contains the row, from the rank of the row that fires the pane."""
    if not pipeline.windows.discards:
        return F.col(_RANK) <= of_rank
    return (F.col(c.EPOCH) == F.col(_OF + c.EPOCH)) & (F.col(_RANK) <= of_rank) if gathered else F.col(_RANK) == of_rank


def _numbered(steps: DataFrame, pipeline: Pipeline, *, gathered: bool) -> DataFrame:
    """Return `steps` with the index of the pane that each late row fires, or that the next firing row fires.

    The on-time rows, if any, are in pane 0; each earlier firing made one pane.
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
    """Return whether a row fires a pane."""
    return F.col(_FIRES) if gathered else F.col(_IS_LATE)


def _frame(pipeline: Pipeline, *, gathered: bool) -> WindowSpec:
    """Return the frame of the rows in a pane, up to the row that fires it."""
    if not pipeline.windows.discards:
        return _in_order(pipeline).rowsBetween(Window.unboundedPreceding, 0)
    if not gathered:
        return _in_order(pipeline).rowsBetween(0, 0)
    of_epoch = Window.partitionBy(*key_columns(pipeline), c.WINDOW_MS, c.EPOCH).orderBy(
        _IS_LATE, c.POSITION, c.WATERMARK_MS
    )
    return of_epoch.rowsBetween(Window.unboundedPreceding, 0)


def _in_order(pipeline: Pipeline) -> WindowSpec:
    # Identical rows have one position, but may have different watermarks before them.
    return Window.partitionBy(*key_columns(pipeline), c.WINDOW_MS).orderBy(_IS_LATE, c.POSITION, c.WATERMARK_MS)


def _row_columns(*, gathered: bool) -> list[Column]:
    """Return the working columns of a late row."""
    return [F.col(n) for n in (c.CLOCK_US, c.POSITION, c.WATERMARK_MS, *((c.EPOCH,) if gathered else ()))]


def _touched(rows: DataFrame, late: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the rows of windows that have a late row."""
    return keys.matching(rows, late, _window(pipeline))


def _window(pipeline: Pipeline) -> list[str]:
    return [*pipeline.windows.key, c.WINDOW_MS]
