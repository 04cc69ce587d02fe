"""A scenario is a stream with a pipeline, and what Flink 2.3.0 emitted for it: panes, late rows, watermarks.

`load` gives the recorded scenarios of this folder that the Spark engine has, `load_for_reference` all that the
reference has. The tuples of `outcomes` have what Flink gave, and what an engine gives. A row of a scenario is
a dict with `index` (its place in Flink's order), `partition, key, ts` (ms), `arrival_us` (microseconds; unique, in
Flink's order) and `value`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from spark_jobs.pipeline.model import (
    Accumulation,
    Aggregate,
    Emit,
    EmitKind,
    Pipeline,
    Source,
    SourcePartition,
    Strategy,
    TimeField,
    TimeUnit,
    Trigger,
    TriggerKind,
    Watermark,
    Windows,
)
from spark_jobs.semantics.rows.instants import MAX, MIN, micros, table_time
from tests.vectors.outcomes import CalendarTuple, PaneTuple
from tests.vectors.recorded import paired

HERE = Path(__file__).parent
SCENARIOS, RESULTS = "scenarios.jsonl.gz", "flink_results.jsonl.gz"
# Chosen from 14,000 others: each has a case that those before it do not have.
HARD_SCENARIOS, HARD_RESULTS = "hard_scenarios.jsonl.gz", "hard_flink_results.jsonl.gz"
TRIGGER_SCENARIOS, TRIGGER_RESULTS = "trigger_scenarios.jsonl.gz", "flink_trigger_results.jsonl.gz"

_STRATEGIES = {
    "bounded": Strategy.BOUNDED_OUT_OF_ORDERNESS,
    "monotonous": Strategy.MONOTONOUS,
    "punctuated": Strategy.PUNCTUATED,
    "time_lag": Strategy.TIME_LAG,
    "none": Strategy.NONE,
}
_AGGREGATES = {
    "rows": "count(*)",
    "total": "sum(value)",
    "least": "min(value)",
    "most": "max(value)",
    "members": "collect_list(index)",
}
# A tick that no scenario's clock reaches: Flink's emission mode 'none'.
_NEVER_MS = 2**45


@dataclass(frozen=True)
class Recorded:
    """A scenario and Flink's answer, as the oracle reads and writes them (`declared`, `recorded`)."""

    declared: Mapping[str, Any]
    recorded: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Its name."""
        return str(self.declared["id"])


class Scenario(Recorded):
    """A recorded stream with windows."""

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows in Flink's order; `arrival_us` numbers the rows of one arrival."""
        events = enumerate(self.declared["events"])
        by_arrival = groupby(events, key=lambda pair: int(pair[1]["arrival"]))
        return [
            {
                "index": index,
                "partition": event["partition"],
                "key": event["key"],
                "ts": event["ts"],
                "arrival_us": arrival * 1000 + place,
                "value": float(event["value"]),
                **({"marker": event.get("marker", False)} if self._is_punctuated else {}),
            }
            for arrival, together in by_arrival
            for place, (index, event) in enumerate(together)
        ]

    @property
    def until(self) -> datetime | None:
        """How far the clock went after the last row."""
        return table_time(self.declared["end_ms"]) if "end_ms" in self.declared else None

    @cached_property
    def pipeline(self) -> Pipeline:
        """The pipeline that declares the scenario."""
        window, strategy = self.declared["window"], self.declared["strategy"]
        return Pipeline(
            name="scenario",
            source=Source(
                table="scenario",
                event_time=TimeField("ts", unit=TimeUnit.MILLISECONDS),
                arrival_time=TimeField("arrival_us", unit=TimeUnit.MICROSECONDS),
                source_partition=SourcePartition(("partition",), self._declared_partitions()),
                tie_break=("index",),
                future_guard_ms=None,
            ),
            watermark=replace(
                watermark(strategy, emission(self.declared)), idle_timeout_ms=self.declared.get("idle_timeout_ms")
            ),
            windows=Windows(
                kind=window["kind"],
                size_ms=window.get("size_ms", 0),
                gap_ms=window.get("gap_ms", 0),
                slide_ms=window.get("slide_ms", 0),
                offset_ms=window.get("offset_ms", 0),
                key=("key",),
                allowed_lateness_ms=self.declared.get("allowed_lateness_ms", 0),
                accumulation=Accumulation(self.declared.get("accumulation", "accumulating")),
                aggregates=tuple(Aggregate(name, expression) for name, expression in _AGGREGATES.items()),
                trigger=trigger(self.declared.get("trigger", {})),
            ),
        )

    @cached_property
    def _causes(self) -> dict[int, str]:
        return {mark["watermark"]: mark["cause"] for mark in self.recorded["watermarks"]}

    @property
    def panes(self) -> list[PaneTuple]:
        """What Flink emitted, sorted."""
        return sorted(
            PaneTuple(
                pane["key"],
                pane["start"],
                pane["end"],
                pane["pane_index"],
                self._timing(pane),
                pane["watermark"],
                self._clock_us(pane["after_event"], pane["watermark"], is_emission=pane["trigger"] == "timer"),
                pane["count"],
                pane["sum"],
                pane["min"],
                pane["max"],
                tuple(pane["events"]),
            )
            for pane in self.recorded["panes"]
        )

    def _timing(self, pane: Mapping[str, Any]) -> str:
        """The timing of one of Flink's panes, whose answer has no timing, by the instant of the timer that fired it."""
        if "timing" in pane:
            return str(pane["timing"])
        last, reached = pane["end"] - 1, pane["watermark"]
        if pane["trigger"] == "element":
            return "late" if last <= reached else "early"
        before = max(
            (mark["watermark"] for mark in self.recorded["watermarks"] if mark["watermark"] < reached), default=MIN
        )
        if last <= before:
            return "late"
        return "on_time" if pane["instant"] == last else "early"

    @property
    def late(self) -> list[int]:
        """The indices of Flink's late output, sorted."""
        return sorted(self.recorded["late"])

    @property
    def unassigned(self) -> list[int]:
        """The indices of the rows without a window that Flink drops without a trace, sorted (rule 53)."""
        return sorted(set(self.recorded["unassigned"]) - set(self.recorded["late"]))

    @property
    def calendar(self) -> list[CalendarTuple]:
        """The calendar that Flink's watermarks give for the windows that held a row, sorted; none of sessions."""
        lateness, window = self.declared.get("allowed_lateness_ms", 0), self.declared["window"]
        if window["kind"] == "session":
            return []
        size, offset = window["size_ms"], window.get("offset_ms", 0)
        slide = window.get("slide_ms", size)
        newest = {(ts, ts - (ts - offset) % slide) for ts in (event["ts"] for event in self.declared["events"])}
        starts = sorted({start for ts, first in newest for start in range(first, ts - size, -slide)})
        marks = self.recorded["watermarks"]
        reached = [mark["watermark"] for mark in marks]
        fires = [bisect_left(reached, start + size - 1) for start in starts]
        closes = [bisect_left(reached, start + size - 1 + lateness) for start in starts]
        return [
            CalendarTuple(start, start + size, self._clock_of(marks[fire]), reached[fire], self._clock_of(marks[close]))
            for start, fire, close in zip(starts, fires, closes, strict=True)
        ]

    @property
    def watermarks(self) -> list[tuple[int, int]]:
        """Each watermark that reached Flink's operator, with its clock in microseconds; none without rows."""
        return [(self._clock_of(mark), mark["watermark"]) for mark in self.recorded["watermarks"] if self.rows]

    def _clock_of(self, mark: Mapping[str, Any]) -> int:
        return self._clock_us(mark["after_event"], mark["watermark"])

    def shown_clock_us(self, clock_us: int) -> int:
        """A clock of an engine's as the tuples show it: the arrival of the last row before, if ticks may be skipped.

        Flink's answer names the row after which something happened, not the tick. Where every tick between two rows may
        be the one, only the row is compared.
        """
        if not self._skips_ticks:
            return clock_us
        return max((row["arrival_us"] for row in self.rows if row["arrival_us"] < clock_us), default=MIN)

    @cached_property
    def _skips_ticks(self) -> bool:
        return self.declared["emit"]["mode"] == "periodic" and self.pipeline.watermark.may_move_without_rows

    @cached_property
    def _is_punctuated(self) -> bool:
        kind: str = self.declared["strategy"]["kind"]
        return kind == "punctuated"

    def _clock_us(self, after_event: int, watermark: int, *, is_emission: bool = True) -> int:
        """The clock of what Flink did after a row: at a tick, or with the row itself."""
        if watermark == MAX and self.until is not None:
            return self.shown_clock_us(micros(self.until))
        arrival_us: int = self.rows[after_event]["arrival_us"]
        emit = self.pipeline.watermark.emit
        is_tick = is_emission and emit.kind is EmitKind.EVERY and self._causes[watermark] == "periodic"
        if not is_tick or self._skips_ticks:
            return arrival_us if is_tick else self.shown_clock_us(arrival_us)
        since_ms = arrival_us // 1000 - emit.phase_ms
        return (since_ms // emit.interval_ms + 1) * emit.interval_ms * 1000 + emit.phase_ms * 1000

    def _declared_partitions(self) -> tuple[tuple[str], ...]:
        if self.declared.get("register") == "lazy":
            return ()
        partitions = {event["partition"] for event in self.declared["events"]}
        return tuple((name,) for name in self.declared.get("partitions", sorted(partitions)))


def load() -> list[Scenario]:
    """Give the recorded scenarios that the Spark engine has."""
    return [scenario for scenario in load_for_reference() if is_in_spark(scenario.declared)]


def load_for_reference() -> list[Scenario]:
    """Give the recorded scenarios that the reference has."""
    recorded = [*read(HERE / SCENARIOS, HERE / RESULTS), *read(HERE / HARD_SCENARIOS, HERE / HARD_RESULTS)]
    return [scenario for scenario in recorded if is_in_reference(scenario.declared)]


@cache
def read(scenarios: Path, results: Path) -> tuple[Scenario, ...]:
    """Read scenarios and Flink's answers, JSON lines (gzipped if the name ends so), paired by id."""
    return tuple(Scenario(declared, recorded) for declared, recorded in paired(scenarios, results))


def is_in_reference(declared: Mapping[str, Any]) -> bool:
    """Whether the reference has all that a scenario needs."""
    return (
        declared.get("window", {}).get("kind") in {"tumbling", "sliding", "session"}
        and declared["strategy"]["kind"] in _STRATEGIES
        and not {"subtasks", "release", "start_ms", "join"} & declared.keys()
    )


def is_in_spark(declared: Mapping[str, Any]) -> bool:
    """Whether the Spark engine has all that a scenario needs."""
    return (
        declared.get("window", {}).get("kind") in {"tumbling", "sliding", "session"}
        and declared["strategy"]["kind"] in _STRATEGIES
        and not {"subtasks", "release", "start_ms", "join"} & declared.keys()
    )


def load_triggers() -> list[Scenario]:
    """Give the recorded scenarios with another trigger than the default."""
    return list(read(HERE / TRIGGER_SCENARIOS, HERE / TRIGGER_RESULTS))


def trigger(declared: Mapping[str, Any]) -> Trigger:
    """Return the pipeline's trigger for a scenario's."""
    return Trigger(
        TriggerKind(declared.get("kind", "event_time")), declared.get("interval_ms", 0), declared.get("n", 0)
    )


def emission(declared: Mapping[str, Any]) -> Emit:
    """Return the pipeline's emission for a scenario's."""
    emit = declared["emit"]
    if emit["mode"] == "every_n":
        return Emit(EmitKind.EVERY_N, n=emit["n"])
    if emit["mode"] == "periodic":
        interval = emit["interval_ms"]
        return Emit(EmitKind.EVERY, interval_ms=interval, phase_ms=emit.get("phase_ms", 0) % interval)
    if emit["mode"] == "none":
        first = declared["events"][0]["arrival"] if declared["events"] else 0
        return Emit(EmitKind.EVERY, interval_ms=_NEVER_MS, phase_ms=first % _NEVER_MS)
    return Emit(EmitKind.PER_EVENT)


def watermark(strategy: Mapping[str, Any], emit: Emit) -> Watermark:
    """Return the pipeline's watermark for a scenario's strategy."""
    delta_ms = strategy.get("delta_ms", 0)
    return Watermark(
        strategy=_STRATEGIES[strategy["kind"]],
        out_of_orderness_ms=strategy.get("out_of_orderness_ms", 0),
        emit=emit,
        when=strategy.get("when"),
        value=TimeField(f"ts - {delta_ms}", unit=TimeUnit.MILLISECONDS) if delta_ms else None,
        lag_ms=strategy.get("lag_ms", 0),
    )
