"""Which pipelines a run over later arrivals can go on with, and what stands in the way of the others."""

from __future__ import annotations

import pytest

from spark_jobs.replay.continuation.resume import can_resume, obstacle
from tests.support import history

EVERY_N = "emissions other than emit: {every}"


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"watermark__strategy": "monotonous", "watermark__out_of_orderness": "null"},
        {"windows__kind": "sliding", "windows__slide": "4 minutes"},
        {"windows__accumulation": "retracting"},
        {"windows__late_data": "drop"},
    ],
)
def test_rows_by_arrival_ticks_of_the_clock_and_windows_that_close(overrides: dict[str, str]) -> None:
    assert can_resume(history.pipeline("t", **overrides))


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ({"watermark__emit": "per_event"}, EVERY_N),
        ({"watermark__emit": "{every_n: 5}"}, EVERY_N),
        ({"watermark__idle_timeout": "1 minute"}, "an idle timeout"),
        ({"replay__order": "commit"}, "replay.order commit"),
        ({"replay__order": "event_time"}, "replay.order event_time"),
        ({"windows__late_data": "update"}, "late_data update"),
        ({"windows__trigger": "{count: 5}"}, "another trigger than event_time"),
        ({"watermark__strategy": "none", "watermark__out_of_orderness": "null"}, "watermark.strategy none"),
        ({"windows__kind": "session", "windows__size": "null", "windows__gap": "1 minute"}, "sessions"),
    ],
)
def test_obstacle_names_the_setting_that_forbids_continuation(overrides: dict[str, str], reason: str) -> None:
    assert obstacle(history.pipeline("t", **overrides)) == reason
