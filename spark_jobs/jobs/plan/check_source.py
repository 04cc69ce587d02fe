"""The check of a pipeline against its source, before any computation: columns, types, expressions, classes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import Misfit, require_fit
from spark_jobs.jobs.plan import expressions
from spark_jobs.pipeline import quarantine
from spark_jobs.pipeline.model import Pipeline
from spark_jobs.pipeline.names import INTERNAL_PREFIX
from spark_jobs.replay import TimeFieldError, UnsupportedPipelineError
from spark_jobs.replay.panes import pane_columns
from spark_jobs.replay.rows import event_time
from spark_jobs.replay.rows.arrival_order import holds_map
from spark_jobs.replay.rows.computed_columns import with_computed
from spark_jobs.replay.rows.prepare import offset, partition_label
from spark_jobs.replay.rows.quoting import quoted
from spark_jobs.replay.supported import require_firing
from spark_jobs.semantics.rows.arrival_order import COMMIT_TIMESTAMP, COMMIT_VERSION
from spark_jobs.semantics.rows.partition_labels import PartitionTypeError
from spark_jobs.semantics.rows.used_columns import carried, matches
from spark_jobs.semantics.watermark.custom import GeneratorError, new_generator
from spark_jobs.tables.storable_types import unstorable

# Delta refuses a change data feed of a table that has one of these columns.
_OF_FEED = ("_change_type", COMMIT_VERSION, COMMIT_TIMESTAMP)
#: Letters of patterns that other tools read in another way.
_CONFUSED = {
    "Y": "Y is the year of a week: write yyyy for the year",
    "D": "D is the day of the year: write dd for the day of the month",
}
#: What to write in place of a value that no Delta table can contain.
_CURES: Mapping[type[T.DataType] | tuple[type[T.DataType], ...], str] = {
    (T.DayTimeIntervalType, T.CalendarIntervalType): "write a number, such as timestampdiff(SECOND, start, end)",
    T.YearMonthIntervalType: "write a number, such as timestampdiff(MONTH, start, end)",
    T.StringType: "write a text without a collation, such as lower(text)",
    T.TimeType: "write its text, by cast(time AS STRING)",
    T.NullType: "give it a type, such as cast(null AS STRING)",
}


def check_source(events: DataFrame, pipeline: Pipeline) -> None:
    """Raise InputError with every misfit of `pipeline` against the columns of `events`; return if there is none."""
    alone = [pipeline.alone(united) for united in pipeline.sources] or [pipeline]
    of_sources = [misfit for of in alone for misfit in misfits(events, of)]
    names = [*events.columns, *(column.name for of in alone for column in of.source.columns)]
    require_fit([*of_sources, *_firing(names, pipeline)])


def misfits(events: DataFrame, pipeline: Pipeline) -> list[Misfit]:
    """Return every misfit of a pipeline that reads one source against the columns of `events`."""
    if computed := list(_computed(events, pipeline)):
        return computed
    completed = with_computed(events, pipeline.source)
    checks = (_columns, _storable, _partitions, _times, _offsets, _expressions, expressions.unrepeatable)
    return [*(misfit for check in checks for misfit in check(completed, pipeline)), *_generator(pipeline)]


def condition(events: DataFrame, key: str, expression: str | None) -> Iterator[Misfit]:
    """Yield the misfit of the SQL condition under `key` of the file, if it has one."""
    if expression is None:
        return
    try:
        kind = events.select(F.expr(expression).alias("holds")).schema[0].dataType.simpleString()
        if kind != "boolean":
            yield Misfit(f"{key}: '{expression}' is of type {kind}, not a condition", ErrorCode.SQL_REFUSED)
    except AnalysisException as problem:
        yield _refused(key, problem, events)


def _computed(events: DataFrame, pipeline: Pipeline) -> Iterator[Misfit]:
    names = {name.lower() for name in events.columns}
    for column in pipeline.source.columns:
        key = f"source.columns.{column.name}"
        if column.name.lower() in names:
            yield Misfit(
                f"{key}: {pipeline.source.table} has a column of this name already: use another name",
                ErrorCode.COLUMN_NAME_REFUSED,
            )
            continue
        try:
            computed = events.withColumn(column.name, F.expr(column.expression))
        except AnalysisException as problem:
            yield _refused(key, problem, events)
            continue
        if not _of_one_row(computed, events):
            yield Misfit(
                f"{key}: '{column.expression}' is no value of one row: use functions of the row's columns alone",
                ErrorCode.SQL_REFUSED,
            )
        elif not _analysed(computed).deterministic():
            yield Misfit(
                f"{key}: '{column.expression}' differs from one reading to the next: use a deterministic expression",
                ErrorCode.SQL_REFUSED,
            )


def _of_one_row(computed: DataFrame, events: DataFrame) -> bool:
    """Return whether a column is a projection: a window, a generator and a subquery need other plans."""
    sizes = [len(_analysed(rows).treeString().splitlines()) for rows in (computed, events)]
    return sizes[0] == sizes[1] + 1


def _analysed(rows: DataFrame) -> Any:
    return rows._jdf.queryExecution().analyzed()  # noqa: SLF001  PySpark has no public way to its plan


def _columns(events: DataFrame, pipeline: Pipeline) -> Iterator[Misfit]:
    names = {name.lower() for name in events.columns}
    required = [
        *(("source.source_partition", name) for name in pipeline.source.source_partition.columns),
        *(("source.tie_break", name) for name in pipeline.source.tie_break),
        *(("source.deduplicate", name) for name in pipeline.source.deduplicate),
        *(("windows.key", name) for name in pipeline.windows.key),
    ]
    for key, name in required:
        if name.lower() not in names:
            table = pipeline.source.table
            yield Misfit(f"{key}: {table} has no column '{name}'{hint(name, events)}", ErrorCode.COLUMN_UNKNOWN)
    for name in events.columns:
        if name.lower().startswith(INTERNAL_PREFIX):
            yield Misfit(
                f"source.table: its column '{name}' begins with '{INTERNAL_PREFIX}', in whatever case the prefix of "
                "Tidemark's working columns: rename it, or read the table through a view that renames it",
                ErrorCode.COLUMN_NAME_REFUSED,
            )
    for key, patterns in (("source.select", pipeline.source.select), ("source.exclude", pipeline.source.exclude)):
        for pattern in patterns:
            if not any(matches(pattern, name) for name in events.columns):
                yield Misfit(
                    f"{key}: no column of {pipeline.source.table} matches '{pattern}'{hint(pattern, events)}",
                    ErrorCode.COLUMN_UNKNOWN,
                )
    yield from unordered(events, "windows.key", pipeline.windows.key)
    if pipeline.results.change_data_feed:
        yield from _names_of_feed(events.columns, pipeline)


def _partitions(events: DataFrame, pipeline: Pipeline) -> Iterator[Misfit]:
    existing = {name.lower() for name in events.columns}
    for name in pipeline.source.source_partition.columns:
        if name.lower() not in existing:
            continue
        try:
            partition_label(events, (name,))
        except PartitionTypeError as problem:
            yield Misfit(f"source.source_partition: {problem}", ErrorCode.COLUMN_NAME_REFUSED)


def _names_of_feed(names: list[str], pipeline: Pipeline) -> Iterator[Misfit]:
    """Yield a misfit for each published column whose name Delta needs in a change data feed."""
    # Rows in commit order come with these columns, and are published without them.
    free = (COMMIT_VERSION, COMMIT_TIMESTAMP) if pipeline.replay.by_commit else ()
    published = {
        **dict.fromkeys(carried(names, pipeline), "source.table"),
        **{aggregate.name: "windows.aggregates" for aggregate in pipeline.windows.aggregates},
    }
    for name, key in published.items():
        if name.lower() in _OF_FEED and name.lower() not in free:
            yield Misfit(
                f"results.change_data_feed: found the column '{name}' of {key}, whose name Delta needs in the feed: "
                "rename it, leave it out by source.exclude, or switch the feed off",
                ErrorCode.COLUMN_NAME_REFUSED,
            )


def _storable(events: DataFrame, pipeline: Pipeline) -> Iterator[Misfit]:
    """Yield a misfit for each computed column that results have, and no Delta table can contain."""
    published = {name.lower() for name in carried(events.columns, pipeline)}
    for column in pipeline.source.columns:
        if column.name.lower() in published:
            yield from _of_type(f"source.columns.{column.name}", column.expression, events.schema[column.name])


def _of_type(key: str, expression: str, field: T.StructField) -> Iterator[Misfit]:
    """Yield a misfit if no Delta table can contain the values of an expression."""
    kind = unstorable(field.dataType)
    if kind is not None:
        cures = (cure for types, cure in _CURES.items() if isinstance(kind, types))
        yield Misfit(
            f"{key}: '{expression}' is of type {field.dataType.simpleString().upper()}, which no Delta table can "
            f"contain: {next(cures)}",
            ErrorCode.SQL_REFUSED,
        )


def unordered(events: DataFrame, key: str, names: Iterable[str]) -> Iterator[Misfit]:
    """Yield a misfit for each column of `names` whose values Spark can neither group nor order."""
    kinds = {field.name.lower(): field.dataType for field in events.schema}
    for name in names:
        kind = kinds.get(name.lower())
        if kind is not None and holds_map(kind):
            yield Misfit(
                f"{key}: the column '{name}' is of type {kind.simpleString().upper()}, and rows cannot be grouped by "
                f"a MAP or VARIANT: declare a value of it in source.columns, or its text to_json({name})",
                ErrorCode.COLUMN_NAME_REFUSED,
            )


def _times(events: DataFrame, pipeline: Pipeline) -> Iterator[Misfit]:
    fields = {
        "source.event_time": pipeline.source.event_time,
        "source.arrival_time": pipeline.source.arrival_time,
        "watermark.value": pipeline.watermark.value,
    }
    for key, field in fields.items():
        if field is None:
            continue
        if field.format is not None:
            yield from _pattern(events, f"{key}.format", field.format)
        try:
            event_time.micros(events, field)
        except TimeFieldError as problem:
            yield Misfit(f"{key}: {problem}", problem.code)
        except AnalysisException as problem:
            yield _refused(key, problem, events)


def _pattern(events: DataFrame, key: str, pattern: str) -> Iterator[Misfit]:
    """Yield the misfit of a datetime pattern that Spark would refuse at the first row."""
    try:
        events.sparkSession.sql("SELECT 'x' AS x").select(F.try_to_timestamp("x", F.lit(pattern))).collect()
    except PySparkException as problem:
        if "DATETIME" not in (problem.getCondition() or ""):
            raise
        hints = [f"; {hint}" for letter, hint in _CONFUSED.items() if letter in pattern]
        yield Misfit(
            f"{key}: '{pattern}' is no datetime pattern of Spark{''.join(hints)}", ErrorCode.TIME_OF_OTHER_TYPE
        )


def _offsets(events: DataFrame, pipeline: Pipeline) -> Iterator[Misfit]:
    if not pipeline.replay.in_rounds:
        return
    try:
        offset(events, pipeline)
    except TimeFieldError as problem:
        yield Misfit(f"source.offset: {problem}", problem.code)
    except AnalysisException as problem:
        yield _refused("source.offset", problem, events)


def _expressions(events: DataFrame, pipeline: Pipeline) -> Iterator[Misfit]:
    yield from condition(events, "source.where", pipeline.source.where)
    rules = {rule.name: rule for rule in pipeline.source.quarantine}
    for key, name in quarantine.names(pipeline.quality):
        yield from condition(events, key, rules[name].unexpected)
    yield from condition(events, "watermark.when", pipeline.watermark.when)
    for aggregate in pipeline.windows.aggregates:
        key = f"windows.aggregates.{aggregate.name}"
        try:
            pane = pane_columns.grouped(events, pipeline).agg(F.expr(aggregate.expression).alias(aggregate.name))
            yield from _of_type(key, aggregate.expression, pane.schema[aggregate.name])
        except AnalysisException as problem:
            if problem.getCondition() in ("MISSING_GROUP_BY", "MISSING_AGGREGATION"):
                text = f"'{aggregate.expression}' is no aggregate: write one, such as max({aggregate.expression})"
                yield Misfit(f"{key}: {text}", ErrorCode.SQL_REFUSED)
            else:
                yield _refused(key, problem, events)


def _firing(columns: list[str], pipeline: Pipeline) -> Iterator[Misfit]:
    try:
        require_firing(columns, pipeline)
    except UnsupportedPipelineError as problem:
        yield Misfit(f"windows.aggregates: {problem}", problem.code)


def _generator(pipeline: Pipeline) -> Iterator[Misfit]:
    if not pipeline.watermark.is_custom:
        return
    try:
        new_generator(pipeline.watermark.generator, pipeline.watermark.arguments)
    except GeneratorError as problem:
        yield Misfit(f"watermark.class: {problem}", ErrorCode.GENERATOR_FAILED)


def _refused(key: str, problem: AnalysisException, events: DataFrame) -> Misfit:
    """Return the misfit with the first line of Spark's message, or for a missing column with the nearest column."""
    parameters = problem.getMessageParameters() or {}
    if (problem.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
        name = parameters.get("objectName", "").replace("`", "")
        near = hint(name, events, in_sql=True)
        return Misfit(f"{key}: the source has no column '{name}'{near}", ErrorCode.COLUMN_UNKNOWN)
    # The message of a syntax error begins with an empty line.
    first_line = next((line for line in str(problem).splitlines() if line.strip()), type(problem).__name__)
    return Misfit(f"{key}: {first_line}", ErrorCode.SQL_REFUSED)


def hint(name: str, events: DataFrame, *, in_sql: bool = False) -> str:
    """Return a hint for a missing column: the nearest name, and all columns. SQL needs backticks around some names."""
    near = difflib.get_close_matches(name, events.columns, n=1)
    columns = f" (it has {', '.join(events.columns)})"
    if not near:
        return columns
    if in_sql and not re.fullmatch(r"\w+", near[0]):
        return f"; did you mean {quoted(near[0])}, in backticks?{columns}"
    return f"; did you mean '{near[0]}'?{columns}"
