"""A file of cases beside a pipeline file: rows, and the results that the pipeline must have.

    pipeline    the pipeline file; by default the file beside it, `clicks.yaml` for `clicks.test.yaml`
    cases       each case by its name:
        rows    the rows of the source, as a text table (`cells`) or a list of mappings; by source, if there are several
        expect  the expected rows of published tables, by table, and `counts`
        set     settings that the case replaces, such as `windows.allowed_lateness: 1 hour`
        until   how far the clock of arrival goes on behind the last row
        day     the day of times such as 10:12

        drawing, unit   a drawing (`drawing`) in place of `rows` and `expect`: its rows have times in `s` or `ms`, and a
                        key, and the pipeline file has the windows, the watermark and the replay

Of a table, the expected columns are compared, in any order of rows. A file may also be a drawing as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

import yaml

from spark_jobs.cases.cells import Row, TableError, in_utc, read_cell, read_table
from spark_jobs.cases.drawing import Drawing, DrawingError, of_text
from spark_jobs.cases.drawing import read as read_drawing
from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.loading import CASES
from spark_jobs.pipeline.published_tables import COMPLETE_TABLE, RESULT_TABLES

#: The tables that a case can expect, and the counts.
TABLES = (*RESULT_TABLES, COMPLETE_TABLE, "unassigned_events")
COUNTS = "counts"
_SOURCE = "source"
_KEYS = ("rows", "expect", "only", "set", "until", "day")
_DRAWN_KEYS = ("drawing", "unit", "set", "until")
# The parts of a pipeline file that a drawing takes, without the columns that only the real source has.
_DRAWN_PARTS = {
    "watermark": (),
    "windows": ("key", "aggregates"),
    "replay": (),
    "join": ("key", "names", "second_when"),
}


class _Loader(yaml.SafeLoader):
    """A loader of YAML 1.2's numbers: 10:45 is no number of base 60."""


_INTEGER, _FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in forms if tag not in (_INTEGER, _FLOAT)]
    for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_INTEGER, re.compile(r"[-+]?[0-9]+$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    _FLOAT, re.compile(r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?$"), list("-+.0123456789")
)


class CaseError(ValueError):
    """A file of cases that cannot be read."""

    code = ErrorCode.FILE_UNREADABLE


@dataclass(frozen=True)
class ExpectedTable:
    """The expected rows of a published table, of which the named columns are compared."""

    names: Sequence[str]
    rows: Sequence[Row]


@dataclass(frozen=True)
class Case:
    """A case with tables. `only` has the values, by column, of the rows of results that are compared."""

    name: str
    rows: Sequence[Row]
    tables: Mapping[str, ExpectedTable]
    counts: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    until: datetime | None = None
    day: date | None = None
    only: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class CaseFile:
    """The cases of a file, and the pipeline file that they are about; a file with a drawing has none."""

    path: Path
    pipeline: Path | None
    cases: Sequence[Case | Drawing]


