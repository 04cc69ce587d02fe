"""Cells and text tables: each value is read back as it was written, and wrong tables are named."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from spark_jobs.cases.cells import END, TableError, cell, read_cell, read_table, write_table
from spark_jobs.semantics.rows.instants import END_OF_INPUT

DAY = date(2024, 5, 1)
NINE = datetime(2024, 5, 1, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("null", None),
        ("true", True),
        ("12", 12),
        ("-3.5", -3.5),
        ("1e3", 1000.0),
        ("12a", "12a"),
        ("010", "010"),
        ("08", "08"),
        ("-0.5", -0.5),
        ("Infinity", math.inf),
        ("-.inf", -math.inf),
        ("nan", "nan"),
        ("[Infinity]", [math.inf]),
        ("1.2.3", "1.2.3"),
        ("'12'", "12"),
        ("'it''s'", "it's"),
        ("[1, 2]", [1, 2]),
        ('{"a": null}', {"a": None}),
        ("[no json]", "[no json]"),
        ("2024-05-01 09:00", NINE),
        ("2024-05-01T11:00:00+02:00", NINE),
        ("2024-05-01 09:00:00.25", NINE + timedelta(milliseconds=250)),
        ("2024-05-01", "2024-05-01"),
        ("9:00", NINE),
        ("09:00:01.5", NINE + timedelta(seconds=1.5)),
        (END, END_OF_INPUT),
    ],
)
def test_a_cell_has_a_value(text: str, value: Any) -> None:
    read = read_cell(text, DAY)
    assert read == value
    assert type(read) is type(value)


def test_a_time_without_a_day_is_a_text() -> None:
    assert read_cell("09:00") == "09:00"


@pytest.mark.parametrize(
    "value",
    [None, True, 7, -0.5, "plain", "12", "null", "a | b", " x ", "", "it's",
     "'quoted'", "9:30", [1, "2"], {"a": [1.5]}, NINE,
     "it's | 'x'", "NaN", "010", math.inf, -math.inf, {"at": [None, True, "9:30"]}, 1e300,
     NINE + timedelta(days=1), NINE + timedelta(microseconds=1), END_OF_INPUT],
)  # fmt: skip
def test_a_written_value_is_read_back(value: Any) -> None:
    _, ((row),) = read_table("\n".join(write_table(["value", "other"], [{"value": value, "other": 1}], DAY)), DAY)
    assert row == {"value": value, "other": 1}


def test_nan_is_a_number() -> None:
    assert [cell(read_cell(text)) for text in ("NaN", ".nan", "[NaN]")] == ["NaN", "NaN", "[NaN]"]


def test_an_exact_double_has_all_digits_of_its_text() -> None:
    _, ((row),) = read_table("a | b\n12345678901234567.890 | [0.10]", exact=True)
    assert row == {"a": 12345678901234567.890, "b": [0.1]}
    assert [cell(value) for value in row.values()] == ["12345678901234567.89", "[0.1]"]


def test_times_are_written_in_utc_and_decimals_without_an_exponent() -> None:
    assert cell(datetime(2024, 5, 1, 11, tzinfo=timezone(timedelta(hours=2))), DAY) == "09:00"
    assert cell(Decimal("1E+2")) == "100"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found an empty table"),
        ("a | a\n1 | 2", "found the names a, a, expected different names"),
        ("a | b\n1", "line 2 has 1 cells, expected 2: 1"),
        ("a\n2024-13-01 09:00", "found '2024-13-01 09:00', which cannot be read: month must be in 1..12"),
    ],
)
def test_a_table_that_cannot_be_read_is_named(text: str, message: str) -> None:
    with pytest.raises(TableError) as wrong:
        read_table(text)
    assert message in str(wrong.value)


def test_a_table_may_have_bars_around_it_and_a_rule_below_its_names() -> None:
    text = "| a | b |\n|---|---:|\n| 1 | x |"
    assert read_table(text) == (["a", "b"], [{"a": 1, "b": "x"}])
