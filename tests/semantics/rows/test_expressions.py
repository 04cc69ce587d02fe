"""Expressions: SQL's three values where SQLite and Spark agree, a refusal wherever they might not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from spark_jobs.semantics.rows.expressions import Expression, UnknownColumnError, UnreadableExpressionError

ROW: dict[str, Any] = {
    "carrier": "AA",
    "accented": "Été",
    "delay": 5,
    "ratio": 0.5,
    "price": Decimal("2.50"),
    "cancelled": False,
    "tail": None,
    "happened": datetime(2024, 1, 1, 12, tzinfo=UTC),
    "known": datetime(2024, 1, 1, 14),
    "day": date(2024, 1, 2),
    "odd name": "x",
    "tags": ["a"],
    "broken": float("nan"),
    "payload": {"Page": "/home", "deep": {"a.b": 7}, "empty": None},
    "a`b": "tick",
}


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("delay > 5", 0),
        ("delay >= 5", 1),
        ("tail is not null", 0),
        ("tail is null and delay = 5", 1),
        ("tail = 'N1'", None),
        ("not (tail = 'N1')", None),
        ("tail = 'N1' or delay == 5", 1),
        ("carrier in ('AA', 'UA')", 1),
        ("carrier not in ('AA', 'UA')", 0),
        ("delay between 5 and 6", 1),
        ("carrier like 'A%'", 1),
        ("carrier like 'a%'", 0),
        ('carrier = "AA"', 1),
        ('carrier <> "it\'s"', 1),
        ("`odd name` = 'x'", 1),
        ("CARRIER = 'AA'", 1),
        ("payload.page", "/home"),
        ("PAYLOAD.`page` || '!'", "/home!"),
        ("payload.deep.`a.b` + 1", 8),
        ("payload.empty.anything", None),
        ("`a``b`", "tick"),
        ("cancelled = false", 1),
        ("not cancelled", 1),
        ("case when delay > 3 then 'late' else 'fine' end", "late"),
        ("coalesce(tail, carrier) || '!'", "AA!"),
        ("lower(carrier)", "aa"),
        ("upper(tail)", None),
        ("lower(accented)", "été"),
        ("upper(accented)", "ÉTÉ"),
        ("nullif(delay, 5)", None),
        ("abs(2 - delay) * 2", 6),
        ("delay + ratio", 5.5),
        ("price * 2", 5.0),
        ("known > happened", 1),
        ("day is not null", 1),
        ("happened is not null", 1),
    ],
)
def test_value(sql: str, value: Any) -> None:
    assert Expression(sql).evaluate(ROW) == value


@pytest.mark.parametrize("name", ["happened", "tags", "price", "HAPPENED", "`tags`"])
def test_a_columns_name_gives_its_value_as_it_is(name: str) -> None:
    assert Expression(name).evaluate(ROW) is ROW[name.strip("`").lower()]


@pytest.mark.parametrize(
    "sql",
    [
        "delay / 2 > 1",
        "delay % 2 = 1",
        "cast(delay as string) = '5'",
        "date_trunc('hour', happened)",
        "length(carrier) = 2",
        "carrier = 'a\\'b'",
        "delay > 1e3",
        "delay > 1.",
        "delay <=> 5",
        "carrier = 'AA",
        "(delay > 1",
        "delay > 1)",
        ")(",
        "",
        "delay > 1; drop table x",
        "a.b = 1",
        "carrier = 'it''s'",
        "a, b",
        "a) + (b",
        "   ",
    ],
)
def test_expressions_ambiguous_between_sqlite_and_spark_are_refused(sql: str) -> None:
    with pytest.raises(UnreadableExpressionError, match="pass a Python function for it"):
        Expression(sql).evaluate({**ROW, "a": 1, "b": 1})


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("   ", "found nothing;"),
        ("(delay", r"found \( without \)"),
        ("delay)", r"found \) without \("),
        ("delay ? 1 + 2 + 3 + 4", r"found '\? 1 \+ 2 \+ 3 ';"),
    ],
)
def test_unreadable_expression_is_refused_with_its_fault(sql: str, message: str) -> None:
    with pytest.raises(UnreadableExpressionError, match=message):
        Expression(sql).evaluate(ROW)


@pytest.mark.parametrize("sql", ["happened > '2024-01-01'", "day = '2024-01-02'", "tags = tags", "broken > 1"])
def test_values_that_sqlite_cannot_compare_as_spark_does_are_refused(sql: str) -> None:
    with pytest.raises(UnreadableExpressionError, match="would not compare as Spark does"):
        Expression(sql).evaluate(ROW)


def test_a_name_in_its_own_letters_goes_before_one_in_others() -> None:
    assert Expression("a").evaluate({"A": 1, "a": 2}) == 2


def test_expressions_are_evaluated_on_any_thread() -> None:
    Expression("delay + 1").evaluate(ROW)
    with ThreadPoolExecutor(1) as other:
        assert other.submit(Expression("delay + 1").evaluate, ROW).result() == 6


def test_bad_grammar_is_refused_with_sqlites_reason() -> None:
    with pytest.raises(UnreadableExpressionError, match=r"SQLite error: .*syntax error"):
        Expression("delay > > 1").evaluate(ROW)


def test_unknown_column_is_named_with_the_columns_that_exist() -> None:
    with pytest.raises(UnknownColumnError, match="'dealy'; the row has carrier, delay"):
        Expression("dealy > 1").evaluate({"carrier": "AA", "delay": 1})


def test_an_unknown_word_is_taken_for_a_column_and_refused() -> None:
    with pytest.raises(UnknownColumnError, match="'rlike'"):
        Expression("carrier rlike 'A.*'").evaluate(ROW)
