"""Whether failed checks let a run be published, and what its log contains about them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from expectations import Check
from spark_jobs.jobs.audit import audit
from spark_jobs.pipeline.model import Aggregate, OnFailure, Pipeline, Quality, Source, TimeField, Windows

PIPELINE = Pipeline(
    name="departures",
    source=Source("flights", TimeField("departed_at"), TimeField("landed_at")),
    windows=Windows(3_600_000, key=("carrier",), aggregates=(Aggregate("flights", "count(*)"),)),
)
HOLDS = Check("panes", "no_pane_is_empty", "A pane holds at least one row.", True, "0 of 6 rows", 0, "")
FAILS = Check("panes", "timing_is_known", "The timing is known.", False, "2 of 6 rows", 2, '{"a":1}\n{"a":2}')


@pytest.mark.parametrize(
    ("on_failure", "checks", "blocked"),
    [
        (OnFailure.BLOCK, [HOLDS, FAILS], True),
        (OnFailure.BLOCK, [HOLDS], False),
        (OnFailure.WARN, [HOLDS, FAILS], False),
        (OnFailure.BLOCK, [], False),
    ],
)
def test_a_failed_check_blocks_unless_the_pipeline_only_warns(
    on_failure: OnFailure, checks: list[Check], blocked: bool
) -> None:
    assert audit.blocks(checks, replace(PIPELINE, quality=Quality(on_failure))) is blocked


def test_the_log_has_expected_and_observed_values_and_examples() -> None:
    assert audit.failure_message([HOLDS, FAILS]) == (
        "1 of 2 checks failed\n"
        "  panes: timing_is_known\n"
        "    expected: The timing is known.\n"
        "    found:    2 of 6 rows\n"
        '    such as:  {"a":1}\n'
        '    such as:  {"a":2}'
    )
