"""The reference's co-group gives the panes of Flink's window operator, parted by side, on every recorded stream."""

from __future__ import annotations

import pytest

from spark_jobs.semantics.joins.interval_join import Side
from spark_jobs.semantics.joins.window_join import Group
from spark_jobs.semantics.rows.events import Row
from tests.vectors.groups import GroupTuple, gathered, groups_of, load_of_two, sides_of
from tests.vectors.scenarios import Scenario, load_for_reference


def indices(group: Group[str, Row], side: Side) -> tuple[int, ...]:
    rows = group.left if side is Side.LEFT else group.right
    return tuple(sorted(row["index"] for row in rows))


@pytest.mark.parametrize("scenario", [*load_for_reference(), *load_of_two()], ids=lambda scenario: scenario.id)
def test_reference_groups_as_flink(scenario: Scenario) -> None:
    result, sides = gathered(scenario), sides_of(scenario)
    groups = [
        GroupTuple(
            group.key,
            group.window.start,
            group.window.end,
            group.index,
            group.timing.value,
            group.watermark,
            indices(group, Side.LEFT),
            indices(group, Side.RIGHT),
        )
        for _, group, _ in result.groups
    ]
    assert sorted(groups) == groups_of(scenario.panes, sides)
    assert sorted(judged.arrival.row["index"] for judged in result.late) == scenario.late
    assert all(judged.arrival.side is sides[judged.arrival.row["index"]] for judged in result.late)


def test_sources_that_fall_idle_are_among_the_recorded() -> None:
    idle = [scenario for scenario in load_of_two() if "IDLE" in {signal for _, signal in scenario.sent}]
    assert len(idle) >= 30
