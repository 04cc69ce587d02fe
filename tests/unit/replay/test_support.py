"""What the Spark engine lacks, it refuses by name before any work begins."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.pipeline.model import Pipeline, Source, Strategy, TimeField, Watermark, Windows
from spark_jobs.replay.support import UnsupportedPipelineError, require_support


def pipeline(watermark: Watermark = Watermark(), **windows: Any) -> Pipeline:  # noqa: B008 (frozen)
    return Pipeline("stream", Source("stream", TimeField("happened")), Windows(size_ms=10, **windows), watermark)


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("idle_timeout_ms", [None, 1])
def test_the_engine_has_every_strategy(strategy: Strategy, idle_timeout_ms: int | None) -> None:
    watermark = Watermark(strategy, idle_timeout_ms=idle_timeout_ms)
    require_support(pipeline(watermark))
    require_support(pipeline(watermark, kind="sliding", slide_ms=4))
    require_support(pipeline(watermark, kind="session", gap_ms=10))


def test_other_windows_are_refused() -> None:
    with pytest.raises(UnsupportedPipelineError, match=r"windows\.kind 'none', it has tumbling, sliding, session"):
        require_support(pipeline(kind="none"))
