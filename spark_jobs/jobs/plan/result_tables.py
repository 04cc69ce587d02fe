"""Result tables without rows: the columns that a run would stage. Spark analyses them and computes nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.pipeline import published_tables
from spark_jobs.pipeline.joining import joining
from spark_jobs.pipeline.model import Join, Pipeline, Windows
from spark_jobs.pipeline.published_tables import COMPLETE_RESULTS, INVALID_EVENTS, LATE_EVENTS, PAIRS, Part, Table, When
from spark_jobs.pipeline.sources import SOURCE
from spark_jobs.replay.joins.inputs import LEFT, RIGHT, inputs
from spark_jobs.replay.panes import complete_results, pane_columns
from spark_jobs.replay.rows import columns as c
from spark_jobs.replay.rows.keys import key_columns
from spark_jobs.replay.rows.prepare import prepare, source_columns
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.windows.late_events import beside, invalid_events, late_columns, late_events
from spark_jobs.tables import source
from spark_jobs.tables.lake import result_tables

#: The columns that tables of source rows add to the source's columns; they stand last.
_ADDED = ("event_time", "arrival_time", "watermark", "late_by_ms", "verdict", "window_start", "window_end", "reason")


def empty_tables(pipeline: Pipeline, left: DataFrame, right: DataFrame | None = None) -> dict[str, DataFrame]:
    """Return the staged tables of a run by name, without a row.

    `left` has the columns of the source. For a join, `left` and `right` are `source.inputs`.
    """
    tables = _of_windows(pipeline, left) if pipeline.join is None else _of_join(pipeline, pipeline.join, left, right)
    return {name: rows.limit(0).withColumn("run_id", F.lit("")) for name, rows in tables.items()}


def rows_of_inputs(left: DataFrame, right: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the rows of both inputs of a join, each with the name of its input.

    Raises SourceError if columns of one name have different types.
    """
    sides = zip((left, right), names, strict=True)
    rows = source.union_rows([rows.withColumn(SOURCE, F.lit(name)) for rows, name in sides])
    own = [name for name in rows.columns if name not in (*_ADDED, SOURCE)]
    return rows.select(SOURCE, *(quoted(name) for name in own), *(name for name in _ADDED if name in rows.columns))


def _of_windows(pipeline: Pipeline, events: DataFrame) -> dict[str, DataFrame]:
    spark, windows = events.sparkSession, pipeline.windows
    rows = prepare(events, pipeline)
    parts = {
        Part.KEY: rows.select(*key_columns(pipeline)).schema.fields,
        Part.AGGREGATES: _aggregates(rows, pipeline),
    }
    has = {When.ALWAYS, When.RETRACTING} if windows.retracts else {When.ALWAYS}
    of_rows = {
        LATE_EVENTS.name: late_events(_as_late(rows), pipeline),
        INVALID_EVENTS.name: invalid_events(rows, pipeline),
    }
    rest = [name for name in result_tables(pipeline) if name not in of_rows]
    tables = {name: _frame(spark, published_tables.BY_NAME[name], parts, has) for name in rest}
    if pipeline.is_complete:
        complete = tables[COMPLETE_RESULTS.name]
        faithful = complete_results.faithful(pipeline, *(("window_start", "window_end") if windows.is_session else ()))
        faithful = F.array(faithful) if windows.is_session else faithful
        tables[COMPLETE_RESULTS.name] = complete.withColumn("faithful", faithful)
    return {**tables, **of_rows}


def _of_join(pipeline: Pipeline, join: Join, left: DataFrame, right: DataFrame | None) -> dict[str, DataFrame]:
    grid = pipeline.windows if join.by_window else Windows(size_ms=1)
    joined = inputs(left, right, joining(pipeline), grid)
    rows, alone = joined.prepared, joined.pipelines
    own = [side.select(*map(quoted, source_columns(side))) for side in rows]
    key = [quoted(name) for name in join.key[LEFT]] if join.by_window else []
    parts = {
        Part.KEY: own[LEFT].select(*key).schema.fields,
        Part.INPUTS: [T.StructField(name, side.schema) for name, side in zip(join.names, own, strict=True)],
    }
    has = published_tables.conditions_of(join)
    verdict = {"verdict": F.lit("")} if join.is_as_of else {}
    late = [
        late_events(side, of) if join.by_window else side.select(*beside(side, {**late_columns(of), **verdict}, of))
        for side, of in zip(map(_as_late, rows), alone, strict=True)
    ]
    invalid = [invalid_events(side, of) for side, of in zip(rows, alone, strict=True)]
    return {
        PAIRS.name: _frame(left.sparkSession, PAIRS, parts, has),
        LATE_EVENTS.name: rows_of_inputs(late[LEFT], late[RIGHT], join.names),
        INVALID_EVENTS.name: rows_of_inputs(invalid[LEFT], invalid[RIGHT], join.names),
    }


def _as_late(rows: DataFrame) -> DataFrame:
    return rows.withColumns({c.WATERMARK_MS: F.col(c.TS_MS), c.TOO_LATE: F.lit(True)})


def _aggregates(rows: DataFrame, pipeline: Pipeline) -> list[T.StructField]:
    aggregates = [F.expr(aggregate.expression).alias(aggregate.name) for aggregate in pipeline.windows.aggregates]
    names = [quoted(aggregate.name) for aggregate in pipeline.windows.aggregates]
    return pane_columns.grouped(rows, pipeline).agg(*aggregates).select(*names).schema.fields


def _frame(
    spark: SparkSession, table: Table, parts: Mapping[Part, Iterable[T.StructField]], has: Collection[When]
) -> DataFrame:
    fields: list[T.StructField] = []
    for column in table.columns:
        if isinstance(column, Part):
            fields += parts[column]
        elif column.when in has and column.name not in ("run_id", "faithful"):
            fields.append(T.StructField(column.name, T.DataType.fromDDL(column.type)))
    return spark.createDataFrame([], T.StructType(fields))
