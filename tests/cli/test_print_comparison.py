"""The comparison of two runs as text: few digits, the limit, and keys in one printable line."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime
from math import inf, nan
from typing import Any

import pytest
from pyspark.sql.types import VariantVal

from spark_jobs.cli import print_comparison, printing
from spark_jobs.jobs.operate.compare import Change, Comparison

AT = datetime(2024, 3, 30, 22, 10, tzinfo=UTC)
CHANGE = Change({"device": "a"}, AT, {"mean": 7.9719999999999995, "n": 3}, {"mean": 8.25, "n": 3})
COMPARED = Comparison("r1", "r2", 10, 3, 0, 0, AT, AT, {"mean": 3, "n": 0}, [], [], [CHANGE])


def lines_of(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    out = printing.SafeConsole(file=io.StringIO(), width=80)
    monkeypatch.setattr(printing, "OUT", out)
    print_comparison.show(comparison)
    assert isinstance(out.file, io.StringIO)
    return [line.rstrip() for line in out.file.getvalue().splitlines()]


def test_a_comparison_has_counts_and_the_largest_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines_of(COMPARED, monkeypatch) == [
        "results of run r1 and, after it, of run r2",
        "same changed added gone",
        "  10       3     0    0",
        "mean: differs in 3",
        "in windows that begin 2024-03-30 22:10 to 2024-03-30 22:10 UTC; the 1 largest of 3 changes:",
        "  2024-03-30 22:10 device a: mean 7.972 -> 8.25",
    ]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (0.1, 0.30000000000000004, "0.1 -> 0.3"),
        (0.3, 0.30000000000000004, "0.3 -> 0.30000000000000004"),
        (12345678.0, 1.0, "1.23457e+07 -> 1"),
        (7, 1234567, "7 -> 1234567"),
        (None, 1.5, "null -> 1.5"),
        (nan, inf, "NaN -> Infinity"),
        ("", "null", "'' -> 'null'"),
        (b"\x00", b"\xff", "X'00' -> X'FF'"),
        ({"x": None, "y": nan}, {"x": 0.1234567, "y": nan}, '{"x": null, "y": NaN} -> {"x": 0.1234567, "y": NaN}'),
    ],
)
def test_doubles_have_few_digits_unless_these_are_equal(old: Any, new: Any, text: str) -> None:
    assert print_comparison._pair(old, new) == text


def test_a_value_that_does_not_equal_itself_stays_out(monkeypatch: pytest.MonkeyPatch) -> None:
    same = [{"mean": number, "nan": float("nan"), "variant": VariantVal.parseJson("[1]")} for number in (1.0, 2.0)]
    change = replace(CHANGE, before=same[0], after=same[1])
    assert lines_of(replace(COMPARED, largest=[change]), monkeypatch)[-1].endswith("device a: mean 1 -> 2")


def test_a_key_cannot_write_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    change = replace(CHANGE, key={"device": "[x]\x1b[2J\ny"})
    (line,) = (text for text in lines_of(replace(COMPARED, largest=[change]), monkeypatch) if "device" in text)
    assert "device [x]\\x1b[2J\\ny: mean" in line


def test_a_value_of_the_key_has_a_text_that_no_other_value_has(monkeypatch: pytest.MonkeyPatch) -> None:
    key = {"device": None, "site": "null", "room": "", "code": b"\x00", "level": nan, "parts": {"x": None}}
    *_, line = lines_of(replace(COMPARED, largest=[replace(CHANGE, key=key)]), monkeypatch)
    assert "device null, site 'null', room '', code X'00', level NaN, parts {\"x\": null}: mean" in line


def test_a_result_of_one_run_has_the_texts_of_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"mean": None, "most": inf, "name": "", "parts": {"x": None}}
    for before, after, word in ((values, None, "gone"), (None, values, "added")):
        change = replace(CHANGE, before=before, after=after)
        *_, line = lines_of(replace(COMPARED, largest=[change]), monkeypatch)
        assert line.endswith(f"device a: {word}, mean null, most Infinity, name '', parts {{\"x\": null}}")
