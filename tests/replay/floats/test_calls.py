"""Calls of functions in a text of SQL: where they begin and end, and what stands in them."""

from __future__ import annotations

import pytest

from spark_jobs.replay.floats.calls import Call, calls, replaced

NAMES = ("sum", "first", "listagg")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("sum(x)", Call("sum", ("x",), 0, 6)),
        (" SUM ( x + f(1, 2) ) ", Call("sum", ("x + f(1, 2)",), 1, 20)),
        ("sum(DISTINCT x)", Call("sum", ("x",), 0, 15, is_distinct=True)),
        ("sum(all x)", Call("sum", ("x",), 0, 10)),
        ("sum(x) FILTER (WHERE y > (1))", Call("sum", ("x",), 0, 29, condition="y > (1)")),
        ("sum(x) filter(where wherever)", Call("sum", ("x",), 0, 29, condition="wherever")),
        ("first(x, true)", Call("first", ("x", "true"), 0, 14)),
        ("first(x ignore nulls)", Call("first", ("x",), 0, 21, ignores_nulls=True)),
        ("first(x) IGNORE NULLS", Call("first", ("x",), 0, 21, ignores_nulls=True)),
        ("first(x) respect nulls", Call("first", ("x",), 0, 22)),
        ("sum(a[1, 2])", Call("sum", ("a[1, 2]",), 0, 12)),
        ("sum(if(x = ')', 1, 2))", Call("sum", ("if(x = ')', 1, 2)",), 0, 22)),
        ("sum(if(x = '\\')', 1, 2))", Call("sum", ("if(x = '\\')', 1, 2)",), 0, 24)),
        ("sum(`a)`)", Call("sum", ("`a)`",), 0, 9)),
        ("sum(x /* ) */ + 1)", Call("sum", ("x /* ) */ + 1",), 0, 18)),
        ("sum(1e3 + r'\\')", Call("sum", ("1e3 + r'\\'",), 0, 15)),
        ("`Sum` (x)", Call("sum", ("x",), 0, 9)),
        ("sum(x -- )\n)", Call("sum", ("x",), 0, 12)),
        ("sum(x) filter (where y > 0 -- paid\n)", Call("sum", ("x",), 0, 36, condition="y > 0")),
        ("sum(x -- a\\\n)\n)", Call("sum", ("x",), 0, 15)),
        (
            "listagg(DISTINCT x, ',') WITHIN GROUP (ORDER BY x) filter (where y) > 'a'",
            Call("listagg", ("x", "','"), 0, 67, is_distinct=True, condition="y", within="ORDER BY x"),
        ),
    ],
)
def test_a_call_has_its_arguments_and_clauses(sql: str, expected: Call) -> None:
    assert calls(sql, NAMES) == [expected]


@pytest.mark.parametrize(
    "sql",
    ["sum", "sum x", "'sum(x)'", "sums(x)", "my.sum(x)", "-- sum(x)", "sum(x", "sum(x) over (order by y)"],
)
def test_what_is_no_call_is_not_found(sql: str) -> None:
    assert calls(sql, NAMES) == []


@pytest.mark.parametrize(
    ("clause", "sorted_by"),
    [
        ("order by x", ("x", "")),
        ("ORDER  BY f(x, y) DESC", ("f(x, y)", "desc")),
        ("order by x + 1 asc nulls last -- rest", ("x + 1", "asc nulls last")),
        ("order by x nulls first", ("x", "nulls first")),
        ("order by x, y", None),
    ],
)
def test_a_sorted_call_has_its_value_and_direction(clause: str, sorted_by: tuple[str, str] | None) -> None:
    (call,) = calls(f"first() within group ({clause}\n)", NAMES)
    assert call.sorted_by == sorted_by


def test_a_call_without_a_clause_is_not_sorted() -> None:
    (call,) = calls("sum(x)", NAMES)
    assert call.sorted_by is None


def test_a_condition_guards_the_value() -> None:
    free, guarded = calls("sum(x) + sum(a / b) filter (where b <> 0)", NAMES)
    assert (free.value(), guarded.value()) == ("x", "case when (b <> 0) then (a / b) end")


def test_calls_are_replaced_where_they_stand() -> None:
    sql = "round(sum(x) / sum( y ), 2) + count(*)"
    assert replaced(sql, NAMES, lambda call: f"<{call.arguments[0]}>") == "round(<x> / <y>, 2) + count(*)"
    assert replaced(sql, NAMES, lambda call: None) == sql


def test_a_call_without_arguments_has_none() -> None:
    assert calls("sum()", NAMES) == [Call("sum", (), 0, 5)]
