"""The reference's co-group gives the panes of Flink's window operator, parted by side, on every recorded stream."""

from __future__ import annotations

import pytest

from spark_jobs.semantics.interval_join import Side
from spark_jobs.semantics.window_join import Group
from tests.vectors.groups import GroupTuple, gathered, groups_of, load_groups, side_of
from tests.vectors.scenarios import Scenario


def indices(group: Group[str, dict[str, int]], side: Side) -> tuple[int, ...]:
    rows = group.left if side is Side.LEFT else group.right
    return tuple(sorted(row["index"] for row in rows))


@pytest.mark.parametrize("scenario", load_groups(), ids=lambda scenario: scenario.id)
def test_reference_groups_as_flink(scenario: Scenario) -> None:
    found = gathered(scenario)
    told = [
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
        for _, group in found.groups
    ]
    assert sorted(told) == groups_of(scenario.panes)
    assert sorted(arrival.row["index"] for arrival, _ in found.late) == scenario.late
    assert all(arrival.side is side_of(arrival.row["index"]) for arrival, _ in found.late)
