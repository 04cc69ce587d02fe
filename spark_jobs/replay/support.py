"""The support of the Spark engine is the part of a pipeline's meaning that it can replay; the reference has all of it.

Checked before any work in Spark begins, so that nothing is replayed by other rules than those asked for.
"""

from __future__ import annotations

from spark_jobs.pipeline.joining import JoiningPipeline
from spark_jobs.pipeline.model import Pipeline, Strategy, Watermark, Windows

WINDOW_KINDS = ("tumbling",)
STRATEGIES = (Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS)


class UnsupportedPipelineError(ValueError):
    """A pipeline that asks for what the Spark engine does not have."""


def require_support(pipeline: Pipeline) -> None:
    """Raise UnsupportedPipelineError if the engine lacks something that the pipeline asks for."""
    require_windows(pipeline.windows)
    _require_watermark(pipeline.watermark)


def require_join_support(joining: JoiningPipeline) -> None:
    """Raise UnsupportedPipelineError if the engine lacks something that one of two inputs asks for."""
    for joined in joining.inputs:
        _require_watermark(joined.watermark)


def require_windows(windows: Windows) -> None:
    """Raise UnsupportedPipelineError if the engine lacks the kind of windows."""
    if windows.kind not in WINDOW_KINDS:
        raise UnsupportedPipelineError(
            f"asked Spark for windows.kind '{windows.kind}', it has {', '.join(WINDOW_KINDS)}"
        )


def _require_watermark(declared: Watermark) -> None:
    if declared.strategy not in STRATEGIES:
        raise UnsupportedPipelineError(
            f"asked Spark for watermark.strategy '{declared.strategy}', it has {', '.join(STRATEGIES)}"
        )
    if declared.idle_timeout_ms is not None:
        raise UnsupportedPipelineError("asked Spark for watermark.idle_timeout, which it does not have; take it away")
