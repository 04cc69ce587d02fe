"""The support of the Spark engine is the part of a pipeline's meaning that it can replay; the reference has all of it.

Checked before any work in Spark begins, so that nothing is replayed by other rules than those asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    """A pipeline that asks for what the Spark engine does not have."""


def require_support(pipeline: Pipeline) -> None:
    """Raise UnsupportedPipelineError if the engine lacks something that the pipeline asks for.

    Raises GeneratorError if the class of a custom watermark is not there, or cannot be made.
    """
    if pipeline.join is not None:
        raise UnsupportedPipelineError(
            f"asked to replay {pipeline.name} as windows, found a join; use interval_join or window_join"
        )
    _require("windows.kind", pipeline.windows.kind, WINDOW_KINDS)
    _require("windows.trigger", pipeline.windows.trigger.kind, TRIGGERS)
    if pipeline.windows.is_session and pipeline.windows.per_epoch:
        raise UnsupportedPipelineError("asked Spark for windows.late_panes 'per_epoch' of sessions; take it away")
    if pipeline.watermark.alignment is not None and not pipeline.watermark.follows_rows:
        strategy = pipeline.watermark.strategy
        raise UnsupportedPipelineError(
            f"cannot align partitions by watermark.strategy '{strategy}', which does not follow rows alone"
        )
    if pipeline.sources:
        _require_united(pipeline)
    else:
        _require_generator(pipeline.watermark)


def require_firing(columns: Sequence[str], pipeline: Pipeline) -> None:
    """Raise UnsupportedPipelineError if aggregates of rows with these columns ask for firings that cannot tell them."""
    spec = pipeline.windows
    asked = pane_columns.asked(columns, pipeline)
    if asked and not spec.is_session and not spec.trigger.is_default:
        raise UnsupportedPipelineError(
            f"asked Spark for aggregates of {' and '.join(asked)} with windows.trigger '{spec.trigger.kind}', "
            f"it has them with '{TriggerKind.EVENT_TIME}'"
        )


def _require_united(pipeline: Pipeline) -> None:
    if pipeline.replay.order in (Order.COMMIT, Order.OFFSET):
        raise UnsupportedPipelineError(
            f"asked Spark for several sources in the order '{pipeline.replay.order}', which is one table's own"
        )
    for united in pipeline.sources:
        _require_generator(united.watermark)


def require_interval_join(joining: JoiningPipeline) -> None:
    """Raise UnsupportedPipelineError if the engine lacks something that one of two inputs asks for."""
    if joining.replay.order is Order.COMMIT:
        raise UnsupportedPipelineError("asked Spark for a join in commit order, which it does not have")
    if joining.replay.order is Order.OFFSET:
        raise UnsupportedPipelineError("asked Spark for a join in the order of offsets, which it does not have")
    for joined in joining.inputs:
        _require_generator(joined.watermark)


def require_window_join(joining: JoiningPipeline, windows: Windows) -> None:
    """Raise UnsupportedPipelineError if the engine lacks the windows, or something that one of two inputs asks for."""
    require_interval_join(joining)
    _require("windows.kind", windows.kind, WINDOW_KINDS)
    _require("windows.accumulation", windows.accumulation, WINDOW_JOIN_ACCUMULATIONS, " in a window join")
    _require("windows.late_panes", windows.late_panes, WINDOW_JOIN_LATE_PANES, " in a window join")
    _require("windows.trigger", windows.trigger.kind, WINDOW_JOIN_TRIGGERS, " in a join")


def _require_generator(watermark: Watermark) -> None:
    if watermark.is_custom:
        new_generator(watermark.generator, watermark.arguments)


def _require(what: str, asked: str, there: Sequence[str], where: str = "") -> None:
    if asked not in there:
        raise UnsupportedPipelineError(f"asked Spark for {what} '{asked}'{where}, it has {', '.join(there)}")
