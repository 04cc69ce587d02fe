"""The pipelines that the Spark engine supports. The reference replay in `semantics` supports all pipelines.

Support is checked before any work in Spark begins, so that no replay uses other rules than the pipeline's.
"""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.joining import JoiningPipeline
from spark_jobs.pipeline.model import (
    WINDOW_KINDS,
    Accumulation,
    LatePanes,
    Order,
    Pipeline,
    TriggerKind,
    Watermark,
    Windows,
)
from spark_jobs.replay.panes import pane_columns
from spark_jobs.semantics.watermark.custom import new_generator

TRIGGERS = tuple(TriggerKind)
WINDOW_JOIN_ACCUMULATIONS = (Accumulation.ACCUMULATING, Accumulation.DISCARDING)
WINDOW_JOIN_LATE_PANES = (LatePanes.PER_ROW,)
WINDOW_JOIN_TRIGGERS = (TriggerKind.EVENT_TIME,)


class UnsupportedPipelineError(ValueError):
    """A pipeline with a property that the Spark engine does not support."""

    code = ErrorCode.NOT_SUPPORTED


def require_support(pipeline: Pipeline) -> None:
    """Raise UnsupportedPipelineError if the engine does not support the pipeline.

    Raises GeneratorError if the class of a custom watermark does not exist, or has no instance.
    """
    if pipeline.join is not None:
        raise UnsupportedPipelineError(
            f"join: pipeline {pipeline.name} defines a join, not windows. Call interval_join, as_of_join or window_join"
        )
    _require("windows.kind", pipeline.windows.kind, WINDOW_KINDS)
    _require("windows.trigger", pipeline.windows.trigger.kind, TRIGGERS)
    if pipeline.windows.is_session and pipeline.windows.per_epoch:
        raise UnsupportedPipelineError("windows.late_panes 'per_epoch': not supported for sessions. Remove it")
    if pipeline.watermark.alignment is not None and not pipeline.watermark.follows_rows:
        strategy = pipeline.watermark.strategy
        raise UnsupportedPipelineError(
            f"watermark.strategy '{strategy}': cannot align partitions, since it does not follow rows alone"
        )
    if pipeline.sources:
        _require_united(pipeline)
    else:
        _require_generator(pipeline.watermark)


def require_firing(columns: Sequence[str], pipeline: Pipeline) -> None:
    """Raise UnsupportedPipelineError if aggregates use pane columns that the trigger does not support."""
    spec = pipeline.windows
    requested = pane_columns.requested(columns, pipeline)
    if requested and not spec.is_session and not spec.trigger.is_default:
        raise UnsupportedPipelineError(
            f"windows.trigger '{spec.trigger.kind}': does not support aggregates of {' and '.join(requested)}. "
            f"Use '{TriggerKind.EVENT_TIME}'"
        )


def _require_united(pipeline: Pipeline) -> None:
    if pipeline.replay.order in (Order.COMMIT, Order.OFFSET):
        raise UnsupportedPipelineError(
            f"replay.order '{pipeline.replay.order}': not supported for several sources, since it orders one table"
        )
    for united in pipeline.sources:
        _require_generator(united.watermark)


def require_interval_join(joining: JoiningPipeline) -> None:
    """Raise UnsupportedPipelineError if the engine does not support one of the two inputs."""
    if joining.replay.order is Order.COMMIT:
        raise UnsupportedPipelineError("replay.order 'commit': not supported for a join")
    if joining.replay.order is Order.OFFSET:
        raise UnsupportedPipelineError("replay.order 'offset': not supported for a join")
    for joined in joining.inputs:
        _require_generator(joined.watermark)


def require_as_of_join(joining: JoiningPipeline) -> None:
    """Raise UnsupportedPipelineError if the engine does not support one of the two inputs."""
    require_interval_join(joining)


def require_window_join(joining: JoiningPipeline, windows: Windows) -> None:
    """Raise UnsupportedPipelineError if the engine does not support the windows or one of the two inputs."""
    require_interval_join(joining)
    _require("windows.kind", windows.kind, WINDOW_KINDS)
    _require("windows.accumulation", windows.accumulation, WINDOW_JOIN_ACCUMULATIONS, " in a window join")
    _require("windows.late_panes", windows.late_panes, WINDOW_JOIN_LATE_PANES, " in a window join")
    _require("windows.trigger", windows.trigger.kind, WINDOW_JOIN_TRIGGERS, " in a join")


def _require_generator(watermark: Watermark) -> None:
    if watermark.is_custom:
        new_generator(watermark.generator, watermark.arguments)


def _require(key: str, value: str, supported: Sequence[str], context: str = "") -> None:
    if value not in supported:
        raise UnsupportedPipelineError(f"{key} '{value}': not supported{context}. Use {' or '.join(supported)}")
