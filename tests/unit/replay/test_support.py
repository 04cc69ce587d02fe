"""What the Spark engine lacks, it refuses by name before any work begins."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.pipeline.model import Pipeline, Source, TimeField, Windows
from spark_jobs.replay.support import UnsupportedPipelineError, require_support


def pipeline(**windows: Any) -> Pipeline:
    return Pipeline("stream", Source("stream", TimeField("happened")), Windows(size_ms=10, **windows))


def test_the_engine_has_tumbling_windows() -> None:
    require_support(pipeline())


@pytest.mark.parametrize("kind", ["sliding", "session"])
def test_other_windows_are_refused(kind: str) -> None:
    with pytest.raises(UnsupportedPipelineError, match=rf"windows\.kind '{kind}', it has tumbling"):
        require_support(pipeline(kind=kind))
