"""Emissions: where they fall between the rows, for each kind of clock."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from spark_jobs.pipeline.model import Emit, EmitKind
from spark_jobs.semantics.rows.emission import EmissionClock, Every, EveryN, emission_clock

EVERY_10 = Emit(EmitKind.EVERY, interval_ms=10)


def order_of(clock: EmissionClock, *rows_ms: float, until_ms: float | None = None) -> list[str]:
    """Rows and emissions in the order in which they happen, in milliseconds."""
    story: list[str] = []

    def emit(clocks_us: Sequence[int]) -> None:
        story.extend(f"emit {clock_us / 1000:g}" for clock_us in clocks_us)

    for ms in rows_ms:
        emit(clock.before(round(ms * 1000)))
        story.append(f"row {ms:g}")
        emit(clock.after(round(ms * 1000)))
    emit(clock.at_end(None if until_ms is None else round(until_ms * 1000)))
    return story


def test_a_tick_follows_all_rows_before_it_and_precedes_the_rows_at_it() -> None:
    assert order_of(emission_clock(EVERY_10), 1, 9.999, 10, 11) == ["row 1", "row 9.999", "emit 10", "row 10", "row 11"]


def test_no_tick_follows_the_last_row() -> None:
    assert order_of(emission_clock(EVERY_10), 1) == ["row 1"]


@pytest.mark.parametrize(("until_ms", "ticks"), [(9.999, []), (10, ["emit 10"]), (35, ["emit 10"])])
def test_a_tick_follows_the_last_row_if_the_clock_went_on_to_it(until_ms: float, ticks: list[str]) -> None:
    assert order_of(emission_clock(EVERY_10), 1, until_ms=until_ms) == ["row 1", *ticks]


def test_no_tick_without_rows() -> None:
    assert order_of(emission_clock(EVERY_10), until_ms=100) == []


def test_stretches_without_rows_have_one_emission_at_the_first_tick() -> None:
    assert order_of(emission_clock(EVERY_10), 1, 95) == ["row 1", "emit 10", "row 95"]


def test_all_ticks_are_emitted_if_every_tick_is_set() -> None:
    clock = emission_clock(EVERY_10, every_tick=True)
    assert order_of(clock, 1, 30, until_ms=49.999) == ["row 1", "emit 10", "emit 20", "emit 30", "row 30", "emit 40"]


def test_the_phase_shifts_the_ticks() -> None:
    shifted = Emit(EmitKind.EVERY, interval_ms=10, phase_ms=3)
    assert order_of(emission_clock(shifted), 2, 3, 12.999, 13) == [
        "row 2",
        "emit 3",
        "row 3",
        "row 12.999",
        "emit 13",
        "row 13",
    ]


def test_clocks_before_1970_tick_alike() -> None:
    assert order_of(emission_clock(EVERY_10), -10.001, -10, -0.001, 0) == [
        "row -10.001",
        "emit -10",
        "row -10",
        "row -0.001",
        "emit 0",
        "row 0",
    ]


def test_per_event_emits_at_each_rows_own_clock() -> None:
    clock = emission_clock(Emit(EmitKind.PER_EVENT))
    assert order_of(clock, 1, 1.001, until_ms=50) == ["row 1", "emit 1", "row 1.001", "emit 1.001"]


def test_every_n_emits_after_whole_groups_only() -> None:
    clock = emission_clock(Emit(EmitKind.EVERY_N, n=2))
    assert order_of(clock, 1, 2, 3, 4, 5, until_ms=9) == [
        "row 1",
        "row 2",
        "emit 2",
        "row 3",
        "row 4",
        "emit 4",
        "row 5",
    ]


def test_clocks_that_never_emit_are_refused() -> None:
    with pytest.raises(ValueError, match="every 0 rows"):
        EveryN(0)
    with pytest.raises(ValueError, match="every 0 ms"):
        Every(0, 0)
    assert order_of(EveryN(1), 1) == ["row 1", "emit 1"]
    assert order_of(Every(1, 0), 1, 2) == ["row 1", "emit 2", "row 2"]
