"""Prepared rows: the source's columns, and each row's times, partition, validity and window.

One projection, no shuffle. All later steps filter, aggregate, or join these rows with the small calendar.
"""

from __future__ import annotations

from functools import partial, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline.model import Order, Pipeline
from spark_jobs.pipeline.sources import SOURCE
from spark_jobs.replay.rows import candidates, event_time, left_out, window_assigners
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.computed_columns import with_computed
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.semantics.rows import event_time as rule
from spark_jobs.semantics.rows import partition_labels, used_columns
from spark_jobs.semantics.rows.arrival_order import COMMIT_TIMESTAMP, COMMIT_VERSION

# The types that name a source partition, with TIMESTAMP.
_NAMING = (
    *(T.StringType, T.CharType, T.VarcharType, T.IntegralType, T.DecimalType, T.BooleanType, T.DateType),
    *(T.TimestampNTZType, T.NullType),
)


def prepare(events: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return a row for each source row, with the columns of `spark_jobs.replay.rows.columns` up to the window.

    `events` may have the computed columns of the source already.

    Times of invalid rows are computed too, without meaning: a test of each row would cost more.

    - In commit order `events` also has `_commit_version` and `_commit_timestamp` of Delta's change data feed. They are
      no columns of the source.
    - With several sources `events` has the column `source`; rows with the name of no source are dropped.
    - In the order of offsets, `rounds.placed` sets the clock later.

    Raises TimeFieldError for a time column of the wrong type, PartitionTypeError for a partition column of such a type.
    """
    if pipeline.sources:
        return _prepared_alone(events, pipeline)
    source, order = pipeline.source, pipeline.replay.order
    if order is Order.COMMIT:
        events = _committed(events)
    events = narrowed(with_computed(events, source), pipeline)
    event_us = event_time.micros(events, source.event_time)
    arrival_us = F.col(c.COMMIT_US) if order is Order.COMMIT else None
    if source.arrival_time is not None:
        arrival_us = event_time.micros(events, source.arrival_time)
    timed = events.withColumns(
        {
            c.EVENT_US: event_us,
            c.ARRIVAL_US: F.lit(None).cast("long") if arrival_us is None else arrival_us,
        }
    )
    event, arrival = F.col(c.EVENT_US), F.col(c.ARRIVAL_US)
    declared_arrival = None if arrival_us is None else arrival
    valid = event_time.is_valid(event, declared_arrival, source)
    reason = event_time.invalid_reason(
        event,
        declared_arrival,
        source,
        event_fault=event_time.fault(timed, source.event_time),
        arrival_fault=None if source.arrival_time is None else event_time.fault(timed, source.arrival_time),
    )
    if order is Order.OFFSET:
        timed = timed.withColumn(c.OFFSET, offset(events, pipeline))
        lacks = F.col(c.OFFSET).isNull()
        valid, reason = valid & ~lacks, F.coalesce(reason, F.when(lacks, rule.OFFSET_MISSING))
    judged = timed.withColumns(
        {
            c.VALID: valid,
            c.REASON: reason,
            c.KEPT: F.lit(True) if source.where is None else F.coalesce(F.expr(source.where), F.lit(False)),
            **left_out.identity(timed, source),
            c.PARTITION: partition_label(timed, source.source_partition.columns),
        }
    )
    placed = left_out.quarantined(judged, source).withColumns(
        {
            c.TS_MS: event_time.millis(event),
            c.CLOCK_US: {
                Order.EVENT_TIME: event,
                Order.ARRIVAL: arrival,
                Order.COMMIT: F.col(c.COMMIT_US),
                Order.OFFSET: F.lit(None).cast("long"),
            }[order],
            c.WINDOW_MS: window_assigners.start_ms(event_time.millis(event), pipeline.windows),
        }
    )
    if not candidates.carries(pipeline):
        return placed
    return placed.withColumn(c.CANDIDATE_MS, candidates.carried_ms(placed, pipeline))


def narrowed(events: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return source rows with the columns that the replay uses, and with working columns; `events` if it uses all."""
    used = used_columns.used(events.columns, pipeline)
    names = [name for name in events.columns if name in used or name.startswith(c.PREFIX)]
    return events if len(names) == len(events.columns) else events.select(*map(quoted, names))


def _prepared_alone(events: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the rows of several sources, each prepared as if its source (column `source`) were the only one."""
    alone = [
        left_out.of_source(prepare(events.where(F.col(SOURCE) == united.name), pipeline.alone(united)), number)
        for number, united in enumerate(pipeline.sources)
    ]
    return reduce(partial(DataFrame.unionByName, allowMissingColumns=True), alone)


def offset(events: DataFrame, pipeline: Pipeline) -> Column:
    """Return the offset of a source row; null where the row has none. Raises TimeFieldError if it is no integer."""
    declared = pipeline.source.offset
    if declared is None:
        raise event_time.TimeFieldError(
            "source.offset: not declared. A replay in the order of offsets needs it: declare it"
        )
    kind = events.select(F.expr(declared).alias("offset")).schema[0].dataType
    if not isinstance(kind, T.IntegralType):
        raise event_time.TimeFieldError(f"'{declared}' is {kind.simpleString().upper()}: an offset is an integer")
    return F.expr(declared).cast("long")


def _committed(events: DataFrame) -> DataFrame:
    """`events` with its commits in working columns."""
    missing = sorted({COMMIT_VERSION, COMMIT_TIMESTAMP} - set(events.columns))
    if missing:
        raise event_time.TimeFieldError(
            f"no column {' and no '.join(missing)}: a replay in commit order needs it. "
            "Read the events from Delta's change data feed"
        )
    commits = {c.COMMIT_VERSION: F.col(COMMIT_VERSION).cast("long"), c.COMMIT_US: F.unix_micros(COMMIT_TIMESTAMP)}
    return events.withColumns(commits).drop(COMMIT_VERSION, COMMIT_TIMESTAMP)


def moves_watermark(pipeline: Pipeline) -> Column:
    """Return whether a prepared row moves the watermark and takes a position in the arrival order."""
    valid = F.col(c.VALID)
    return valid if pipeline.filtered_rows_move_watermark else valid & F.col(c.KEPT)


def fills_windows() -> Column:
    """Return whether a prepared row belongs to a window, if it is not too late."""
    return F.col(c.VALID) & F.col(c.KEPT)


def source_columns(prepared: DataFrame) -> list[str]:
    """Return the source's own columns of prepared rows."""
    return [name for name in prepared.columns if not name.startswith(c.PREFIX)]


def partition_label(rows: DataFrame, columns: tuple[str, ...]) -> Column:
    """Return the source partition of `rows` as text (`partition_labels`); '' for a single partition.

    Raises PartitionTypeError for a column whose values have no clear text.
    """
    if not columns:
        return F.lit("")
    kinds = rows.select(*map(quoted, columns)).schema
    texts = [_label_text(_text(name, field.dataType)) for name, field in zip(columns, kinds, strict=True)]
    return texts[0] if len(texts) == 1 else F.concat_ws("|", *map(_escaped, texts))


def _text(name: str, kind: T.DataType) -> Column:
    """Return the text of a column, which is the same in every time zone of the session."""
    value = F.col(quoted(name))
    if isinstance(kind, T.TimestampType):
        seconds = F.unix_micros(value).cast("decimal(20,0)") / F.lit(1_000_000).cast("decimal(7,0)")
        since = F.make_dt_interval(secs=seconds.cast("decimal(18,6)"))
        return (F.expr("TIMESTAMP_NTZ'1970-01-01 00:00:00'") + since).cast("string")
    if isinstance(kind, _NAMING):
        return value.cast("string")
    raise partition_labels.PartitionTypeError(f"'{name}' is {kind.simpleString().upper()}: {partition_labels.REFUSED}")


def _label_text(text: Column) -> Column:
    # Most texts need no regular expression.
    marked = F.regexp_replace(text, r"\A(\\*null)\z", r"\\$1")
    return F.coalesce(F.when(F.endswith(text, F.lit("null")), marked).otherwise(text), F.lit("null"))


def _escaped(text: Column) -> Column:
    ended = F.regexp_replace(F.regexp_replace(text, r"(\\*)\|", r"$1$1\\|"), r"(\\+)\z", "$1$1")
    special = F.contains(text, F.lit("|")) | F.endswith(text, F.lit("\\"))
    return F.when(special, ended).otherwise(text)


def declared_labels(pipeline: Pipeline) -> list[str]:
    """Labels of the partitions that exist from the beginning, as `partition_label` writes them."""
    return [partition_labels.label(values) for values in pipeline.source.source_partition.declared]
