"""An example is a folder of `docs/examples`: a pipeline file, a CSV file for each table it reads, and its results.

    pipeline.yaml               its first comment is the title, the further ones are the note
    events.csv                  the rows of `data/events`; another table has a file with its name
    expected/panes.csv          the panes in the order of their firing; of a join, pairs.csv with the pairs
    expected/late_events.csv    the rows that were too late, in the order of their arrival

A time is written as 2024-05-01T10:00:00Z, and null as an empty field. Columns of a pair's two rows have the name of the
input before them: `orders.order_id`.
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

from docs.examples.land import read
from spark_jobs.pipeline import Pipeline, parse

ROOT = Path(__file__).parents[2] / "examples"
TableRow = dict[str, Any]

_WINDOW, _FIRING = ("window_start", "window_end"), ("timing", "fired_at")


@dataclass(frozen=True)
class Example:
    """An example by its folder."""

    folder: Path

    @property
    def name(self) -> str:
        """Return the name of the folder and of the pipeline."""
        return self.folder.name

    @cached_property
    def text(self) -> str:
        """Return the pipeline file without its first comments."""
        return "".join(f"{line}\n" for line in self._lines if not line.startswith("# "))

    @property
    def title(self) -> str:
        """Return the first comment of the pipeline file."""
        return self._lines[0].removeprefix("# ")

    @property
    def note(self) -> str:
        """Return the further comments of the pipeline file."""
        return " ".join(line.removeprefix("# ") for line in self._lines[1:] if line.startswith("# "))

    @cached_property
    def pipeline(self) -> Pipeline:
        """Return the pipeline of the file."""
        return parse(self.text, origin=str(self.folder / "pipeline.yaml"))

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """Return the CSV file of each source by its name; of a single source, the name is empty."""
        tables = {united.name: united.source.table for united in self.pipeline.sources}
        tables = tables or {"": self.pipeline.source.table}
        return {name: self.folder / f"{Path(table).name}.csv" for name, table in tables.items()}

    @cached_property
    def tables(self) -> Mapping[str, list[TableRow]]:
        """Return the rows of each source by its name, as `land.py` writes them."""
        return {name: read(file).to_pylist() for name, file in self.files.items()}

    @property
    def rows(self) -> list[TableRow]:
        """Return all rows as one stream; those of several sources have the name of their source in a column."""
        return [{**row, **({"source": name} if name else {})} for name, rows in self.tables.items() for row in rows]

    @property
    def inputs(self) -> Mapping[str, list[TableRow]]:
        """Return the rows of both inputs of a join by the name of the input; one table belongs to both."""
        declared = self.pipeline.join
        names = () if declared is None else declared.names
        return self.tables if self.pipeline.sources else dict.fromkeys(names, self.tables[""])

    @property
    def results(self) -> str:
        """Return the name of the table that the example is about."""
        return "panes" if self.pipeline.join is None else "pairs"

    @property
    def columns(self) -> Mapping[str, list[str]]:
        """Return the columns of the results and of the late events, in the order of the files."""
        pipeline = self.pipeline
        if pipeline.join is None:
            late = [*self.rows[0], "watermark", *_WINDOW]
            aggregates = (named.name for named in pipeline.windows.aggregates)
            return {self.results: [*pipeline.windows.key, *_WINDOW, *_FIRING, *aggregates], "late_events": late}
        of_rows = [f"{name}.{column}" for name, rows in self.inputs.items() for column in rows[0]]
        late = ["source", *dict.fromkeys(column for rows in self.inputs.values() for column in rows[0]), "watermark"]
        times = ("event_time", "fired_at")
        pairs = [*_WINDOW, *_FIRING, *of_rows] if pipeline.join.by_window else [*of_rows, *times]
        late += ["verdict"] if pipeline.join.is_as_of else []
        return {self.results: pairs, "late_events": late}

    def expected_file(self, table: str) -> Path:
        """Return the file of the expected rows of a table."""
        return self.folder / "expected" / f"{table}.csv"

    def expected(self, table: str) -> str:
        """Return the expected rows of a table as CSV."""
        return self.expected_file(table).read_text(encoding="utf-8")

    @property
    def _lines(self) -> list[str]:
        return (self.folder / "pipeline.yaml").read_text(encoding="utf-8").splitlines()


def examples() -> Mapping[str, Example]:
    """Return every example by its name."""
    return {file.parent.name: Example(file.parent) for file in sorted(ROOT.glob("*/pipeline.yaml"))}


def csv_rows(text: str) -> list[dict[str, str]]:
    """Return the rows of CSV, each field as its text."""
    return list(csv.DictReader(io.StringIO(text)))


def csv_text(rows: Sequence[TableRow], columns: Iterable[str]) -> str:
    """Return rows as CSV with these columns."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns), extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: field_text(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def field_text(value: Any) -> str:
    """Return the text of a value; a time loses a fraction of zero."""
    if isinstance(value, datetime):
        return re.sub(r"\.000$", "", value.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]) + "Z"
    return "" if value is None else str(value)
