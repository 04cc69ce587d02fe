"""The reference gives the pairs, late rows and watermarks of Flink's interval join on every recorded scenario."""

from __future__ import annotations

import pytest

from spark_jobs.semantics.joins.interval_join import Side
from tests.vectors.joins import JoinScenario, late_of, load_joins, pairs_of


@pytest.mark.parametrize("scenario", load_joins(), ids=lambda scenario: scenario.id)
def test_reference_joins_as_flink(scenario: JoinScenario) -> None:
    joined = scenario.joined()
    assert [(arrived - 1, watermark) for arrived, watermark in joined.watermarks] == scenario.watermarks
    assert pairs_of(joined) == scenario.pairs
    assert late_of(joined, Side.LEFT) == scenario.recorded["late_left"]
    assert late_of(joined, Side.RIGHT) == scenario.recorded["late_right"]
