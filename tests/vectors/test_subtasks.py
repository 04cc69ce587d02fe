"""Sources behind a valve send what Flink's send, on every recorded scenario with several subtasks."""

from __future__ import annotations

import pytest

from tests.vectors.subtasks import SubtaskScenario, load

SCENARIOS = load()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_subtasks_send_what_flinks_sent(scenario: SubtaskScenario) -> None:
    assert scenario.replayed == scenario.sent


def test_channels_fall_idle_and_wake_in_the_recorded_scenarios() -> None:
    woken = [scenario for scenario in SCENARIOS if "ACTIVE" in {signal for _, signal in scenario.sent}]
    assert len(woken) >= 30
