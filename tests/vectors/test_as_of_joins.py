"""The reference gives the rows, late rows and watermarks of Flink's temporal join on every recorded scenario."""

from __future__ import annotations

from collections import Counter

import pytest

from spark_jobs.pipeline.model import AsOf
from spark_jobs.semantics.joins.interval_join import Side
from tests.vectors.as_of_joins import AsOfScenario, late_of, load_as_of_joins, matches_of

ALL = load_as_of_joins()


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.id)
def test_reference_joins_as_of_a_time_as_flink(scenario: AsOfScenario) -> None:
    versioned = scenario.versioned()
    assert [(arrived - 1, watermark) for arrived, watermark in versioned.watermarks] == scenario.watermarks
    assert matches_of(versioned, scenario.kind) == scenario.matches
    for side in Side:
        assert late_of(versioned, side) == scenario.late[side]


def test_scenarios_are_many_and_of_both_kinds() -> None:
    kinds = Counter(scenario.kind for scenario in ALL)
    assert len(ALL) == 450
    assert min(kinds[kind] for kind in AsOf) > 150
    assert sum(len(scenario.late[Side.LEFT]) for scenario in ALL) > 1_000
