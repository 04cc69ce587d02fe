"""Texts of values: one text chooses one value, in plain Python and in the SQL of delta-rs."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.inspection import value_texts
from spark_jobs.tables import delta_rs

ODD = ["", "null", "'", "''", "'null'", "'a'", "it's", " a", "a\n", "\t", "null\n", "'a'b'", "%", "a|b", "Null", "a b"]


@pytest.mark.parametrize(
    ("value", "text", "other"),
    [
        (None, "null", "None"),
        (None, "null", "'null'"),
        (True, "true", "True"),
        (7, "7", "7.0"),
        (2.0, "2", "2.5"),
        (2.0, "2.0", "two"),
        (Decimal("2.50"), "2.5", "two"),
        ("null", "'null'", "null"),
        ("", "''", "null"),
        ("a", "'a'", "''a''"),
        ("it's", "it's", "it''s"),
        (date(2024, 5, 1), "2024-05-01", "2024-05-02"),
        (datetime(2024, 5, 1, 10, tzinfo=UTC), "2024-05-01T10:00:00Z", "2024-05-01"),
    ],
)
def test_a_text_stands_for_a_value_of_any_type(value: Any, text: str, other: str) -> None:
    assert value_texts.is_of(value, text)
    assert not value_texts.is_of(value, other)
    assert value_texts.is_of(value, value_texts.of_value(value))


@given(value=st.none() | st.sampled_from(ODD) | st.text("' nul\n"), other=st.none() | st.sampled_from(ODD))
def test_a_text_stands_for_one_text_or_null(value: str | None, other: str | None) -> None:
    text = value_texts.of_value(value)
    assert value_texts.is_of(value, text)
    assert value_texts.is_of(other, text) == (value == other)


def test_the_sql_of_delta_rs_has_the_same_texts_and_choices(tmp_path: Path) -> None:
    values = [None, *ODD]
    name, values = 'a"b', [None, *ODD]
    write_deltalake(tmp_path / "t", pa.table({"place": range(len(values)), name: pa.array(values, pa.string())}))
    table = delta_rs.at_version(str(tmp_path / "t"), 0)
    rows = table.select(" ".join(["SELECT", value_texts.sql_of(name), "AS text FROM t ORDER BY place"]))
    assert [row["text"] for row in rows] == [value_texts.of_value(value) for value in values]
    for place, row in enumerate(rows):
        chosen = table.select(" ".join(["SELECT place FROM t WHERE", value_texts.sql_is(name, row["text"])]))
        assert [each["place"] for each in chosen] == [place]
