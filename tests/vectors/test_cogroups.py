"""The reference gives the groups, watermarks and dropped rows of Flink's co-group on every recorded one."""

from __future__ import annotations

import pytest

from tests.vectors.cogroups import CoGroupScenario, CoGroupTuple, load_cogroups


@pytest.mark.parametrize("scenario", load_cogroups(), ids=lambda scenario: scenario.id)
def test_reference_gathers_as_flink(scenario: CoGroupScenario) -> None:
    result = scenario.gathered()
    # Flink's sources end one after the other, in no order that a scenario could declare.
    assert [(after - 1, watermark) for after, watermark in result.watermarks[:-1]] == scenario.watermarks
    sides = [tuple(tuple(row["index"] for row in rows) for rows in (g.left, g.right)) for _, g, _ in result.groups]
    assert all(list(rows) == sorted(rows) for side in sides for rows in side)
    groups = [
        CoGroupTuple(g.key, g.ts, after - 1, *rows) for (after, g, _), rows in zip(result.groups, sides, strict=True)
    ]
    assert sorted(groups) == scenario.groups
    assert len(result.late) == scenario.recorded["dropped"]
