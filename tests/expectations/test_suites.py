"""The built-in suites: they describe themselves, apply to what a pipeline declares, and cost nothing to import."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from expectations.suites import JOIN_SUITES, SUITES
from spark_jobs.pipeline.model import (
    Accumulation,
    Aggregate,
    EndOfInput,
    Order,
    Pipeline,
    Quality,
    ReplayOrder,
    Source,
    TimeField,
    Trigger,
    TriggerKind,
    Windows,
)

PIPELINE = Pipeline(
    name="departures",
    source=Source("flights", TimeField("departed_at"), TimeField("landed_at")),
    windows=Windows(3_600_000, key=("carrier",), aggregates=(Aggregate("flights", "count(*)"),)),
)


#: The invariants of panes that wait for the end of their window.
WAITING = {
    "panes.no_pane_fires_before_its_watermark",
    "panes.panes_are_on_time_or_late",
    "panes.only_pane_0_is_on_time",
    "panes.late_panes_add_one_row",
}


#: The table that the checks of a suite are about; None for the source.
TABLES = {
    "source": "invalid_events",
    "watermarks": "watermarks",
    "clock": "watermarks",
    "panes": "panes",
    "retractions": "panes",
    "window_results": "window_results",
    "late_events": "late_events",
    "complete_results": "complete_results",
    "coverage": "window_results",
    "drift": "window_results",
    "silence": None,
    "live": "window_results",
    "plausibility": None,
    "run": None,
    "pairs": "pairs",
    "pair_firings": "pairs",
    "late_join_rows": "late_events",
}


def invariants(pipeline: Pipeline) -> set[str]:
    return {f"{suite.name}.{invariant.name}" for suite in SUITES for invariant in suite.invariants(pipeline)}


def test_importing_expectations_and_the_audit_does_not_import_great_expectations() -> None:
    probe = "import sys, expectations, spark_jobs.jobs.audit.audit; sys.exit('great_expectations' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


def test_suites_declare_the_table_that_they_are_about() -> None:
    declared = [(suite.name, suite.table and suite.table.name) for suites in (SUITES, JOIN_SUITES) for suite in suites]
    assert set(declared) == set(TABLES.items())


def test_names_of_invariants_are_unique() -> None:
    named = [f"{suite.name}.{invariant.name}" for suite in SUITES for invariant in suite.invariants(PIPELINE)]
    assert len(named) == len(set(named))


def test_every_invariant_is_described_in_a_sentence() -> None:
    triggers = (Trigger(), Trigger(TriggerKind.CONTINUOUS, interval_ms=1), Trigger(TriggerKind.COUNT, n=3))
    pipelines = [replace(PIPELINE, windows=replace(PIPELINE.windows, trigger=trigger)) for trigger in triggers]
    described = [
        invariant.description for pipeline in pipelines for suite in SUITES for invariant in suite.invariants(pipeline)
    ]
    assert all(text[0].isupper() and text.rstrip(")").endswith(".") for text in described)


@pytest.mark.parametrize(
    ("changed", "more", "less"),
    [
        (
            replace(PIPELINE, quality=Quality(max_too_late_ratio=0.01)),
            {"run.not_too_many_rows_are_too_late"},
            set(),
        ),
        (
            replace(PIPELINE, windows=replace(PIPELINE.windows, accumulation=Accumulation.DISCARDING)),
            {"panes.late_panes_hold_their_own_row"},
            {"panes.late_panes_add_one_row"},
        ),
        (
            replace(PIPELINE, replay=ReplayOrder(end_of_input=EndOfInput.KEEP_OPEN)),
            set(),
            {"watermarks.the_end_of_input_closes_every_window"},
        ),
        (
            replace(PIPELINE, replay=ReplayOrder(Order.EVENT_TIME)),
            set(),
            {
                "late_events.late_events_arrive_after_their_window_closed",
                "plausibility.events_are_of_the_time_of_their_arrival",
            },
        ),
        (
            replace(PIPELINE, source=replace(PIPELINE.source, future_guard_ms=None)),
            {"source.reasons_are_about_what_is_declared"},
            set(),
        ),
        (
            replace(
                PIPELINE, windows=replace(PIPELINE.windows, trigger=Trigger(TriggerKind.CONTINUOUS, interval_ms=1))
            ),
            {
                "panes.only_early_panes_fire_before_their_watermark",
                "panes.panes_have_a_timing_of_their_trigger",
                "panes.early_panes_come_first_and_late_ones_last",
                "panes.panes_hold_the_rows_of_the_pane_before",
            },
            WAITING,
        ),
        (
            replace(PIPELINE, windows=replace(PIPELINE.windows, trigger=Trigger(TriggerKind.COUNT, n=3))),
            {
                "panes.only_early_panes_fire_before_their_watermark",
                "panes.panes_have_a_timing_of_their_trigger",
                "panes.early_panes_come_first_and_late_ones_last",
                "panes.panes_hold_the_rows_that_are_counted",
                "run.no_window_shows_a_row_twice",
            },
            WAITING,
        ),
    ],
    ids=["ratio", "discarding", "keep_open", "event_time", "no_future_guard", "continuous", "count"],
)
def test_laws_follow_what_the_pipeline_declares(changed: Pipeline, more: set[str], less: set[str]) -> None:
    assert invariants(changed) - invariants(PIPELINE) == more
    assert invariants(PIPELINE) - invariants(changed) == less