def load(path: Path) -> CaseFile:
    """Read a file of cases, or a drawing. Raises CaseError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as problem:
        raise CaseError(f"{path}: {problem}") from problem
    return parse(text, path)


def parse(text: str, path: Path) -> CaseFile:
    """Read the text of a file of cases; `path` is where the file lies, or will lie. Raises CaseError."""
    try:
        content = yaml.load(text, _Loader)  # noqa: S506  a loader of plain values
    except yaml.YAMLError as problem:
        raise CaseError(f"{path}: {problem}") from problem
    if isinstance(content, dict) and "drawing" in content:
        try:
            return CaseFile(path, None, [read_drawing(text, path.stem)])
        except DrawingError as problem:
            raise CaseError(f"{path}: {problem}") from problem
    try:
        return _file(path, content)
    except (TableError, CaseError) as problem:
        raise CaseError(f"{path}: {problem}") from problem


def _file(path: Path, content: Any) -> CaseFile:
    values = _mapping(content, "the file", ("pipeline", "cases"))
    cases = values.get("cases")
    if not isinstance(cases, dict) or not cases:
        raise CaseError("cases: expected a mapping with each case by its name")
    named = values.get("pipeline")
    if named is None and not path.name.endswith(CASES):
        raise CaseError(f"pipeline: missing; a file that does not end with {CASES} names its pipeline file")
    pipeline = path.parent / (str(named) if named is not None else f"{path.name.removesuffix(CASES)}.yaml")
    return CaseFile(path, pipeline, [_any(str(name), value, pipeline) for name, value in cases.items()])


def _any(name: str, content: Any, pipeline: Path) -> Case | Drawing:
    if isinstance(content, dict) and "drawing" in content:
        values = _mapping(content, f"case '{name}'", _DRAWN_KEYS)
        until = values.get("until")
        try:
            return of_text(
                name,
                str(values["drawing"]),
                str(values.get("unit", "s")),
                _drawn_part(pipeline),
                _settings(values.get("set", {})),
                None if until is None else str(until),
            )
        except DrawingError as problem:
            raise CaseError(f"case '{name}': drawing: {problem}") from problem
    return _case(name, content)


def _drawn_part(pipeline: Path) -> dict[str, Any]:
    """Return the part of a pipeline file that a drawing needs."""
    try:
        content = _mapping(yaml.load(pipeline.read_text(encoding="utf-8"), _Loader), str(pipeline))  # noqa: S506
    except (OSError, UnicodeError, yaml.YAMLError) as problem:
        raise CaseError(f"{pipeline}: {problem}") from problem
    return {
        part: {name: value for name, value in content[part].items() if name not in left_out}
        for part, left_out in _DRAWN_PARTS.items()
        if isinstance(content.get(part), dict)
    }


def _case(name: str, content: Any) -> Case:
    try:
        values = _mapping(content, "the case", _KEYS)
        day = values.get("day")
        if day is not None and (not isinstance(day, date) or isinstance(day, datetime)):
            raise CaseError(f"day: found {day!r}, expected a day such as 2024-05-01")
        expected = _mapping(values.get("expect"), "expect", (*TABLES, COUNTS))
        return Case(
            name,
            list(_rows(values.get("rows"), day)),
            {table: _expected(table, expected[table], day) for table in TABLES if table in expected},
            _counts(expected.get(COUNTS, {})),
            _settings(values.get("set", {})),
            _until(values.get("until"), day),
            day,
            _only(values.get("only", {}), day),
        )
    except (TableError, CaseError) as problem:
        raise CaseError(f"case '{name}': {problem}") from problem


def _rows(content: Any, day: date | None) -> Iterator[Row]:
    if isinstance(content, dict):
        for name, table in content.items():
            yield from ({**row, _SOURCE: str(name)} for row in _table(f"rows.{name}", table, day)[1])
    else:
        yield from _table("rows", content, day)[1]


def _expected(table: str, content: Any, day: date | None) -> ExpectedTable:
    return ExpectedTable(*_table(f"expect.{table}", content, day))


def _table(key: str, content: Any, day: date | None) -> tuple[list[str], list[Row]]:
    try:
        if isinstance(content, str):
            return read_table(content, day)
    except TableError as problem:
        raise TableError(f"{key}: {problem}") from problem
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise CaseError(f"{key}: found {content!r}, expected a table as text, or a list of rows")
    rows = [{str(name): _value(value, day) for name, value in row.items()} for row in content]
    return list(dict.fromkeys(name for row in rows for name in row)), rows


def _value(value: Any, day: date | None) -> Any:
    if isinstance(value, str):
        return read_cell(value, day)
    return in_utc(value) if isinstance(value, datetime) else value


def _until(value: Any, day: date | None) -> datetime | None:
    moment = None if value is None else _value(value, day)
    if moment is not None and not isinstance(moment, datetime):
        raise CaseError(f"until: found {value!r}, expected a time such as 2024-05-01 12:00")
    return moment


def _only(content: Any, day: date | None) -> dict[str, list[Any]]:
    values = {
        str(name): value if isinstance(value, list) else [value] for name, value in _mapping(content, "only").items()
    }
    return {name: [_value(value, day) for value in several] for name, several in values.items()}


def _counts(content: Any) -> dict[str, int]:
    counts = _mapping(content, COUNTS)
    wrong = [f"{name}: {value!r}" for name, value in counts.items() if not isinstance(value, int)]
    if wrong:
        raise CaseError(f"expect.{COUNTS}: found {', '.join(wrong)}, expected whole numbers")
    return counts


def _settings(content: Any) -> dict[str, str]:
    return {str(key): _setting(value) for key, value in _mapping(content, "set").items()}


def _setting(value: Any) -> str:
    return (
        value if isinstance(value, str) else str(yaml.safe_dump(value, default_flow_style=True)).removesuffix("...\n")
    )


def _mapping(content: Any, key: str, names: Sequence[str] = ()) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise CaseError(f"{key}: found {content!r}, expected a mapping")
    if names and (unknown := [str(name) for name in content if name not in names]):
        raise CaseError(f"{key}: found {', '.join(unknown)}, expected {', '.join(names)}")
    return content
