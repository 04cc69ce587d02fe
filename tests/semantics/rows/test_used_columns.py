"""A replay reads the carried columns and those that a setting names, and no other column."""

from __future__ import annotations

import pytest

from spark_jobs.semantics import reference
from spark_jobs.semantics.rows.used_columns import carried, matches, used
from tests.support import history

NAMES = ["id", "site", "device", "happened_at", "stored_at", "reading", "Extra 1", "extra_2"]
WITHOUT_SELECTION = history.pipeline("rows")


@pytest.mark.parametrize(
    ("pattern", "name", "result"),
    [
        ("id", "ID", True),
        ("i", "id", False),
        ("*_at", "stored_at", True),
        ("extra?*", "Extra 1", True),
        ("*", "a\nb", True),
        ("[ab]", "a", False),
        ("a.c", "abc", False),
    ],
)
def test_a_pattern_matches_the_whole_name(pattern: str, name: str, result: bool) -> None:
    assert matches(pattern, name) is result


def test_without_a_selection_all_columns_are_carried_and_used() -> None:
    assert carried(NAMES, WITHOUT_SELECTION) == used(NAMES, WITHOUT_SELECTION) == NAMES


def test_the_key_is_carried_and_named_columns_are_used() -> None:
    pipeline = history.pipeline("rows", source__select="[extra*]", source__exclude="['*_2']")
    assert carried(NAMES, pipeline) == ["device", "Extra 1"]
    assert used(NAMES, pipeline) == ["id", "site", "device", "happened_at", "stored_at", "reading", "Extra 1"]


@pytest.mark.parametrize(
    ("setting", "value", "name"),
    [
        ("source__where", "'`Extra 1` is null'", "Extra 1"),
        ("windows__aggregates", "{n: max(EXTRA_2)}", "extra_2"),
        ("source__source_partition", "[extra_2]", "extra_2"),
        ("source__tie_break", "[extra_2]", "extra_2"),
        ("windows__aggregates", "{n: 'max(struct(*))'}", "Extra 1"),
    ],
)
def test_a_setting_that_names_a_column_reads_it(setting: str, value: str, name: str) -> None:
    selected = {"source__select": "[id]"}
    assert name not in used(NAMES, history.pipeline("rows", **selected))
    assert name in used(NAMES, history.pipeline("rows", **{**selected, setting: value}))


def test_a_custom_generator_uses_all_columns() -> None:
    custom = "{strategy: custom, class: 'tests.custom_watermarks:Moody', emit: {every: 1s}}"
    assert used(NAMES, history.pipeline("rows", source__select="[id]", watermark=custom)) == NAMES


def test_the_reference_carries_the_selected_columns() -> None:
    rows = [{**row, "more": "x"} for row in history.events(300)]
    selected = reference.replay(rows, history.pipeline("rows", source__exclude="[reading, m*]"))
    whole = reference.replay(rows, WITHOUT_SELECTION)
    own = {"event_time", "arrival_time", "watermark", "late_by_ms", "window_start", "window_end"}
    assert set(selected.late_events[0]) == {"id", "site", "device", "happened_at", "stored_at", *own}
    assert set(selected.invalid_events[0]) == {"id", "site", "device", "happened_at", "stored_at", "reason"}
    assert selected.panes == whole.panes
