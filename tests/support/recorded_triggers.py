"""Recorded scenarios of triggers, and their combinations."""

from __future__ import annotations

from tests.vectors.scenarios import Scenario, load_triggers

ALL = load_triggers()


def combinations(scenario: Scenario) -> set[tuple[object, ...]]:
    """What a scenario has of everything that the engine treats apart."""
    declared, windows = scenario.declared, scenario.pipeline.windows
    kind = (windows.trigger.kind, windows.kind, declared["accumulation"])
    timings = {(*kind, pane.timing) for pane in scenario.panes}
    watermark = (declared["strategy"]["kind"], declared["emit"]["mode"], "idle_timeout_ms" in declared)
    return {*timings, (windows.trigger.kind, *watermark), (*kind, bool(scenario.late))}
