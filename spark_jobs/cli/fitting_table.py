"""A table that fits the terminal: it drops its least important columns instead of wrapping cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.table import Table

from spark_jobs.pipeline.printable import printable, shortened

#: The longest text of a cell.
_LONGEST = 40


@dataclass(frozen=True)
class Column:
    """A column: its heading, its cells, and its rank.

    If the table does not fit, the column of the highest rank is dropped first. A column of rank 0 is never dropped.
    """

    heading: str
    cells: Sequence[str]
    rank: int = 0
    right: bool = True

    @property
    def texts(self) -> list[str]:
        """The cells as they are shown: in one line each."""
        return [shortened(printable(cell).replace("\n", "\\n"), _LONGEST) for cell in self.cells]

    @property
    def width(self) -> int:
        """The characters of the widest cell or line of the heading."""
        return max(cell_len(text) for text in (*self.heading.split("\n"), *self.texts))


def fitting(columns: Sequence[Column], width: int) -> Table:
    """Return the table of those columns that fit into `width` characters."""
    fit = list(columns)
    while sum(column.width + 1 for column in fit) - 1 > width:
        least = max(fit, key=lambda column: column.rank)
        if least.rank == 0:
            break
        fit.remove(least)
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for column in fit:
        table.add_column(column.heading, no_wrap=True, justify="right" if column.right else "left")
    for row in zip(*(column.texts for column in fit), strict=True):
        table.add_row(*row)
    return table
