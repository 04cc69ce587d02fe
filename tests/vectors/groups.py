"""A recorded stream with windows, read as a co-group: Flink's co-group is its window operator over both sides' rows.

Every other row is of the right side; a pane's rows, parted by side, are the group that a co-group must give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from spark_jobs.semantics.interval_join import Side
from spark_jobs.semantics.joining_job import Arrival, Gathered, JoinSource, gather
from spark_jobs.semantics.streaming_job import operator
from spark_jobs.semantics.window_join import CoGroup
from tests.vectors.outcomes import PaneTuple
from tests.vectors.scenarios import Scenario, load_for_reference


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


def load_groups() -> list[Scenario]:
    """Give the recorded streams that a co-group has: those whose partitions are never idle."""
    return [scenario for scenario in load_for_reference() if "idle_timeout_ms" not in scenario.declared]


def side_of(index: int) -> Side:
    """The side of a row, by its place in Flink's order."""
    return Side.RIGHT if index % 2 else Side.LEFT


def groups_of(panes: Sequence[PaneTuple]) -> list[GroupTuple]:
    """Panes as groups, sorted."""
    return sorted(
        GroupTuple(*pane[:6], *(tuple(i for i in pane.members if side_of(i) is side) for side in Side))
        for pane in panes
    )


def gathered(scenario: Scenario) -> Gathered:
    """What the reference makes of a stream as a co-group of one source."""
    pipeline = scenario.pipeline
    windows = pipeline.windows
    arrivals = [
        Arrival(side_of(row["index"]), row["partition"], row["key"], row["ts"], row["arrival_us"], row)
        for row in scenario.rows
    ]
    declared = tuple(str(label) for (label,) in pipeline.source.source_partition.declared)
    until = scenario.declared.get("end_ms")
    return gather(
        arrivals,
        CoGroup(operator(windows), allowed_lateness_ms=windows.allowed_lateness_ms),
        pipeline.watermark.emit,
        JoinSource(pipeline.watermark, declared),
        until_us=None if until is None else until * 1000,
    )
