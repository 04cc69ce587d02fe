"""A recorded stream with windows, read as a co-group: Flink's co-group is its window operator over both sides' rows.

    one source     every other row is of the right side
    two sources    a recorded stream of two subtasks: the rows of the second are of the right side

A pane's rows, parted by side, are the group that a co-group must give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.joins.joining_job import Arrival, Gathered, JoinSource, gather
from spark_jobs.semantics.joins.window_join import CoGroup
from spark_jobs.semantics.streaming_job import operator
from tests.vectors.outcomes import PaneTuple
from tests.vectors.scenarios import Scenario
from tests.vectors.subtasks import SubtaskScenario
from tests.vectors.subtasks import load as load_subtasks


class GroupTuple(NamedTuple):
    """A group by the indices of its rows."""

    key: str
    start: int
    end: int
    pane_index: int
    timing: str
    watermark: int
    left: tuple[int, ...]
    right: tuple[int, ...]


def load_of_two() -> list[SubtaskScenario]:
    """Give the recorded streams of two subtasks."""
    return [scenario for scenario in load_subtasks() if len(scenario.subtasks) == 2]


def sides_of(scenario: Scenario) -> list[Side]:
    """The side of each row, in Flink's order."""
    if isinstance(scenario, SubtaskScenario):
        right = scenario.subtasks[1]
        return [Side.RIGHT if row["partition"] in right else Side.LEFT for row in scenario.rows]
    return [Side.RIGHT if row["index"] % 2 else Side.LEFT for row in scenario.rows]


def sources_of(scenario: Scenario) -> list[JoinSource]:
    """Its one source, or its two."""
    declared = scenario.pipeline.source.source_partition.declared
    labels = (
        map(tuple[str, ...], scenario.subtasks)
        if isinstance(scenario, SubtaskScenario)
        else [tuple(str(label) for (label,) in declared)]
    )
    return [JoinSource(scenario.pipeline.watermark, partitions) for partitions in labels]


def groups_of(panes: Sequence[PaneTuple], sides: Sequence[Side]) -> list[GroupTuple]:
    """Panes as groups, sorted; `sides` by row."""
    return sorted(
        GroupTuple(*pane[:6], *(tuple(i for i in pane.members if sides[i] is side) for side in Side)) for pane in panes
    )


def gathered(scenario: Scenario) -> Gathered:
    """What the reference makes of a stream as a co-group."""
    pipeline = scenario.pipeline
    windows = pipeline.windows
    arrivals = [
        Arrival(side, row["partition"], row["key"], row["ts"], row["arrival_us"], row)
        for side, row in zip(sides_of(scenario), scenario.rows, strict=True)
    ]
    until = scenario.declared.get("end_ms")
    return gather(
        arrivals,
        CoGroup(operator(windows), allowed_lateness_ms=windows.allowed_lateness_ms),
        pipeline.watermark.emit,
        *sources_of(scenario),
        until_us=None if until is None else until * 1000,
    )
