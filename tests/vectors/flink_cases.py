"""The cases of Flink's own test suite, and ours that pin what they leave open, by schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

Case = dict[str, Any]

CASES: list[Case] = [json.loads(path.read_text()) for path in sorted((Path(__file__).parent / "flink_tests").glob("*"))]


#: The cases that a pipeline file cannot ask for: what it would have to contain under `windows`, refused by that name.
REFUSED = {
    "window_global_continuous_event_time_trigger": ("kind", "global"),
    "window_global_end_of_stream_trigger": ("trigger", "end_of_stream"),
    "window_global_purging_count_trigger": ("kind", "global"),
    "window_session_dynamic_gap": ("gap", {"column": "gap_ms"}),
    "window_time_evictor_after_global": ("kind", "global"),
    "window_time_evictor_before_tumbling": ("evictor", {"time": "2 s"}),
}


def of_schema(schema: str) -> pytest.MarkDecorator:
    """Give a test every case of a schema."""
    cases = [case for case in CASES if case["schema"] == schema and case["name"] not in REFUSED]
    return pytest.mark.parametrize("case", cases, ids=lambda case: case["name"])
