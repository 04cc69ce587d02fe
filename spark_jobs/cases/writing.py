"""The text of a file of cases, which `case_file` reads again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import yaml

from spark_jobs.cases.cells import Row, cell, write_table
from spark_jobs.pipeline.published_tables import LATE_EVENTS, PANES

#: The tables that a case without expected rows names: a replay for it returns them.
_DRAFTED = (PANES.name, LATE_EVENTS.name)


@dataclass(frozen=True)
class Written:
    """A case to write: rows of the source and of results, each with the names of their columns."""

    name: str
    day: date
    columns: Sequence[str]
    rows: Sequence[Row]
    expected: Mapping[str, tuple[Sequence[str], Sequence[Row]]]
    only: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    until: datetime | None = None


def text_of(pipeline: str, case: Written) -> str:
    """Return the text of a file with one case of the pipeline file `pipeline`."""
    lines = [f"pipeline: {_scalar(pipeline)}", "cases:", f"  {_scalar(case.name)}:", f"    day: {case.day.isoformat()}"]
    if case.settings:
        lines.append(f"    set: {_flow({**case.settings})}")
    if case.until is not None:
        lines.append(f"    until: {_scalar(cell(case.until, case.day))}")
    lines += ["    rows: |", *_table(case.columns, case.rows, case.day, 6)]
    if case.only:
        cells = {name: [cell(value, case.day) for value in values] for name, values in case.only.items()}
        lines.append(f"    only: {_flow({name: v[0] if len(v) == 1 else v for name, v in cells.items()})}")
    lines.append("    expect:" if case.expected else f"    expect: {{{', '.join(f'{name}: []' for name in _DRAFTED)}}}")
    for table, (names, rows) in case.expected.items():
        lines += [f"      {table}: |", *_table(names, rows, case.day, 8)]
    return "\n".join(lines) + "\n"


def _table(names: Sequence[str], rows: Sequence[Row], day: date, indent: int) -> list[str]:
    return [" " * indent + line for line in write_table(names, rows, day)]


def _scalar(text: str) -> str:
    return str(yaml.safe_dump(text, allow_unicode=True, width=10_000)).removesuffix("\n").removesuffix("\n...")


def _flow(values: Mapping[str, Any]) -> str:
    dumped = yaml.safe_dump(dict(values), default_flow_style=True, allow_unicode=True, sort_keys=False, width=10_000)
    return str(dumped).removesuffix("\n")
