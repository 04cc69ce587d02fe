"""The tables of a join by the reference: pairs, late events and invalid events of two inputs, and their counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spark_jobs.cases.joined_tables import JoinedTables
from spark_jobs.cases.table_columns import columns_of
from spark_jobs.pipeline import Pipeline, parse

START = datetime(2024, 5, 1, 10, tzinfo=UTC)
SOURCES = """
sources:
  - name: orders
    table: data/orders
    event_time: at
    arrival_time: stored_at
    where: id is null or id > 0
    watermark: {strategy: monotonous}
  - name: payments
    table: data/payments
    event_time: paid_at
    arrival_time: stored_at
    watermark: {strategy: monotonous}
"""
KINDS = {
    "window": "join: {key: {orders: [id], payments: [order_id]}}\nwindows: {size: 10 minutes}",
    "interval": "join: {key: {orders: [id], payments: [order_id]}, between: [0s, 10 minutes]}",
    "as_of": "join: {key: {orders: [id], payments: [order_id]}, as_of: left_outer}",
}


def pipeline(kind: str, more: str = "") -> Pipeline:
    return parse(f"name: paid{SOURCES}{KINDS[kind]}\n{more}")


def minute(number: float | None) -> datetime | None:
    return None if number is None else START + timedelta(minutes=number)


def order(number: int | None, at: float | None, stored: float) -> dict[str, Any]:
    return {"source": "orders", "id": number, "at": minute(at), "stored_at": minute(stored)}


def payment(number: int | None, at: float, stored: float) -> dict[str, Any]:
    return {"source": "payments", "order_id": number, "paid_at": minute(at), "stored_at": minute(stored)}


#: Null joins null; order 0 is dropped and moves the watermark; an order lacks its time; payment 2 of 10:00 is too late.
ROWS = [
    order(None, 0, 0),
    payment(None, 1, 1),
    order(2, 2, 2),
    order(5, None, 3),
    order(0, 12, 12),
    payment(2, 13, 13),
    payment(2, 0, 14),
    order(0, 1, 15),
    order(3, 14, 16),
    payment(3, 15, 17),
]


@pytest.mark.parametrize(
    ("kind", "more", "expected"),
    [
        ("window", "", [(None, 1, 13), (3, 15, 17)]),
        ("window", "replay: {end_of_input: keep_open}", [(None, 1, 13)]),
        ("interval", "", [(None, 1, 1), (3, 15, 17)]),
        ("as_of", "", [(None, None, 2), (2, None, 13), (3, None, 17)]),
        ("as_of", "replay: {end_of_input: keep_open}", [(None, None, 2), (2, None, 13)]),
    ],
)
def test_a_join_has_pairs(kind: str, more: str, expected: list[tuple[int | None, int | None, int]]) -> None:
    pairs = JoinedTables(pipeline(kind, more), ROWS).tables["pairs"]
    assert [(pair["orders.id"], pair["payments.paid_at"], pair["fired_at"]) for pair in pairs] == [
        (number, minute(paid), minute(fired)) for number, paid, fired in expected
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_join_nothing_are_late_or_invalid(kind: str) -> None:
    joined = JoinedTables(pipeline(kind), ROWS)
    (invalid,) = joined.tables["invalid_events"]
    assert (invalid["source"], invalid["id"], invalid["reason"]) == ("orders", 5, "event_time_missing")
    late = [(row["source"], row["order_id"], row["paid_at"]) for row in joined.tables["late_events"]]
    assert late == [("payments", 2, minute(0))]
    counts = joined.counts
    assert {name: counts[name] for name in ("rows_read", "invalid", "filtered", "too_late")} == {
        "rows_read": 10,
        "invalid": 1,
        "filtered": 2,
        "too_late": 1,
    }
    assert (counts["too_late_of_orders"], counts["too_late_of_payments"]) == (0, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_columns_of_a_table_do_not_depend_on_its_rows(kind: str) -> None:
    for name, rows in JoinedTables(pipeline(kind), ROWS).tables.items():
        columns = columns_of(name, pipeline(kind), ROWS)
        assert columns is not None
        assert all(set(row) <= set(columns) for row in rows)
        assert rows


def test_rows_of_no_source_and_rows_behind_the_clock_are_refused() -> None:
    with pytest.raises(ValueError, match="found rows of refunds; write a table for each of orders, payments"):
        JoinedTables(pipeline("window"), [{**ROWS[0], "source": "refunds"}])
    with pytest.raises(ValueError, match=r"found a row at 2024-05-01 10:17:00.*, behind until 2024-05-01 10:05:00"):
        JoinedTables(pipeline("window"), ROWS, minute(5))


def test_one_source_is_split_by_its_condition() -> None:
    source = "source: {table: t, event_time: at, arrival_time: stored_at}\nwatermark: {strategy: monotonous}\n"
    names = "second_when: kind = 'payment', names: [orders, payments]"
    split = parse(f"name: paid\n{source}{KINDS['interval'].replace('}, between', f'}}, {names}, between')}")
    rows = [
        {"kind": kind, "id": 1, "order_id": 1, "at": minute(number), "stored_at": minute(number)}
        for number, kind in enumerate(["order", "payment"])
    ]
    joined = JoinedTables(split, rows)
    assert [(pair["orders.kind"], pair["payments.kind"]) for pair in joined.tables["pairs"]] == [("order", "payment")]
    assert (joined.counts["rows_read_of_orders"], joined.counts["rows_read_of_payments"]) == (1, 1)
