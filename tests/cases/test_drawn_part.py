"""The part of a pipeline file that a drawing takes: times and inputs, without columns that a drawing has not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spark_jobs.cases.drawing import DrawingError
from spark_jobs.cases.drawn_part import drawn_part

SOURCES = """
name: x
sources:
  - {name: right, table: a, event_time: at, where: id > 0, watermark: {strategy: punctuated, when: m = 1, value: at}}
  - {name: other, table: b, event_time: at, watermark: {strategy: monotonous}}
watermark: {emit: per_event}
"""


def part(folder: Path, text: str, settings: tuple[str, ...] = ()) -> tuple[dict[str, Any], dict[str, str]]:
    file = folder / "x.yaml"
    file.write_text(text, encoding="utf-8")
    return drawn_part(file, settings)


def test_united_sources_have_their_names_and_watermarks(tmp_path: Path) -> None:
    drawn, sides = part(tmp_path, SOURCES + "windows: {size: 1 s, key: [k], aggregates: {n: count(*)}}")
    assert drawn == {
        "watermark": {"emit": "per_event"},
        "windows": {"size": "1 s"},
        "sources": [
            {"name": "right", "watermark": {"strategy": "punctuated", "when": "marker"}, "where": "kept"},
            {"name": "other", "watermark": {"strategy": "monotonous"}},
        ],
    }
    assert sides == {"right": "right", "other": "other"}


def test_inputs_of_a_join_are_sides_by_their_names(tmp_path: Path) -> None:
    drawn, sides = part(tmp_path, SOURCES + "join: {key: [k], as_of: inner}")
    assert [source["name"] for source in drawn["sources"]] == ["left", "right"]
    assert drawn["join"] == {"as_of": "inner"}
    assert sides == {"right": "left", "other": "right", "left": "left"}
    assert next(iter(sides)) == "right"


def test_one_source_is_split_by_the_side(tmp_path: Path) -> None:
    text = "source: {where: x}\njoin: {key: [k], between: [0s, 1s], second_when: kind = 'b', names: [a, b]}\n"
    drawn, sides = part(tmp_path, text)
    assert drawn["source"] == {"where": "kept"}
    assert drawn["join"] == {"between": ["0s", "1s"], "second_when": "side = 'right'"}
    assert sides == {"a": "left", "b": "right", "left": "left", "right": "right"}


@pytest.mark.parametrize(
    ("text", "setting", "message"),
    [
        ("replay: {order: commit}", "replay.order", "replay.order: found commit, and the rows of a drawing have no"),
        (
            "watermark: {when: x, value: y}",
            "watermark.value",
            "watermark.value: found y, and a marked row of a",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_unless_the_case_replaces_it(
    text: str, setting: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(DrawingError, match=message):
        part(tmp_path, text)
    assert part(tmp_path, text, (setting,))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DrawingError, match=r"x\.yaml: line 2: a: stands twice, first in line 1; keep one"):
        part(tmp_path, "a: 1\na: 2")
    with pytest.raises(DrawingError, match=r"x\.yaml: found 3, expected a mapping"):
        part(tmp_path, "3")
