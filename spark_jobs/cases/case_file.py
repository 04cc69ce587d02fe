"""A file of cases beside a pipeline file: rows, and the results that the pipeline must have.

    pipeline    the pipeline file; by default the file beside it, `clicks.yaml` for `clicks.test.yaml`
    cases       each case by its name:
        rows    the rows of the source, as a text table (`cells`) or a list of mappings (`listed_rows`); with several
                sources, a table for each of them by its name
        expect  the expected rows of published tables, by table, and `counts`
        only    values by column: only rows of results that have them are compared
        set     settings that the case replaces, such as `windows.allowed_lateness: 1 hour`
        until   how far the clock of arrival goes on behind the last row
        day     the day of times such as 10:12

        drawing, unit   a drawing (`drawing`) in place of `rows` and `expect`: its rows have times in `s` or `ms`, and a
                        key, and the pipeline file has the windows, the watermark and the replay (`drawn_part`)

Of a table, the expected columns are compared, in any order of rows. A file may also be a drawing as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeVar

import yaml

from spark_jobs.cases.cells import Row, TableError, read_table
from spark_jobs.cases.drawing import Drawing, DrawingError, of_text
from spark_jobs.cases.drawing import read as read_drawing
from spark_jobs.cases.drawn_part import drawn_part
from spark_jobs.cases.listed_rows import day_of, of_one_table, readings_of, value_of
from spark_jobs.cases.yaml_text import YamlTextError, read_document, values_of
from spark_jobs.error_codes import ErrorCode
from spark_jobs.pipeline.document import Block, Items, Node, Scalar, describe
from spark_jobs.pipeline.loading import CASES, ENDS_OF_CASES
from spark_jobs.pipeline.published_tables import COMPLETE_TABLE, PAIRS, RESULT_TABLES

T = TypeVar("T")
#: The table of rows that lie between two windows, which is in no lake.
UNASSIGNED = "unassigned_events"
#: The tables that a case can expect, and the counts.
TABLES = (*RESULT_TABLES, COMPLETE_TABLE, PAIRS.name, UNASSIGNED)
COUNTS = "counts"
SOURCE = "source"
_KEYS = ("rows", "expect", "only", "set", "until", "day")
_DRAWN_KEYS = ("drawing", "unit", "set", "until")


class CaseError(ValueError):
    """A file of cases that cannot be read, or a case of it that cannot be replayed."""

    def __init__(self, message: str, *, code: ErrorCode = ErrorCode.FILE_UNREADABLE) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class ExpectedTable:
    """The expected rows of a published table, of which the named columns are compared."""

    names: Sequence[str]
    rows: Sequence[Row]


@dataclass(frozen=True)
class Case:
    """A case with tables. `only` has the values, by column, of the rows of results that are compared.

    `sources` are the names of the sources if the rows are written by source; each row has its source in a column.
    """

    name: str
    rows: Sequence[Row]
    tables: Mapping[str, ExpectedTable]
    counts: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    until: datetime | None = None
    day: date | None = None
    only: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    sources: Sequence[str] = ()


@dataclass(frozen=True)
class CaseFile:
    """The cases of a file, and the pipeline file that they are about; a file with a drawing has none.

    `broken` are the errors of cases that cannot be read, by the name of the case.
    """

    path: Path
    pipeline: Path | None
    cases: Sequence[Case | Drawing]
    broken: Mapping[str, CaseError] = field(default_factory=dict)


def load(path: Path) -> CaseFile:
    """Read a file of cases, or a drawing. Raises CaseError for a broken case too."""
    return parse(_text_of(path), path)


def load_readable(path: Path) -> CaseFile:
    """Read a file of cases, or a drawing; `broken` has the cases that cannot be read. Raises CaseError."""
    return _parsed(_text_of(path), path)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as problem:
        raise CaseError(f"{path}: {problem}") from problem


def parse(text: str, path: Path) -> CaseFile:
    """Read the text of a file of cases; `path` is where the file lies, or will lie. Raises CaseError."""
    file = _parsed(text, path)
    for problem in file.broken.values():
        raise problem
    return file


def _parsed(text: str, path: Path) -> CaseFile:
    try:
        content = read_document(text)
        if isinstance(content, Block) and "drawing" in content.entries:
            return CaseFile(path, None, [read_drawing(text, path.stem)])
        return _file(path, content)
    except (TableError, CaseError, DrawingError, YamlTextError) as problem:
        raise CaseError(f"{path}: {problem}") from problem


def _file(path: Path, content: Node) -> CaseFile:
    values = _mapping(content, "the file", ("pipeline", "cases"))
    cases = values.get("cases")
    if not isinstance(cases, Block) or not cases.entries:
        raise CaseError("cases: expected a mapping with each case by its name")
    pipeline = path.parent / _pipeline_name(path, values.get("pipeline"))
    read: list[Case | Drawing] = []
    broken: dict[str, CaseError] = {}
    for name, entry in cases.entries.items():
        try:
            read.append(_any(name, entry.node, pipeline))
        except (TableError, CaseError, DrawingError, YamlTextError) as problem:
            broken[name] = CaseError(f"{path}: case '{name}': {problem}")
    return CaseFile(path, pipeline, read, broken)


def _pipeline_name(path: Path, declared: Node | None) -> str:
    if isinstance(declared, Scalar) and declared.value is not None:
        return declared.text
    end = next((end for end in ENDS_OF_CASES if path.name.endswith(end)), None)
    if declared is not None or end is None:
        raise CaseError(f"pipeline: missing; a file that does not end with {CASES} names its pipeline file")
    names = [path.name.removesuffix(end) + suffix for suffix in (".yaml", ".yml")]
    return next((name for name in names if (path.parent / name).exists()), names[0])


def _any(name: str, content: Node, pipeline: Path) -> Case | Drawing:
    if not isinstance(content, Block) or "drawing" not in content.entries:
        return _case(name, content)
    values = _mapping(content, "the case", _DRAWN_KEYS)
    settings, until = _settings(values.get("set")), values.get("until")
    try:
        part, sides = drawn_part(pipeline, settings)
        return of_text(
            name,
            _text(values["drawing"], "drawing"),
            _text(values.get("unit"), "unit", "s"),
            part,
            settings,
            None if until is None else _text(until, "until"),
            sides,
        )
    except DrawingError as problem:
        raise CaseError(f"drawing: {problem}") from problem


def _case(name: str, content: Node) -> Case:
    values = _mapping(content, "the case", _KEYS)
    day = _day(values.get("day"))
    if values.get("expect") is None:
        raise CaseError(f"expect: missing, expected a mapping of {', '.join(TABLES)} or {COUNTS}")
    expected = _mapping(values["expect"], "expect", (*TABLES, COUNTS))
    rows, sources = _rows(values.get("rows"), day)
    case = Case(
        name,
        rows,
        {table: _expected(table, expected[table], day) for table in TABLES if table in expected},
        _counts(expected.get(COUNTS)),
        _settings(values.get("set")),
        _until(values.get("until"), day),
        day,
        _only(values.get("only"), day),
        sources,
    )
    if not case.tables and not case.counts:
        raise CaseError(f"expect: found nothing to compare, expected one of {', '.join(TABLES)} or {COUNTS}")
    return case


def _day(node: Node | None) -> date | None:
    if node is None:
        return None
    if not isinstance(node, Scalar) or len(node.text) != len("2024-05-01") or not node.text[:4].isdecimal():
        raise CaseError(f"day: found {_words_of(node)}, expected a day such as 2024-05-01")
    return _named("day", day_of, node.text)


def _rows(node: Node | None, day: date | None) -> tuple[list[Row], Sequence[str]]:
    if not isinstance(node, Block):
        return _named("rows", of_one_table, _table("rows", node, day, exact=False)[1]), ()
    tables = {name: _table(f"rows.{name}", entry.node, day, exact=False)[1] for name, entry in node.entries.items()}
    rows = [
        {**row, SOURCE: name} for name, table in tables.items() for row in _named(f"rows.{name}", of_one_table, table)
    ]
    return rows, list(tables)


def _expected(table: str, node: Node, day: date | None) -> ExpectedTable:
    names, rows = _table(f"expect.{table}", node, day, exact=True)
    if rows and not names:
        raise CaseError(f"expect.{table}: found a row without columns, expected columns to compare, or [] for no rows")
    return ExpectedTable(names, rows)


def _table(key: str, node: Node | None, day: date | None, *, exact: bool) -> tuple[list[str], list[Row]]:
    try:
        if isinstance(node, Scalar) and isinstance(node.value, str):
            return read_table(node.value, day, exact=exact)
        if not isinstance(node, Items) or not all(isinstance(row, Block) for row in node.nodes):
            raise CaseError(f"{key}: found {_words_of(node)}, expected a table as text, or a list of rows")
        rows = [value_of(row, day, exact=exact) for row in node.nodes]
    except TableError as problem:
        raise TableError(f"{key}: {problem}") from problem
    return list(dict.fromkeys(name for row in rows for name in row)), rows


def _until(node: Node | None, day: date | None) -> datetime | None:
    if node is None:
        return None
    moment = _named("until", value_of, node, day)
    if not isinstance(moment, datetime):
        raise CaseError(f"until: found {_words_of(node)}, expected a time such as 2024-05-01 12:00")
    return moment


def _only(node: Node | None, day: date | None) -> dict[str, list[Any]]:
    values = {} if node is None else _mapping(node, "only")
    return {name: _named(f"only.{name}", readings_of, value, day) for name, value in values.items()}


def _counts(node: Node | None) -> dict[str, int]:
    values = {} if node is None else _mapping(node, f"expect.{COUNTS}")
    counts = {name: value.value if isinstance(value, Scalar) else None for name, value in values.items()}
    whole = {name: count for name, count in counts.items() if isinstance(count, int) and not isinstance(count, bool)}
    if wrong := [f"{name}: {_words_of(values[name])}" for name in counts if name not in whole]:
        raise CaseError(f"expect.{COUNTS}: found {', '.join(wrong)}, expected whole numbers")
    return whole


def _settings(node: Node | None) -> dict[str, str]:
    values = {} if node is None else _mapping(node, "set")
    return {name: _setting(values_of(value, f"set: {name}")) for name, value in values.items()}


def _setting(value: Any) -> str:
    dumped = value if isinstance(value, str) else str(yaml.safe_dump(value, default_flow_style=True))
    return dumped.removesuffix("...\n")


def _text(node: Node | None, key: str, left_out: str = "") -> str:
    if node is None:
        return left_out
    if not isinstance(node, Scalar) or node.value is None:
        raise DrawingError(f"{key}: found {describe(node)}, expected a text")
    return node.text


def _named(key: str, read: Callable[..., T], *arguments: Any) -> T:
    """Return what `read` returns; a TableError names the key."""
    try:
        return read(*arguments)
    except TableError as problem:
        raise TableError(f"{key}: {problem}") from problem


def _mapping(node: Node, key: str, names: Sequence[str] = ()) -> dict[str, Node]:
    if not isinstance(node, Block):
        raise CaseError(f"{key}: found {_words_of(node)}, expected a mapping")
    if names and (unknown := [name for name in node.entries if name not in names]):
        raise CaseError(f"{key}: found {', '.join(unknown)}, expected {', '.join(names)}")
    return {name: entry.node for name, entry in node.entries.items()}


def _words_of(node: Node | None) -> str:
    """Return a part of the file in the words of an error message."""
    if node is None:
        return "nothing"
    return repr(node.value) if isinstance(node, Scalar) else describe(node)
