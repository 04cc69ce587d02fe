"""An example is a folder of docs/examples: a pipeline file, a CSV file for each table it reads, and what it computes.

    pipeline.yaml    its first comment is the title, the further ones are the note
    events.csv       the rows of `data/events`; another table has a file with its name
    expected.csv     the panes of the pipeline, or the pairs of a join, in the order of their firing

A field is a time (2024-05-01T10:00:00Z), a whole number or text; an empty field is null. Columns of a
pair's two rows have the name of the input before them: `orders.order_id`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from spark_jobs.pipeline import Pipeline, parse

ROOT = Path(__file__).parents[2] / "docs" / "examples"
TableRow = dict[str, Any]

_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


@dataclass(frozen=True)
class Example:
    """An example by its folder."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def text(self) -> str:
        """The pipeline file without its first comments."""
        lines = self._lines
        return "".join(f"{line}\n" for line in lines if not line.startswith("# "))

    @property
    def title(self) -> str:
        return self._lines[0].removeprefix("# ")

    @property
    def note(self) -> str:
        return " ".join(line.removeprefix("# ") for line in self._lines[1:] if line.startswith("# "))

    @cached_property
    def pipeline(self) -> Pipeline:
        return parse(self.text, origin=str(self.folder / "pipeline.yaml"))

    @cached_property
    def tables(self) -> Mapping[str, list[TableRow]]:
        """The rows of each source by its name; of a single source, the name is empty."""
        tables = {united.name: united.source.table for united in self.pipeline.sources}
        tables = tables or {"": self.pipeline.source.table}
        return {name: read_csv((self.folder / f"{Path(table).name}.csv").read_text()) for name, table in tables.items()}

    @property
    def rows(self) -> list[TableRow]:
        """All rows as one stream; those of several sources have the name of their source in a column."""
        return [{**row, **({"source": name} if name else {})} for name, rows in self.tables.items() for row in rows]

    @property
    def expected(self) -> str:
        return (self.folder / "expected.csv").read_text()

    @property
    def _lines(self) -> list[str]:
        return (self.folder / "pipeline.yaml").read_text().splitlines()


def load() -> list[Example]:
    """Return every example, by name."""
    return [Example(file.parent) for file in sorted(ROOT.glob("*/pipeline.yaml"))]


def read_csv(text: str) -> list[TableRow]:
    return [{name: _value(field) for name, field in row.items()} for row in csv.DictReader(io.StringIO(text))]


def write_csv(rows: Sequence[TableRow], columns: Iterable[str] | None = None) -> str:
    """Write rows as CSV; `columns` selects and orders their columns."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns or rows[0]), extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: field(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def field(value: Any) -> str:
    """Write a value as a field; a time loses a fraction of zero."""
    if isinstance(value, datetime):
        return re.sub(r"\.000$", "", value.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]) + "Z"
    return "" if value is None else str(value)


def _value(text: str) -> Any:
    if _TIME.fullmatch(text):
        return datetime.fromisoformat(text)
    return int(text) if text.isdigit() else text or None
