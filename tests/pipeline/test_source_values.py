"""A wrong value of source is met with what was found and what is allowed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.pipeline import Problem

# Each row: a change of one place in the file, and its only problem, as it is printed after 'flights.yaml:'.
WRONG = [
    (
        "table: ${TIDEMARK_LAKE}/flights",
        "table: ''",
        "3:10: source.table: found '', expected a Delta path or catalog.schema.table; it is empty",
    ),
    (
        "table: ${TIDEMARK_LAKE}/flights",
        "table:",
        "3:9: source.table: found nothing, expected a Delta path or catalog.schema.table",
    ),
    (
        "where: tailnum is not null",
        "where: [a, b]",
        "8:10: source.where: found a list, expected a SQL condition such as 'tailnum is not null'",
    ),
    (
        "event_time: departed_at",
        "event_time: [a]",
        (
            "4:15: source.event_time: found a list, expected a column or SQL expression, {column, unit} or "
            "{column, format, timezone}"
        ),
    ),
    (
        "event_time: departed_at",
        "event_time: 2013",
        (
            "4:15: source.event_time: found the number 2013, expected a column or SQL expression, {column, unit} "
            'or {column, format, timezone}; write "2013" with quotes'
        ),
    ),
    (
        "event_time: departed_at",
        "event_time: {unit: ms}",
        "4:3: source.event_time.column: missing, expected a column or SQL expression",
    ),
    (
        "event_time: departed_at",
        "event_time: {column: ts, unit: seconds}",
        "4:34: source.event_time.unit: found 'seconds', expected s, ms, us or ns; write s",
    ),
    (
        "event_time: departed_at",
        "event_time: {column: ts, unit: hours}",
        "4:34: source.event_time.unit: found 'hours', expected s, ms, us or ns",
    ),
    (
        "event_time: departed_at",
        "event_time: {column: ts, format: '%Y-%m-%d'}",
        (
            "4:36: source.event_time.format: found '%Y-%m-%d', expected a Spark datetime pattern such as "
            "yyyy-MM-dd HH:mm:ss; % is Python's way"
        ),
    ),
    (
        "event_time: departed_at",
        "event_time: {column: ts, format: yyyy, timezone: Europe/Berln}",
        (
            "4:52: source.event_time.timezone: found 'Europe/Berln', expected a time zone such as Europe/Berlin "
            "or +02:00; did you mean 'Europe/Berlin'?"
        ),
    ),
    (
        "[origin]",
        "origin",
        (
            "6:21: source.source_partition: found 'origin', expected a list of columns such as [origin], or "
            "{columns, declared}; write [origin]"
        ),
    ),
    (
        "[origin]",
        "[origin, Origin]",
        "6:30: source.source_partition[1]: found 'Origin' for the second time; keep one",
    ),
    (
        "[origin]",
        "[__tm_p]",
        (
            "6:22: source.source_partition[0]: found '__tm_p', expected a column; names that begin with __tm are "
            "Tidemark's own"
        ),
    ),
    (
        "[origin]",
        "{columns: [a], declared: [x, x]}",
        "6:50: source.source_partition.declared[1]: found 'x' for the second time; keep one",
    ),
    (
        "[origin]",
        "{columns: [a], declared: [~]}",
        (
            "6:47: source.source_partition.declared[0]: found nothing, expected a value of the partition column; "
            "a partition without a value cannot be declared"
        ),
    ),
    (
        "[origin]",
        "{columns: [a], declared: x}",
        "6:46: source.source_partition.declared: found 'x', expected a list such as [EWR, JFK]; write [x]",
    ),
    (
        "[flight_id]",
        "flight_id",
        "7:14: source.tie_break: found 'flight_id', expected a list of columns such as [origin]; write [flight_id]",
    ),
    (
        "future_guard: 1 day",
        "future_guard: ~",
        "9:17: source.future_guard: found nothing, expected a duration such as '1 day', or none",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_a_wrong_value_of_the_source_is_an_error_with_the_allowed_values(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]], old: str, new: str, message: str
) -> None:
    assert [str(problem) for problem in problems_of(edit((old, new)))] == [f"flights.yaml:{message}"]
