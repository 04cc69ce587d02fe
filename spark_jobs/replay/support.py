"""The support of the Spark engine is the part of a pipeline's meaning that it can replay; the reference has all of it.

Checked before any work in Spark begins, so that nothing is replayed by other rules than those asked for.
"""

from __future__ import annotations

from spark_jobs.pipeline.model import Pipeline, Strategy

WINDOW_KINDS = ("tumbling", "session")
STRATEGIES = (Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS)


class UnsupportedPipelineError(ValueError):
    """A pipeline that asks for what the Spark engine does not have."""


def require_support(pipeline: Pipeline) -> None:
    """Raise UnsupportedPipelineError if the engine lacks something that the pipeline asks for."""
    if pipeline.windows.kind not in WINDOW_KINDS:
        raise UnsupportedPipelineError(
            f"asked Spark for windows.kind '{pipeline.windows.kind}', it has {', '.join(WINDOW_KINDS)}"
        )
    if pipeline.watermark.strategy not in STRATEGIES:
        raise UnsupportedPipelineError(
            f"asked Spark for watermark.strategy '{pipeline.watermark.strategy}', it has {', '.join(STRATEGIES)}"
        )
    if pipeline.watermark.idle_timeout_ms is not None:
        raise UnsupportedPipelineError("asked Spark for watermark.idle_timeout, which it does not have; take it away")
