"""What the Spark engine lacks, it refuses by name before any work begins."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.pipeline.joining import JoiningPipeline, JoinInput
from spark_jobs.pipeline.model import (
    Order,
    Pipeline,
    ReplayOrder,
    Source,
    Strategy,
    TimeField,
    Watermark,
    Windows,
)
from spark_jobs.replay.support import (
    UnsupportedPipelineError,
    require_join_support,
    require_join_windows,
    require_support,
)


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


def joining(left: Watermark, right: Watermark, order: Order = Order.ARRIVAL) -> JoiningPipeline:
    source = Source("stream", TimeField("happened"))
    return JoiningPipeline("joined", JoinInput(source, left), JoinInput(source, right), replay=ReplayOrder(order))


@pytest.mark.parametrize("strategy", [Strategy.PUNCTUATED, Strategy.TIME_LAG, Strategy.NONE])
def test_joins_refuse_other_strategies_of_either_input(strategy: Strategy) -> None:
    sound, lacking = Watermark(Strategy.MONOTONOUS), Watermark(strategy)
    require_join_support(joining(sound, Watermark()))
    for pair in ((sound, lacking), (lacking, sound)):
        with pytest.raises(UnsupportedPipelineError, match=rf"strategy '{strategy}' in a join, it has bounded_"):
            require_join_support(joining(*pair))


def test_joins_refuse_idle_timeouts_of_either_input() -> None:
    sound, lacking = Watermark(), Watermark(idle_timeout_ms=1)
    for pair in ((sound, lacking), (lacking, sound)):
        with pytest.raises(UnsupportedPipelineError, match=r"watermark\.idle_timeout in a join, which it does not"):
            require_join_support(joining(*pair))


def test_joins_refuse_commit_order() -> None:
    with pytest.raises(UnsupportedPipelineError, match="a join in commit order, which it does not have"):
        require_join_support(joining(Watermark(), Watermark(), Order.COMMIT))


@pytest.mark.parametrize("kind", ["sliding", "session", "none"])
def test_joins_refuse_other_windows(kind: str) -> None:
    require_join_windows(Windows(size_ms=10))
    with pytest.raises(UnsupportedPipelineError, match=rf"windows\.kind '{kind}' in a join, it has tumbling"):
        require_join_windows(Windows(size_ms=10, kind=kind))
