"""What the Spark engine lacks, it refuses by name before any work begins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.pipeline.joining import JoiningPipeline, JoinInput
from spark_jobs.pipeline.model import (
    Emit,
    EmitKind,
    Order,
    Pipeline,
    ReplayOrder,
    Source,
    Strategy,
    TimeField,
    Trigger,
    TriggerKind,
    UnitedSource,
    Watermark,
    Windows,
)
from spark_jobs.replay.supported import (
    UnsupportedPipelineError,
    require_interval_join,
    require_support,
    require_window_join,
)
from spark_jobs.semantics.spec import WindowKind
from spark_jobs.semantics.watermark.custom import GeneratorError

DETECTED = "spark_jobs.semantics.detected_bound:DetectedBound"


def pipeline(watermark: Watermark = Watermark(), **windows: Any) -> Pipeline:  # noqa: B008 (frozen)
    return Pipeline("stream", Source("stream", TimeField("happened")), Windows(size_ms=10, **windows), watermark)


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("idle_timeout_ms", [None, 1])
def test_the_engine_has_every_strategy(strategy: Strategy, idle_timeout_ms: int | None) -> None:
    watermark = Watermark(strategy, idle_timeout_ms=idle_timeout_ms, generator=DETECTED)
    require_support(pipeline(watermark))
    require_support(pipeline(watermark, kind="sliding", slide_ms=4))
    require_support(pipeline(watermark, kind="session", gap_ms=10))


def test_unknown_generator_class_is_refused() -> None:
    with pytest.raises(GeneratorError, match=r"defines DetectedBound"):
        require_support(pipeline(Watermark(Strategy.CUSTOM, generator=DETECTED + "s")))


@pytest.mark.parametrize("kind", TriggerKind)
def test_the_engine_has_every_trigger(kind: TriggerKind) -> None:
    require_support(pipeline(trigger=Trigger(kind, interval_ms=1, n=1)))


@pytest.mark.parametrize("kind", [kind for kind in TriggerKind if kind is not TriggerKind.EVENT_TIME])
def test_window_joins_are_refused_other_triggers(kind: TriggerKind) -> None:
    windows = Windows(size_ms=10, trigger=Trigger(kind, interval_ms=1, n=1))
    with pytest.raises(
        UnsupportedPipelineError, match=rf"windows\.trigger '{kind}': not supported in a join\. Use event_time"
    ):
        require_window_join(joining(Watermark(), Watermark()), windows)


def test_other_windows_are_refused() -> None:
    with pytest.raises(
        UnsupportedPipelineError, match=r"windows\.kind 'none': not supported\. Use tumbling or sliding or session"
    ):
        require_support(pipeline(kind="none"))


def joining(
    left: Watermark, right: Watermark, *, emit: EmitKind = EmitKind.EVERY, order: Order = Order.ARRIVAL
) -> JoiningPipeline:
    source = Source("stream", TimeField("happened"))
    inputs = (JoinInput(source, left), JoinInput(source, right))
    return JoiningPipeline("joined", *inputs, emit=Emit(emit, interval_ms=1), replay=ReplayOrder(order))


@pytest.mark.parametrize("strategy", [strategy for strategy in Strategy if strategy is not Strategy.CUSTOM])
def test_interval_joins_have_every_strategy_of_both_inputs(strategy: Strategy) -> None:
    require_interval_join(joining(Watermark(strategy), Watermark(strategy)))
    require_interval_join(joining(Watermark(strategy), Watermark(), emit=EmitKind.PER_EVENT))


def test_interval_joins_have_idle_timeouts_and_rows_that_emit_beside_ticks() -> None:
    marked = Watermark(Strategy.PUNCTUATED, idle_timeout_ms=1)
    for other in (Strategy.MONOTONOUS, Strategy.TIME_LAG):
        require_interval_join(joining(marked, Watermark(other)))
        require_interval_join(joining(Watermark(other), marked))


def test_joins_look_for_the_class_of_either_input() -> None:
    sound, lacking = Watermark(), Watermark(Strategy.CUSTOM, generator=DETECTED + "s")
    require_interval_join(joining(sound, Watermark(Strategy.CUSTOM, generator=DETECTED)))
    for pair in ((sound, lacking), (lacking, sound)):
        with pytest.raises(GeneratorError, match="defines DetectedBound"):
            require_interval_join(joining(*pair))


def test_joins_refuse_commit_order() -> None:
    with pytest.raises(UnsupportedPipelineError, match=r"replay\.order 'commit': not supported for a join"):
        require_interval_join(joining(Watermark(), Watermark(), order=Order.COMMIT))


def test_window_joins_have_the_windows_of_a_pipeline() -> None:
    for kind in ("tumbling", "sliding", "session"):
        require_window_join(
            joining(Watermark(), Watermark(Strategy.TIME_LAG)), Windows(size_ms=10, kind=WindowKind(kind))
        )
    with pytest.raises(
        UnsupportedPipelineError, match=r"windows\.kind 'none': not supported\. Use tumbling or sliding or session"
    ):
        require_window_join(joining(Watermark(), Watermark()), Windows(size_ms=10, kind=WindowKind.NONE))


def test_window_joins_look_at_the_inputs_as_interval_joins_do() -> None:
    with pytest.raises(UnsupportedPipelineError, match=r"replay\.order 'commit': not supported for a join"):
        require_window_join(joining(Watermark(), Watermark(), order=Order.COMMIT), Windows(size_ms=10))


def united(*watermarks: Watermark, order: Order = Order.ARRIVAL) -> Pipeline:
    source = Source("stream", TimeField("happened"))
    sources = tuple(UnitedSource(f"s{i}", source, watermark) for i, watermark in enumerate(watermarks))
    return replace(pipeline(), sources=sources, replay=ReplayOrder(order))


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("idle_timeout_ms", [None, 1])
def test_sources_may_have_any_strategies(strategy: Strategy, idle_timeout_ms: int | None) -> None:
    require_support(united(Watermark(), Watermark(strategy, idle_timeout_ms=idle_timeout_ms, generator=DETECTED)))


def test_several_sources_refuse_orders_of_one_table_and_unknown_classes() -> None:
    for order in (Order.COMMIT, Order.OFFSET):
        with pytest.raises(
            UnsupportedPipelineError, match=rf"replay\.order '{order}': not supported for several sources"
        ):
            require_support(united(Watermark(), Watermark(), order=order))
    with pytest.raises(GeneratorError, match="defines DetectedBound"):
        require_support(united(Watermark(), Watermark(Strategy.CUSTOM, generator=DETECTED + "s")))
