"""Setting single values in a pipeline file: nothing else in it changes, in whatever way it is laid out."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.pipeline.errors import RefusedError
from spark_jobs.pipeline.rewriting import rewrite, rewritten

BOUND, LATENESS = "watermark.out_of_orderness", "windows.allowed_lateness"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "watermark:\n  out_of_orderness: 1h  # why\n  emit: per_event\nwindows:\n  size: 1h\n",
            "watermark:\n  out_of_orderness: 4 hours  # why\n  emit: per_event\nwindows:\n  size: 1h\n",
        ),
        (
            'watermark: {emit: per_event, "out_of_orderness": "1h"}\nwindows: {}\n',
            'watermark: {emit: per_event, "out_of_orderness": 4 hours}\nwindows: {}\n',
        ),
        ("watermark: {emit: per_event}\n", "watermark: {out_of_orderness: 4 hours, emit: per_event}\n"),
        ("watermark: {}\n", "watermark: {out_of_orderness: 4 hours}\n"),
        (
            "watermark:\n  strategy: monotonous  # a\n\n  # b\n  emit:\n    every: 1s\n",
            "watermark:\n  strategy: monotonous  # a\n  out_of_orderness: 4 hours\n\n  # b\n  emit:\n    every: 1s\n",
        ),
        ("watermark:\n  emit: per_event", "watermark:\n  emit: per_event\n  out_of_orderness: 4 hours\n"),
        (
            "watermark:\n    # c\n    emit:\n      every: 1s\n",
            "watermark:\n    # c\n    out_of_orderness: 4 hours\n    emit:\n      every: 1s\n",
        ),
        (
            "name: a\n\n# of windows\nwindows:\n  size: 1h\n",
            "name: a\n\n# of windows\nwatermark:\n  out_of_orderness: 4 hours\nwindows:\n  size: 1h\n",
        ),
        ("{name: a, windows: {}}\n", "{watermark: {out_of_orderness: 4 hours}, name: a, windows: {}}\n"),
        ("watermark:\r\n  emit: per_event\r\n", "watermark:\r\n  emit: per_event\r\n  out_of_orderness: 4 hours\r\n"),
        ("name: ü😀\nwatermark: {out_of_orderness: 0s}\n", "name: ü😀\nwatermark: {out_of_orderness: 4 hours}\n"),
        ("a: ${A}\nwatermark: {out_of_orderness: '${B}'}\n", "a: ${A}\nwatermark: {out_of_orderness: 4 hours}\n"),
    ],
    ids=[
        "a value", "quoted", "no value in a flow", "an empty flow", "no value in a block", "no line's end",
        "no short line", "no block", "all in a flow", "line ends of Windows", "beyond ASCII", "variables",
    ],
)  # fmt: skip
def test_one_value_is_set_and_every_other_character_stays(before: str, after: str) -> None:
    assert rewritten(before, {BOUND: "4 hours"}) == after


def test_several_values_are_set_at_once() -> None:
    before = "windows: {size: 1h}\nwatermark:\n  out_of_orderness: 0s\n"
    after = "windows: {allowed_lateness: 2 hours, size: 1h}\nwatermark:\n  out_of_orderness: 4 hours\n"
    assert rewritten(before, {BOUND: "4 hours", LATENESS: "2 hours"}) == after


@pytest.mark.parametrize(
    "text",
    [
        "watermark: often\n",
        "watermark:\n  out_of_orderness:\n  emit: per_event\n",
        "- a\n",
        "watermark: {a: 1, a: 2}\n",
    ],
    ids=["no mapping", "nothing behind a colon", "a list", "a key twice"],
)
def test_what_cannot_be_set_alone_is_refused(text: str) -> None:
    with pytest.raises(RefusedError):
        rewritten(text, {BOUND: "4 hours"})


def test_a_file_is_replaced_as_a_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    file, link = tmp_path / "a.yaml", tmp_path / "link.yaml"
    file.write_bytes(b"watermark: {out_of_orderness: 0s}\r\n")
    file.chmod(0o640)
    link.symlink_to(file)
    assert rewrite(link, {BOUND: "4 hours"})
    assert file.read_bytes() == b"watermark: {out_of_orderness: 4 hours}\r\n"
    assert (file.stat().st_mode & 0o777, link.is_symlink()) == (0o640, True)
    assert not rewrite(link, {BOUND: "4 hours"})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.yaml", "link.yaml"]


def test_a_file_that_cannot_be_rewritten_stays(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("watermark: often\n")
    with pytest.raises(RefusedError):
        rewrite(file, {BOUND: "4 hours"})
    assert file.read_text() == "watermark: often\n"
    assert [p.name for p in tmp_path.iterdir()] == ["a.yaml"]
