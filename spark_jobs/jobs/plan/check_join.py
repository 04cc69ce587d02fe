"""The check of a join against its two inputs: columns, expressions, and comparable keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pyspark.sql import DataFrame

from spark_jobs.error_codes import ErrorCode
from spark_jobs.jobs.errors import InputError, Misfit, require_fit
from spark_jobs.jobs.plan import check_source
from spark_jobs.pipeline.joining import JoiningPipeline, joining
from spark_jobs.pipeline.model import Join, Pipeline
from spark_jobs.replay import UnsupportedPipelineError
from spark_jobs.replay.rows.computed_columns import with_computed
from spark_jobs.replay.supported import require_as_of_join, require_interval_join, require_window_join
from spark_jobs.semantics.watermark.custom import GeneratorError
from spark_jobs.tables import source
from spark_jobs.tables.errors import SourceError


def check_join(left: DataFrame, right: DataFrame | None, pipeline: Pipeline) -> None:
    """Raise InputError with every misfit of a pipeline with a join; `right` is None where one source is split."""
    if pipeline.join is None:
        raise ValueError(f"{pipeline.name}: the pipeline has no join to check")
    inputs = joining(pipeline)
    frames = [left] if right is None else [left, right]
    alone = [pipeline.alone(united) for united in pipeline.sources] or [pipeline]
    misfits = [*_unsupported(inputs, pipeline)]
    for rows, of in zip(frames, alone, strict=True):
        misfits += check_source.misfits(rows, replace(of, join=None))
    require_fit(misfits)
    completed = [with_computed(rows, of.source) for rows, of in zip(frames, alone, strict=True)]
    left, right = completed[0], None if right is None else completed[1]
    misfits += check_source.condition(left, "join.second_when", pipeline.join.second_when)
    misfits += _keys(left, left if right is None else right, pipeline.join, inputs)
    if right is not None:
        misfits += _columns(left, right)
    require_fit(misfits)


def _unsupported(inputs: JoiningPipeline, pipeline: Pipeline) -> Iterator[Misfit]:
    try:
        if pipeline.join is None or pipeline.join.by_window:
            require_window_join(inputs, pipeline.windows)
        elif pipeline.join.is_as_of:
            require_as_of_join(inputs)
        else:
            require_interval_join(inputs)
    except GeneratorError as problem:
        raise InputError(f"watermark.class: {problem}", code=ErrorCode.GENERATOR_FAILED) from problem
    except UnsupportedPipelineError as problem:
        yield Misfit(str(problem), problem.code)


def _keys(left: DataFrame, right: DataFrame, join: Join, inputs: JoiningPipeline) -> Iterator[Misfit]:
    """Yield the misfits of the key's columns: missing, or of different types on both sides."""
    for side, rows in enumerate((left, right)):
        yield from check_source.unordered(rows, "join.key", join.key[side])
    kinds = [{field.name.lower(): field.dataType for field in rows.schema} for rows in (left, right)]
    for names in zip(*join.key, strict=True):
        missing = False
        for side, (rows, name) in enumerate(zip((left, right), names, strict=True)):
            if name.lower() not in kinds[side]:
                missing = True
                table = inputs.inputs[side].source.table
                hint = check_source.hint(name, rows)
                yield Misfit(f"join.key: {table} has no column '{name}'{hint}", ErrorCode.COLUMN_UNKNOWN)
        if missing:
            continue
        left_kind, right_kind = (kinds[side][name.lower()] for side, name in enumerate(names))
        if left_kind != right_kind:
            columns = [
                f"'{name}' of {of} ({kind.simpleString()})"
                for name, of, kind in zip(names, join.names, (left_kind, right_kind), strict=True)
            ]
            yield Misfit(
                f"join.key: cannot compare {' with '.join(columns)}. Read one of the tables through a view that casts",
                ErrorCode.SOURCES_DIFFER,
            )


def _columns(left: DataFrame, right: DataFrame) -> Iterator[Misfit]:
    try:
        source.union_rows([left, right])
    except SourceError as problem:
        yield Misfit(str(problem), problem.code)
