"""What the Spark engine lacks, it refuses by name before any work begins."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.pipeline.model import Pipeline, Source, Strategy, TimeField, Watermark, Windows
from spark_jobs.replay.support import UnsupportedPipelineError, require_support


def pipeline(watermark: Watermark = Watermark(), **windows: Any) -> Pipeline:  # noqa: B008 (frozen)
    return Pipeline("stream", Source("stream", TimeField("happened")), Windows(size_ms=10, **windows), watermark)


@pytest.mark.parametrize("strategy", [Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS])
def test_the_engine_has_tumbling_windows_behind_the_newest_row(strategy: Strategy) -> None:
    require_support(pipeline(Watermark(strategy)))


@pytest.mark.parametrize("strategy", [Strategy.PUNCTUATED, Strategy.TIME_LAG, Strategy.NONE])
def test_other_strategies_are_refused(strategy: Strategy) -> None:
    with pytest.raises(UnsupportedPipelineError, match=f"'{strategy}', it has bounded_out_of_orderness, monotonous"):
        require_support(pipeline(Watermark(strategy)))


def test_the_engine_has_sessions() -> None:
    require_support(pipeline(kind="session", gap_ms=10))


def test_other_windows_are_refused() -> None:
    with pytest.raises(UnsupportedPipelineError, match=r"windows\.kind 'sliding', it has tumbling, session"):
        require_support(pipeline(kind="sliding"))


def test_idle_timeouts_are_refused() -> None:
    with pytest.raises(UnsupportedPipelineError, match=r"watermark\.idle_timeout, which it does not have"):
        require_support(pipeline(Watermark(idle_timeout_ms=1)))
