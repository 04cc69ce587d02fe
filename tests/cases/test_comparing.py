"""Expected values beside replayed ones: exact numbers, times inside lists, and columns that exist."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from spark_jobs.cases.case_file import Case, ExpectedTable
from spark_jobs.cases.cells import read_table, write_table
from spark_jobs.cases.comparing import UnknownTableError, Unread, differences

DAY = date(2024, 5, 1)
TEN = datetime(2024, 5, 1, 10, tzinfo=UTC)


def compared(
    table: str,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str] | None = None,
    only: Mapping[str, Sequence[Any]] | None = None,
) -> list[str]:
    expected = ExpectedTable(*read_table(table, DAY, exact=True))
    case = Case("case", [], {"panes": expected}, day=DAY, only=only or {})
    return differences(case, {"panes": [dict(row) for row in rows]}, {}, {"panes": columns})


EQUAL: list[tuple[str, Any]] = [
    ("100000000", 100000000),
    ("100000000.0", 100000000),
    ("1e9", 10**9),
    ("9007199254740993", 9007199254740993),
    ("1714557601.5", 1714557600.5 + 1.0),
    ("0.3", 0.1 + 0.2),
    ("0.3333333333333333", 1 / 3),
    ("1e300", 1e300),
    ("0", -0.0),
    ("12345678.90", Decimal("12345678.9")),
    ("12345678901234567.89", Decimal("12345678901234567.89")),
    ("7", Decimal("7.00")),
    ("NaN", math.nan),
    (".nan", math.nan),
    ("Infinity", math.inf),
    ("-.inf", -math.inf),
    ("[NaN, 1.5]", [math.nan, 1.5]),
    ('["2024-05-01 10:00", null]', [TEN, None]),
    ('["10:00"]', [TEN]),
    ('{"at": "2024-05-01T12:00+02:00"}', {"at": TEN}),
    ('["2024-05-01"]', [DAY]),
    ("2024-05-01", DAY),
    ('["10:00"]', ["10:00"]),
    ("[1.10]", [Decimal("1.1")]),
]

DIFFERENT: list[tuple[str, Any]] = [
    ("100000000", 100000000.01),
    ("1714557601.0", 1714557600.5 + 1.0),
    ("10000000.01", Decimal("10000000.02")),
    ("12345678901234567.88", Decimal("12345678901234567.89")),
    ("9007199254740992", 9007199254740993),
    ("1.0000000001", 1),
    ("0.333333333333", 1 / 3),
    ("0", 5e-17),
    ("1", True),
    ("true", 1),
    ("NaN", 0.0),
    ("NaN", None),
    ("Infinity", -math.inf),
    ("Infinity", 1.7e308),
    ("'10:00'", TEN),
    ('["10:01"]', [TEN]),
    ('["2024-05-02"]', [DAY]),
    ("[1]", [1, 1]),
    ('{"a": 1}', {"a": 1, "b": 1}),
]


@pytest.mark.parametrize(("text", "value"), EQUAL)
def test_a_value_equals_its_text(text: str, value: Any) -> None:
    assert compared(f"value\n{text}", [{"value": value}]) == []


@pytest.mark.parametrize(("text", "value"), DIFFERENT)
def test_a_value_differs_from_the_text_of_another(text: str, value: Any) -> None:
    assert len(compared(f"value\n{text}", [{"value": value}])) == 4


@pytest.mark.parametrize(
    "value",
    [value for _, value in (*EQUAL, *DIFFERENT)]
    + [[DAY, Decimal("1.10"), {"at": TEN}], [{"source_partition": "a", "watermark": None}], Decimal("1E+90"), [True]],
)
def test_the_row_of_a_diff_is_an_expected_row(value: Any) -> None:
    rows = [{"value": value, "other": "x"}]
    assert compared("\n".join(write_table(["value", "other"], rows, DAY)), rows) == []


COLUMNS = ["page", "clicks"]


@pytest.mark.parametrize("rows", [[], [{"page": "home", "clicks": 1}]])
@pytest.mark.parametrize(
    ("table", "only", "message"),
    [
        ("page | cliks", {}, r"expect.panes: found the columns cliks, expected page, clicks"),
        ("page", {"pge": ["home"]}, r"only: found pge, expected columns of panes"),
    ],
)
def test_a_column_that_does_not_exist_is_named_with_and_without_rows(
    table: str, only: dict[str, list[Any]], message: str, rows: list[dict[str, Any]]
) -> None:
    with pytest.raises(UnknownTableError, match=message):
        compared(table, rows, COLUMNS, only)


def test_a_value_that_was_not_computed_matters_where_its_column_is_expected() -> None:
    rows = [{"page": "home", "skew": Unread("found the aggregate 'skewness(x)'"), "all": {"skew": Unread("other")}}]
    assert compared("page\nhome", rows) == []
    for column, reason in (("skew", "skew: found the aggregate 'skew"), ("all", "all: other")):
        with pytest.raises(UnknownTableError, match=f"expect.panes: column {reason}"):
            compared(f"page | {column}\nhome | 1", rows)
