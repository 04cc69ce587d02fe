"""A scenario of subtasks: partitions on several source tasks, merged behind them by a valve, and what Flink sent on.

`load` gives the recorded scenarios of this folder. A change is (place, what): the number of rows before it, and the
watermark that reached the operator, or IDLE or ACTIVE.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from spark_jobs.pipeline.model import Watermark
from spark_jobs.semantics.rows.clock import ArrivalClock
from spark_jobs.semantics.rows.emission import emission_clock
from spark_jobs.semantics.rows.instants import MAX
from spark_jobs.semantics.watermark.source import WatermarkedSource
from spark_jobs.semantics.watermark.valve import Valve
from tests.vectors.recorded import paired
from tests.vectors.scenarios import HERE, Scenario

SCENARIOS, RESULTS = "subtasks.jsonl.gz", "flink_subtasks.jsonl.gz"

Change = tuple[int, int | str]


class SubtaskScenario(Scenario):
    """A recorded stream whose partitions lie on several subtasks."""

    @property
    def subtasks(self) -> list[list[str]]:
        """The partitions of each subtask."""
        placed = self.declared["subtasks"]
        return [[p for p, task in placed.items() if task == number] for number in range(max(placed.values()) + 1)]

    @property
    def sent(self) -> list[Change]:
        """The watermarks that reached Flink's operator before the end, and the changes between idle and active."""
        marks = [(m["after_event"] + 1, m["watermark"]) for m in self.recorded["watermarks"]]
        statuses = [(s["after_event"] + 1, s["status"]) for s in self.recorded["statuses"]]
        return _sorted([change for change in marks if change[1] != MAX] + statuses)

    @cached_property
    def replayed(self) -> list[Change]:
        """The same of the project's sources and valve."""
        job = _SubtasksJob(self.pipeline.watermark, self.subtasks)
        return _sorted(job.run(self))


class _SubtasksJob:
    def __init__(self, declared: Watermark, subtasks: Iterable[list[str]]) -> None:
        self._declared, self._clock = declared, ArrivalClock()
        self._rows, self._changes = 0, list[Change]()
        tasks = list(subtasks)
        self._valve = Valve(len(tasks), self)
        self._sources = [
            WatermarkedSource(declared, self._clock, tasks[i], out) for i, out in enumerate(self._valve.channels)
        ]
        self._source_of = {p: source for names, source in zip(tasks, self._sources, strict=True) for p in names}

    def run(self, scenario: Scenario) -> list[Change]:
        emissions = emission_clock(self._declared.emit, every_tick=self._declared.may_move_without_rows)
        for row in scenario.rows:
            self._emit(emissions.before(row["arrival_us"]))
            self._clock.advance_to(row["arrival_us"])
            self._rows += 1
            self._source_of[row["partition"]].on_event(row["partition"], row, row["ts"])
            self._emit(emissions.after(row["arrival_us"]))
        until = scenario.until
        self._emit(emissions.at_end(None if until is None else int(until.timestamp() * 1000) * 1000))
        return self._changes

    def _emit(self, clocks_us: Iterable[int]) -> None:
        for clock_us in clocks_us:
            self._clock.advance_to(clock_us)
            for source in self._sources:
                source.on_periodic_emit()

    def emit_watermark(self, watermark: int) -> None:
        self._changes.append((self._rows, watermark))

    def mark_idle(self) -> None:
        self._changes.append((self._rows, "IDLE"))

    def mark_active(self) -> None:
        self._changes.append((self._rows, "ACTIVE"))


def _sorted(changes: list[Change]) -> list[Change]:
    """By place, watermarks before statuses: Flink's answer lists the two apart."""
    return sorted(changes, key=lambda change: (change[0], isinstance(change[1], str)))


def load() -> list[SubtaskScenario]:
    """Give the recorded scenarios."""
    return read(HERE / SCENARIOS, HERE / RESULTS)


def read(scenarios: Path, results: Path) -> list[SubtaskScenario]:
    """Read scenarios and Flink's answers, JSON lines."""
    return [SubtaskScenario(declared, recorded) for declared, recorded in paired(scenarios, results)]
