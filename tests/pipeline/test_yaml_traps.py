"""What YAML readers understand differently is refused, with the way to write it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.pipeline import Problem

# Each row: a change of one place in the file, and its only problem, as it is printed after 'flights.yaml:'.
TRAPS = [
    (
        "[origin]",
        "{columns: [origin], declared: [SE, NO]}",
        (
            "6:56: source.source_partition.declared[1]: found the YAML boolean NO, expected a value of the "
            'partition column; write "NO" with quotes'
        ),
    ),
    (
        "future_guard: 1 day",
        "future_guard: off",
        (
            "9:17: source.future_guard: found the YAML boolean off, expected a duration such as '1 day', or none;"
            " no duration; write a number and a unit, such as '6 hours' (units: ms, s, min, h, days, weeks)"
        ),
    ),
    (
        "event_time: departed_at",
        "event_time: on",
        (
            "4:15: source.event_time: found the YAML boolean on, expected a column or SQL expression, {column, "
            'unit} or {column, format, timezone}; write "on" with quotes'
        ),
    ),
    (
        "    flights:",
        "    on:",
        '27:5: windows.aggregates: found the YAML boolean on as a key; a key is text: write "on" with quotes',
    ),
    (
        "    flights:",
        "    true:",
        '27:5: windows.aggregates: found the YAML boolean true as a key; a key is text: write "true" with quotes',
    ),
    (
        "    flights:",
        "    2013:",
        '27:5: windows.aggregates: found the number 2013 as a key; a key is text: write "2013" with quotes',
    ),
    (
        "flights: count(*)",
        "flights: 1",
        (
            "27:14: windows.aggregates.flights: found the number 1, expected a SQL aggregate such as count(*); "
            'write "1" with quotes'
        ),
    ),
    (
        "min_value: -60",
        "strict_min: yes",
        (
            "36:19: quality.expectations[0].strict_min: found the YAML boolean yes; write true or false, or write"
            ' "yes" with quotes'
        ),
    ),
    (
        "name: departures_by_carrier",
        "name: a\nname: b",
        "2:1: name: stands twice, first in line 1; keep one",
    ),
    (
        "    mean_delay:",
        "    flights:",
        "28:5: windows.aggregates.flights: stands twice, first in line 27; keep one",
    ),
    (
        "    mean_delay:",
        "    ? [a]\n    :",
        "28:7: windows.aggregates: found a list or mapping as a key; a key is text (quote values with { or [)",
    ),
    (
        "flights: count(*)",
        "flights: !!python/name:os.system x",
        (
            "27:14: windows.aggregates.flights: found the tag tag:yaml.org,2002:python/name:os.system; tags are "
            "not supported"
        ),
    ),
    (
        "    - type:",
        "    - &a\n      <<: *a\n      type:",
        "34:11: not valid YAML: aliases (*name) are not supported; text with : # * @ % { or [ needs quotes",
    ),
    (
        '"@daily"',
        "@daily",
        (
            "37:11: not valid YAML: while scanning for the next token, found character '@' that cannot start any "
            "token; text with : # * @ % { or [ needs quotes"
        ),
    ),
    (
        "where: tailnum is not null",
        "where: a: b",
        "8:11: not valid YAML: mapping values are not allowed here; text with : # * @ % { or [ needs quotes",
    ),
    (
        "where: tailnum is not null",
        "where: a\x07b",
        "8: not valid YAML: the character #x0007 is not allowed",
    ),
    (
        "key: [carrier]",
        "key: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
        "22:56: not valid YAML: nested more than 50 deep; text with : # * @ % { or [ needs quotes",
    ),
]


@pytest.mark.parametrize(("old", "new", "message"), TRAPS)
def test_a_trap_of_yaml_is_named(
    edit: Callable[..., str], problems_of: Callable[..., list[Problem]], old: str, new: str, message: str
) -> None:
    assert [str(problem) for problem in problems_of(edit((old, new)))] == [f"flights.yaml:{message}"]
