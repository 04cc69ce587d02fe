"""The support of the Spark engine is the part of a pipeline's meaning that it can replay; the reference has all of it.

Checked before any work in Spark begins, so that nothing is replayed by other rules than those asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.pipeline.joining import JoiningPipeline
from spark_jobs.pipeline.model import Accumulation, EmitKind, LatePanes, Order, Pipeline, Strategy, TriggerKind, Windows
from spark_jobs.replay import firing
from spark_jobs.replay.epochs import axis
from spark_jobs.semantics.custom import new_generator
from spark_jobs.semantics.strategy import follows_rows

WINDOW_KINDS = ("tumbling", "sliding", "session")
TRIGGERS = tuple(TriggerKind)
WINDOW_JOIN_KINDS = ("tumbling",)
WINDOW_JOIN_ACCUMULATIONS = (Accumulation.ACCUMULATING, Accumulation.DISCARDING)
WINDOW_JOIN_LATE_PANES = (LatePanes.PER_ROW,)
WINDOW_JOIN_TRIGGERS = (TriggerKind.EVENT_TIME,)
JOIN_STRATEGIES = tuple(strategy for strategy in Strategy if strategy is not Strategy.CUSTOM)
WINDOW_JOIN_STRATEGIES = tuple(strategy for strategy in JOIN_STRATEGIES if strategy is not Strategy.TIME_LAG)


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
    if pipeline.windows.kind == "session" and pipeline.windows.late_panes is LatePanes.PER_EPOCH:
        raise UnsupportedPipelineError("asked Spark for windows.late_panes 'per_epoch' of sessions; take it away")
    if pipeline.watermark.alignment is not None and not follows_rows(pipeline.watermark):
        strategy = pipeline.watermark.strategy
        raise UnsupportedPipelineError(
            f"asked to align partitions by watermark.strategy '{strategy}', which tells none from rows alone"
        )
    if pipeline.sources:
        _require_united(pipeline)
    elif pipeline.watermark.strategy is Strategy.CUSTOM:
        new_generator(pipeline.watermark.generator, pipeline.watermark.arguments)


def require_firing(columns: Sequence[str], pipeline: Pipeline) -> None:
    """Raise UnsupportedPipelineError if aggregates of rows with these columns ask for firings that cannot tell them."""
    spec = pipeline.windows
    asked = firing.asked(columns, pipeline)
    if asked and spec.kind != "session" and spec.trigger.kind is not TriggerKind.EVENT_TIME:
        raise UnsupportedPipelineError(
            f"asked Spark for aggregates of {' and '.join(asked)} with windows.trigger '{spec.trigger.kind}', "
            f"it has them with '{TriggerKind.EVENT_TIME}'"
        )


def _require_united(pipeline: Pipeline) -> None:
    if pipeline.replay.order in (Order.COMMIT, Order.OFFSET):
        raise UnsupportedPipelineError(
            f"asked Spark for several sources in the order '{pipeline.replay.order}', which is one table's own"
        )
    alone = [pipeline.alone(united) for united in pipeline.sources]
    for one in alone:
        _require("watermark.strategy", one.watermark.strategy, WINDOW_JOIN_STRATEGIES, " with several sources")
        if one.watermark.idle_timeout_ms is not None:
            raise UnsupportedPipelineError(
                "asked Spark for watermark.idle_timeout with several sources, which it does not have; take it away"
            )
    if all(one.watermark.strategy is not Strategy.NONE for one in alone) and len({axis(one) for one in alone}) > 1:
        raise UnsupportedPipelineError(
            "asked Spark for several sources, of which some emit at their rows and others at the ticks of "
            f"watermark.emit '{pipeline.watermark.emit.kind}'; it has them with '{EmitKind.PER_EVENT}'"
        )


def require_interval_join(joining: JoiningPipeline) -> None:
    """Raise UnsupportedPipelineError if the engine lacks something that one of two inputs asks for."""
    if joining.replay.order is Order.COMMIT:
        raise UnsupportedPipelineError("asked Spark for a join in commit order, which it does not have")
    if joining.replay.order is Order.OFFSET:
        raise UnsupportedPipelineError("asked Spark for a join in the order of offsets, which it does not have")
    for joined in joining.inputs:
        _require("watermark.strategy", joined.watermark.strategy, JOIN_STRATEGIES, " in a join")
        if joined.watermark.idle_timeout_ms is not None:
            raise UnsupportedPipelineError(
                "asked Spark for watermark.idle_timeout in a join, which it does not have; take it away"
            )
    strategies = [joined.watermark.strategy for joined in joining.inputs]
    kinds = {axis(joining.of(joined, Windows())) for joined in joining.inputs}
    if len(kinds) > 1 and Strategy.NONE not in strategies:
        raise UnsupportedPipelineError(
            f"asked Spark for a join of watermark.strategy '{strategies[0]}' and '{strategies[1]}' with watermark.emit "
            f"'{joining.emit.kind}', where rows emit on one side alone; it has them with '{EmitKind.PER_EVENT}'"
        )


def require_window_join(joining: JoiningPipeline, windows: Windows) -> None:
    """Raise UnsupportedPipelineError if the engine lacks the windows, or something that one of two inputs asks for."""
    require_interval_join(joining)
    _require("windows.kind", windows.kind, WINDOW_JOIN_KINDS, " in a join")
    _require("windows.accumulation", windows.accumulation, WINDOW_JOIN_ACCUMULATIONS, " in a window join")
    _require("windows.late_panes", windows.late_panes, WINDOW_JOIN_LATE_PANES, " in a window join")
    _require("windows.trigger", windows.trigger.kind, WINDOW_JOIN_TRIGGERS, " in a join")
    for joined in joining.inputs:
        _require("watermark.strategy", joined.watermark.strategy, WINDOW_JOIN_STRATEGIES, " in a window join")


def _require(what: str, asked: str, there: Sequence[str], where: str = "") -> None:
    if asked not in there:
        raise UnsupportedPipelineError(f"asked Spark for {what} '{asked}'{where}, it has {', '.join(there)}")
