"""The reference gives the groups, watermarks and dropped rows of Flink's co-group on every recorded one."""

from __future__ import annotations

import pytest

from tests.vectors.cogroups import CoGroupScenario, CoGroupTuple, load_cogroups


@pytest.mark.parametrize("scenario", load_cogroups(), ids=lambda scenario: scenario.id)
def test_reference_gathers_as_flink(scenario: CoGroupScenario) -> None:
    found = scenario.gathered()
    # Flink's sources end one after the other, in no order that a scenario could declare.
    assert [(after - 1, watermark) for after, watermark in found.watermarks[:-1]] == scenario.watermarks
    sides = [tuple(tuple(row["index"] for row in rows) for rows in (g.left, g.right)) for _, g, _ in found.groups]
    assert all(list(rows) == sorted(rows) for side in sides for rows in side)
    told = [
        CoGroupTuple(g.key, g.ts, after - 1, *rows) for (after, g, _), rows in zip(found.groups, sides, strict=True)
    ]
    assert sorted(told) == scenario.groups
    assert len(found.late) == scenario.recorded["dropped"]
