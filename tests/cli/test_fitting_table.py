"""A table drops columns instead of wrapping cells, and shows text of others in one line."""

from __future__ import annotations

import io

import pytest

from spark_jobs.cli.fitting_table import Column, fitting
from spark_jobs.cli.printing import SafeConsole

COLUMNS = [
    Column("run", ["r1", "r2"], right=False),
    Column("table\nversion", ["10", "11"], rank=2),
    Column("rows", ["1,000", "2,000"], rank=1),
]


def lines(columns: list[Column], width: int) -> list[str]:
    out = SafeConsole(file=io.StringIO(), width=width)
    out.print(fitting(columns, width))
    assert isinstance(out.file, io.StringIO)
    return [line.rstrip() for line in out.file.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("width", "heading"),
    [(17, "run version  rows"), (16, "run  rows"), (9, "run  rows"), (8, "run"), (2, "r…")],
)
def test_the_columns_of_the_highest_rank_are_dropped_first(width: int, heading: str) -> None:
    assert heading in lines(COLUMNS, width)


def test_a_cell_is_one_printable_line() -> None:
    texts = lines([Column("key", ["[red]a\nb\x1b[2J[/]", "x" * 50], right=False)], 80)
    assert texts == ["key", "[red]a\\nb\\x1b[2J[/]", "x" * 37 + "..."]
