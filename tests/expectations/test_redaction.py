"""What an answer may show: times, keys and aggregates; of a source column a number at most."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from expectations import redaction


@pytest.mark.parametrize(
    ("table", "columns", "is_visible"),
    [
        ("panes", ("carrier", "mean_delay"), True),
        ("window_results", ("carrier",), True),
        ("late_events", ("event_time", "late_by_ms"), True),
        ("late_events", ("event_time", "tailnum"), False),
        ("late_events", ("WATERMARK",), True),
        ("invalid_events", ("reason",), True),
        ("invalid_events", ("tailnum",), False),
        ("invalid_events", (), True),
    ],
)
def test_source_columns_of_rows_set_aside_are_not_shown(table: str, columns: tuple[str, ...], is_visible: bool) -> None:
    assert redaction.may_show(table, columns) is is_visible


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (0.1 + 0.2, "0.3"),
        ("AA", "AA"),
        (["AA", None], "['AA', None]"),
        (datetime(2013, 1, 1, 6, tzinfo=UTC), "2013-01-01T06:00:00+00:00"),
        ("two\nlines", "two lines"),
    ],
)
def test_a_value_is_one_line(value: Any, text: str) -> None:
    assert redaction.value(value, visible=True) == text


@pytest.mark.parametrize(
    ("value", "is_visible"), [(3, True), (0.5, True), ("N14228", False), (["N14228"], False), (True, False)]
)
def test_a_number_about_a_hidden_column_is_kept_and_nothing_else(value: Any, is_visible: bool) -> None:
    assert (redaction.value(value, visible=False) == str(value)) is is_visible


def test_a_long_value_is_cut() -> None:
    assert len(redaction.value("x" * 1000, visible=True)) == 300
