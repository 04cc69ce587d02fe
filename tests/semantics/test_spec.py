"""Specs: every kind is classified, and each property of a spec holds for exactly the kinds that it names."""

from __future__ import annotations

import pytest

from spark_jobs.pipeline import model
from spark_jobs.semantics import spec
from spark_jobs.semantics.spec import (
    Accumulation,
    Emit,
    EmitKind,
    LateData,
    Placement,
    ReplaySpec,
    Source,
    Strategy,
    TimeField,
    Trigger,
    TriggerKind,
    UnitedSource,
    Watermark,
    WindowKind,
    Windows,
)

SOURCE = Source("events", TimeField("happened"))


def strategies_with(name: str, **settings: object) -> set[Strategy]:
    return {strategy for strategy in Strategy if getattr(Watermark(strategy, **settings), name)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "strategies"),
    [
        ("follows_rows", {Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS, Strategy.PUNCTUATED}),
        ("emits_at_rows", {Strategy.PUNCTUATED, Strategy.CUSTOM}),
        ("is_bounded", {Strategy.BOUNDED_OUT_OF_ORDERNESS, Strategy.MONOTONOUS}),
        ("has_bound", {Strategy.BOUNDED_OUT_OF_ORDERNESS}),
        ("is_punctuated", {Strategy.PUNCTUATED}),
        ("is_custom", {Strategy.CUSTOM}),
        ("follows_clock", {Strategy.TIME_LAG}),
        ("is_absent", {Strategy.NONE}),
        ("holds_at_min", {Strategy.NONE}),
        ("may_move_without_rows", {Strategy.TIME_LAG, Strategy.CUSTOM}),
        ("may_fall_idle", set()),
        ("moves_at_every_tick", set()),
    ],
)
def test_each_property_of_a_watermark_names_its_strategies(name: str, strategies: set[Strategy]) -> None:
    assert strategies_with(name) == strategies


def test_an_idle_timeout_lets_every_strategy_but_none_fall_idle() -> None:
    assert strategies_with("may_move_without_rows", idle_timeout_ms=1) == set(Strategy)
    assert strategies_with("may_fall_idle", idle_timeout_ms=1) == set(Strategy) - {Strategy.NONE}
    assert strategies_with("holds_at_min", idle_timeout_ms=1) == set()


def test_only_a_time_lag_moves_at_every_tick_and_only_by_the_clock() -> None:
    assert strategies_with("moves_at_every_tick", emit=Emit(EmitKind.EVERY, 1)) == {Strategy.TIME_LAG}
    assert strategies_with("moves_at_every_tick", emit=Emit(EmitKind.EVERY_N, n=1)) == set()


def test_monotonous_timestamps_have_the_bound_0() -> None:
    assert Watermark(out_of_orderness_ms=7).bound_ms == 7
    assert Watermark(Strategy.MONOTONOUS, out_of_orderness_ms=7).bound_ms == 0


@pytest.mark.parametrize("kind", WindowKind)
def test_a_window_kind_may_be_written_as_text(kind: WindowKind) -> None:
    windows = Windows(kind=kind.value)  # type: ignore[arg-type]
    assert windows.kind is kind
    assert windows == Windows(kind=kind)


def test_an_unknown_window_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="found window kind 'global', known: session, sliding, tumbling"):
        Windows(kind="global")  # type: ignore[arg-type]


def test_windows_of_a_grid_start_a_period_apart() -> None:
    assert {kind for kind in WindowKind if kind.has_grid} == {WindowKind.TUMBLING, WindowKind.SLIDING}
    sliding = Windows(size_ms=10, slide_ms=15, kind=WindowKind.SLIDING)
    assert (sliding.period_ms, sliding.have_gaps) == (15, True)
    tumbling = Windows(size_ms=10)
    assert (tumbling.period_ms, tumbling.have_gaps) == (10, False)
    assert Windows(gap_ms=7, kind=WindowKind.SESSION).span_ms == 7


@pytest.mark.parametrize("accumulation", Accumulation)
def test_panes_discard_or_retract_by_their_accumulation(accumulation: Accumulation) -> None:
    windows = Windows(accumulation=accumulation)
    assert windows.discards == (accumulation is Accumulation.DISCARDING)
    assert windows.retracts == (accumulation is Accumulation.RETRACTING)


def test_windows_that_update_take_rows_for_ever() -> None:
    assert Windows(allowed_lateness_ms=5).lateness_ms == 5
    assert Windows(allowed_lateness_ms=5, late_data=LateData.UPDATE).lateness_ms == spec.FOREVER_MS
    assert Windows(late_data=LateData.DROP).drops_late


def test_each_trigger_has_one_kind() -> None:
    names = {TriggerKind.EVENT_TIME: "is_default", TriggerKind.CONTINUOUS: "is_continuous"}
    names |= {TriggerKind.COUNT: "counts_rows"}
    for kind in TriggerKind:
        assert [name for name in names.values() if getattr(Trigger(kind), name)] == [names[kind]]


def test_a_source_alone_has_the_emission_and_placement_of_all() -> None:
    emit = Emit(EmitKind.EVERY, 1_000)
    united = (UnitedSource("web", SOURCE, Watermark(Strategy.NONE)), UnitedSource("app", SOURCE))
    together = ReplaySpec(SOURCE, Windows(), Watermark(emit=emit, placement=Placement.AFTER_WHERE), sources=united)
    alone = together.alone(united[0])
    assert alone.watermark == Watermark(Strategy.NONE, emit=emit, placement=Placement.AFTER_WHERE)
    assert (together.is_united, alone.is_united) == (True, False)
    assert together.watermarks == (Watermark(Strategy.NONE), Watermark())
    assert not alone.filtered_rows_move_watermark


def test_a_pipeline_is_a_replay_spec_with_a_name_and_its_module_exports_every_spec() -> None:
    pipeline = model.Pipeline("events", SOURCE, Windows())
    assert isinstance(pipeline, ReplaySpec)
    assert (pipeline.name, pipeline.source) == ("events", SOURCE)
    assert set(spec.__all__) < set(model.__all__)
