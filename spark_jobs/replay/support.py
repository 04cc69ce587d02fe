"""The support of the Spark engine is the part of a pipeline's meaning that it can replay; the reference has all of it.

Checked before any work in Spark begins, so that nothing is replayed by other rules than those asked for.
"""

from __future__ import annotations

from spark_jobs.pipeline.model import Pipeline

WINDOW_KINDS = ("tumbling", "sliding", "session")


class UnsupportedPipelineError(ValueError):
    """A pipeline that asks for what the Spark engine does not have."""


def require_support(pipeline: Pipeline) -> None:
    """Raise UnsupportedPipelineError if the engine lacks something that the pipeline asks for."""
    if pipeline.windows.kind not in WINDOW_KINDS:
        raise UnsupportedPipelineError(
            f"asked Spark for windows.kind '{pipeline.windows.kind}', it has {', '.join(WINDOW_KINDS)}"
        )
