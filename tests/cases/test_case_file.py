"""Files of cases: what they cannot contain is named with its file and its case, and nothing is read otherwise."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.cases.case_file import Case, CaseError, load_readable, parse
from spark_jobs.pipeline.pipeline_folder import read_folder

PATH = Path("folder/clicks.test.yaml")
ROW = "clicked_at: 2024-05-01 10:01, page: home"


def case_of(text: str) -> Case:
    (case,) = parse(text, PATH).cases
    assert isinstance(case, Case)
    return case


def listed(value: str) -> Any:
    """Return the value of a column of a row in a list."""
    return case_of(f"cases: {{a: {{day: 2024-05-01, rows: [{{x: {value}}}], expect: {{panes: []}}}}}}").rows[0]["x"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("010", "010"),
        ("08", "08"),
        ("no", "no"),
        ("On", "On"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        ("12", 12),
        ("1.5e3", 1500.0),
        ("~", None),
        ("True", True),
        ("'12'", "12"),
        ('"true"', "true"),
        ("''", ""),
        ("2024-05-01", date(2024, 5, 1)),
        ("10:12", datetime(2024, 5, 1, 10, 12, tzinfo=UTC)),
        ("'10:12'", datetime(2024, 5, 1, 10, 12, tzinfo=UTC)),
        ("\"'10:12'\"", "10:12"),
        ("[2024-05-01]", [date(2024, 5, 1)]),
        ("[10:12, '10:12']", [datetime(2024, 5, 1, 10, 12, tzinfo=UTC)] * 2),
        ("{a: 1, b: 'x'}", {"a": 1, "b": "x"}),
        (".inf", float("inf")),
    ],
)
def test_a_value_of_a_listed_row(text: str, value: Any) -> None:
    read = listed(text)
    assert read == value
    assert type(read) is type(value)


def test_a_row_has_the_columns_of_all_rows_of_its_table() -> None:
    assert case_of("cases: {a: {rows: [{x: 1}, {y: 2}], expect: {panes: []}}}").rows == [
        {"x": 1, "y": None},
        {"x": None, "y": 2},
    ]


def test_a_quoted_value_of_only_is_a_text_or_a_cell() -> None:
    assert case_of("cases: {a: {rows: [], only: {x: ['12', b], y: 3}, expect: {panes: []}}}").only == {
        "x": ["12", 12, "b"],
        "y": [3],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cases:\n  a: {}\n  a: {}", "line 3: cases.a: stands twice, first in line 2; keep one"),
        (
            "cases:\n  a:\n    rows: []\n    expect: {panes: []}\n    expect: {panes: []}",
            "line 5: cases.a.expect: stands twice, first in line 4; keep one",
        ),
        ("cases: {a: &a {}, b: *a}", r"line 1: not valid YAML: aliases \(\*name\) are not supported"),
        ("cases: {a: {rows: [], expect: {}}}", "case 'a': expect: found nothing to compare, expected one of panes"),
        ("cases: {a: {rows: [], expect: {counts: {}}}}", "case 'a': expect: found nothing to compare"),
        ("cases: {a: {rows: []}}", "case 'a': expect: missing, expected a mapping of panes"),
        ("cases: {a: {rows: [], expect: {panes: [{}]}}}", "case 'a': expect.panes: found a row without columns"),
        (
            "cases: {a: {rows: [], expect: {counts: {late: false}}}}",
            "case 'a': expect.counts: found late: False, expected whole numbers",
        ),
        (
            "cases: {a: {day: 2024-02-30, rows: [], expect: {panes: []}}}",
            "case 'a': day: found '2024-02-30', which cannot be read: day is out of range for month",
        ),
        (
            "cases: {a: {until: 2024-05-01 25:00:00, rows: [], expect: {panes: []}}}",
            "case 'a': until: found '2024-05-01 25:00:00', which cannot be read: hour must be in 0..23",
        ),
        (
            "cases: {a: {rows: [{x: 2024-02-30}], expect: {panes: []}}}",
            "case 'a': rows: found '2024-02-30', which cannot be read",
        ),
        (
            "cases: {a: {rows: [{x: 1}, {x: b}], expect: {panes: []}}}",
            r"case 'a': rows: column 'x' has a number \(1\) and a text \(b\), and a column of a table has one type",
        ),
        (
            "cases: {a: {rows: {web: [{x: [1]}, {x: [b]}]}, expect: {panes: []}}}",
            r"case 'a': rows.web: column 'x.\[\]' has a number \(1\) and a text \(b\)",
        ),
        ("cases: {a: {rows: [], expect: {panes: []}, set: {a: no}}}", "case 'a': set: a: found the YAML boolean no"),
        ("cases: {a: {drawing: [], unit: s}}", "case 'a': drawing: folder/clicks.yaml: .*No such file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_case(text: str, message: str) -> None:
    with pytest.raises(CaseError, match=f"^folder/clicks.test.yaml: {message}"):
        parse(text, PATH)


def test_the_other_cases_of_a_file_are_read(tmp_path: Path) -> None:
    file = tmp_path / "clicks.test.yaml"
    file.write_text("cases:\n  a: {rows: [], expect: {}}\n  b: {rows: [], expect: {panes: []}}\n", encoding="utf-8")
    read = load_readable(file)
    assert [case.name for case in read.cases] == ["b"]
    assert list(read.broken) == ["a"]


@pytest.mark.parametrize(
    ("name", "beside", "pipeline"),
    [
        ("clicks.test.yaml", "clicks.yaml", "clicks.yaml"),
        ("clicks.test.yml", "clicks.yaml", "clicks.yaml"),
        ("clicks.test.yml", "clicks.yml", "clicks.yml"),
        ("clicks.test.yaml", "other.yaml", "clicks.yaml"),
    ],
)
def test_the_pipeline_file_lies_beside_the_cases(name: str, beside: str, pipeline: str, tmp_path: Path) -> None:
    (tmp_path / beside).write_text("", encoding="utf-8")
    text = "cases: {a: {rows: [], expect: {panes: []}}}"
    assert parse(text, tmp_path / name).pipeline == tmp_path / pipeline


@pytest.mark.parametrize("name", ["clicks.test.yaml", "clicks.test.yml"])
def test_a_file_of_cases_is_no_pipeline(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("cases: {}", encoding="utf-8")
    files = read_folder(tmp_path)
    assert (files.good, files.broken) == ({}, {})
