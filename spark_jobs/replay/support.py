"""The support of the Spark engine is the part of a pipeline's meaning that it can replay; the reference has all of it.

Checked before any work in Spark begins, so that nothing is replayed by other rules than those asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.pipeline.joining import JoiningPipeline
from spark_jobs.pipeline.model import Order, Pipeline, Strategy, Windows

WINDOW_KINDS = ("tumbling", "sliding", "session")
JOIN_WINDOW_KINDS = ("tumbling",)
JOIN_STRATEGIES = (Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS)


class UnsupportedPipelineError(ValueError):
    """A pipeline that asks for what the Spark engine does not have."""


def require_support(pipeline: Pipeline) -> None:
    """Raise UnsupportedPipelineError if the engine lacks something that the pipeline asks for."""
    _require("windows.kind", pipeline.windows.kind, WINDOW_KINDS)


def require_join_support(joining: JoiningPipeline) -> None:
    """Raise UnsupportedPipelineError if the engine lacks something that one of two inputs asks for."""
    if joining.replay.order is Order.COMMIT:
        raise UnsupportedPipelineError("asked Spark for a join in commit order, which it does not have")
    for joined in joining.inputs:
        _require("watermark.strategy", joined.watermark.strategy, JOIN_STRATEGIES, " in a join")
        if joined.watermark.idle_timeout_ms is not None:
            raise UnsupportedPipelineError(
                "asked Spark for watermark.idle_timeout in a join, which it does not have; take it away"
            )


def require_join_windows(windows: Windows) -> None:
    """Raise UnsupportedPipelineError if the engine lacks the kind of windows in a join."""
    _require("windows.kind", windows.kind, JOIN_WINDOW_KINDS, " in a join")


def _require(what: str, asked: str, there: Sequence[str], where: str = "") -> None:
    if asked not in there:
        raise UnsupportedPipelineError(f"asked Spark for {what} '{asked}'{where}, it has {', '.join(there)}")
