"""A custom generator sees every row behind its judgement and every tick, and its errors have its name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spark_jobs.pipeline.model import Emit, EmitKind, Strategy
from spark_jobs.semantics.reference import replay
from spark_jobs.semantics.rows.instants import MAX, MIN
from spark_jobs.semantics.watermark.custom import GeneratorError, new_generator
from spark_jobs.semantics.watermark.generators import WatermarkOutput
from tests.support.outputs import Output
from tests.support.rows_by_hand import Change, at, partitioned, row

HERE = __name__


class Ticking:
    """Emits the number of ticks it has seen, in seconds after noon."""

    def __init__(self, first: int = 0) -> None:
        self._ticks = first

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        if row.get("jump"):
            output.emit_watermark(round(at(row["jump"]).timestamp() * 1000))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        self._ticks += 1
        output.emit_watermark(round(at(self._ticks).timestamp() * 1000))


class Constant:
    """Emits what it is made with."""

    def __init__(self, watermark: Any) -> None:
        self._watermark = watermark

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        output.emit_watermark(self._watermark)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(self._watermark)


class Half:
    """Lacks a method."""

    def on_event(self, row: Mapping[str, Any], ts: int, output: WatermarkOutput) -> None:
        """Do nothing."""


not_a_class = Constant(1)


def ticking(changed: Change, **source: Any) -> Any:
    every = Emit(EmitKind.EVERY, interval_ms=1_000)
    named = {"strategy": Strategy.CUSTOM, "generator": f"{HERE}:Ticking", "emit": every}
    return changed(watermark=named, windows={"allowed_lateness_ms": 0}, source=source)


def test_ticks_reach_the_generator_while_no_row_arrives(changed: Change) -> None:
    pane, _ = replay([row(0.5, 1), row(14.5, 14)], ticking(changed)).panes
    assert (pane["ids"], pane["fired_at"], pane["watermark"]) == ([0.5], at(10), at(10))


def test_watermark_that_a_row_emits_counts_from_the_next_row_on(changed: Change) -> None:
    rows = [row(0.1, 1), row(0.2, 9, jump=9.999), row(0.3, 9)]
    outcome = replay([{"jump": None, **r} for r in rows], ticking(changed))
    assert [pane["ids"] for pane in outcome.panes] == [[0.1, 0.2]]
    assert [late["id"] for late in outcome.late_events] == [0.3]


def test_each_partition_has_a_generator_from_its_first_row(changed: Change) -> None:
    rows = [row(0.5, 1, p="a"), row(5.5, 2, p="b"), row(20.5, 3, p="b")]
    [first] = replay(rows, ticking(changed, **partitioned("p"))).panes
    # The ticks at 1 to 5 are those of `a` alone: at 15 `b` has seen 10.
    assert (first["fired_at"], first["watermark"]) == (at(15), at(10))


@pytest.mark.parametrize("emitted", ["soon", 1.5, None, MAX, MIN - 1, 2**53])
def test_emitted_value_that_is_no_time_of_a_table_is_refused(emitted: object) -> None:
    generator = new_generator(f"{HERE}:Constant", {"watermark": emitted})
    with pytest.raises(GeneratorError, match=r"Constant' failed in on_event: it emitted"):
        generator.on_event({}, 1, Output())
    with pytest.raises(GeneratorError, match=r"Constant' failed in on_periodic_emit: it emitted"):
        generator.on_periodic_emit(Output())


def test_the_first_and_the_last_instant_of_a_table_may_be_emitted() -> None:
    for year in (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)):
        output, instant = Output(), (year - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
        new_generator(f"{HERE}:Constant", {"watermark": instant}).on_event({}, 1, output)
        assert output == [instant]
        beyond = instant + (1 if instant > 0 else -1)
        with pytest.raises(GeneratorError, match="outside the years 1 to 9999"):
            new_generator(f"{HERE}:Constant", {"watermark": beyond}).on_event({}, 1, output)


def test_min_may_be_emitted_and_changes_nothing() -> None:
    output = Output()
    new_generator(f"{HERE}:Constant", {"watermark": MIN}).on_periodic_emit(output)
    assert output == [MIN]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        (None, {}, "found no class"),
        ("nowhere", {}, "expected package.module:Class"),
        ("no.such.module:Class", {}, r"cannot import no\.such\.module of .*: ModuleNotFoundError"),
        (f"{HERE}:Tocking", {}, "defines .*Ticking"),
        (f"{HERE}:Half", {}, "has no method on_periodic_emit"),
        (f"{HERE}:not_a_class", {}, "is no class"),
        (f"{HERE}:Constant", {}, "arguments none: TypeError"),
        (f"{HERE}:Ticking", {"last": 1}, "arguments last: TypeError"),
    ],
)
def test_a_class_that_cannot_be_made_is_named(name: str | None, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(GeneratorError, match=message):
        new_generator(name, arguments)


def test_error_in_a_generator_has_the_generators_name(changed: Change) -> None:
    with pytest.raises(GeneratorError, match=r"Ticking' failed in on_event: TypeError"):
        replay([row(1, 1, jump="later")], ticking(changed))
