"""A complete pipeline file, and ways to change a line of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.pipeline import PipelineError, Problem, parse

FLIGHTS = """\
name: departures_by_carrier
source:
  table: ${TIDEMARK_LAKE}/flights
  event_time: departed_at
  arrival_time: landed_at
  source_partition: [origin]
  tie_break: [flight_id]
  where: tailnum is not null
  future_guard: 1 day
replay:
  order: arrival
  end_of_input: close
watermark:
  placement: source
  strategy: bounded_out_of_orderness
  out_of_orderness: 6 hours
  emit: {every: 1 minute, phase: 10 s}
windows:
  kind: tumbling
  size: 1 hour
  offset: -15 min
  key: [carrier]
  allowed_lateness: 2 hours
  accumulation: accumulating
  late_data: side_output
  aggregates:
    flights: count(*)
    mean_delay: avg(dep_delay)
quality:
  on_failure: block
  max_too_late_ratio: 0.01
  expectations:
    - type: expect_column_values_to_be_between
      table: panes
      column: mean_delay
      min_value: -60
schedule: "@daily"
"""
ENVIRON = {"TIDEMARK_LAKE": "/lake"}


@pytest.fixture(name="flights")
def _flights() -> str:
    """Return a file with everything that a pipeline file may have."""
    return FLIGHTS


@pytest.fixture(name="environ")
def _environ() -> dict[str, str]:
    """The variables that the file needs."""
    return dict(ENVIRON)


@pytest.fixture(name="edit")
def _edit() -> Callable[..., str]:
    """Replace parts of the file; each must occur exactly once."""

    def edit(*changes: tuple[str, str]) -> str:
        text = FLIGHTS
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        return text

    return edit


@pytest.fixture(name="problems_of")
def _problems_of() -> Callable[..., list[Problem]]:
    """Parse a bad file and give its problems."""

    def problems_of(text: str, overrides: dict[str, object] | None = None) -> list[Problem]:
        with pytest.raises(PipelineError) as caught:
            parse(text, origin="flights.yaml", environ=ENVIRON, overrides=overrides)
        return list(caught.value.problems)

    return problems_of
