"""Declared expectations: what a pipeline's `quality.expectations` asks of a staged table, in Great Expectations' words.

A type is a class of the library by its snake-case name, or `expect_rows_to_satisfy`. A wrong type, argument or column
is the author's mistake: it is told before anything is computed, with the nearest name that there is.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from great_expectations.compatibility import pydantic
from great_expectations.core.expectation_validation_result import ExpectationValidationResult
from great_expectations.exceptions.exceptions import GreatExpectationsError
from great_expectations.expectations import registry
from great_expectations.expectations.core.unexpected_rows_expectation import UnexpectedRowsExpectation
from great_expectations.expectations.expectation import Expectation
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations import redaction, validation
from expectations.check_result import Check
from expectations.errors import AuditError
from expectations.expect_rows import ExpectRowsToSatisfy
from expectations.validation import Validation
from spark_jobs.pipeline import model

# Arguments about the library's own storage and running, and `severity`: what a failure does is `on_failure`'s.
_LIBRARY_ONLY = (
    "batch_id",
    "catch_exceptions",
    "id",
    "meta",
    "rendered_content",
    "result_format",
    "severity",
    "windows",
)
_NOT_FOR_USERS = frozenset(_LIBRARY_ONLY)
# They are about what was measured and what was told, which no staged table holds.
_OURS = ("expect_invariant_to_hold", "expect_known_result")
_COLUMN_ARGUMENTS = ("column", "column_A", "column_B", "column_list")
_ASKS_FOR_A_COLUMN = "expect_column_to_exist"


@dataclass(frozen=True)
class Declared:
    """One declared expectation: its place in the file, as written, and as the library's object."""

    place: str
    written: model.Expectation
    asked: Expectation

    @property
    def name(self) -> str:
        """Its type, and what it is about."""
        return name(self.written)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names."""
        return _columns(self.written)


def name(written: model.Expectation) -> str:
    """What a declared expectation is called: its type, and what it is about."""
    return f"{written.type}({'.'.join((written.table, *_columns(written)))})"


def description(written: model.Expectation) -> str:
    """What the author says of it, or its arguments."""
    told = written.arguments.get("description")
    return str(told or ", ".join(f"{argument}={value!r}" for argument, value in written.arguments.items()))


def _columns(written: model.Expectation) -> tuple[str, ...]:
    named = (written.arguments.get(argument) or () for argument in _COLUMN_ARGUMENTS)
    return tuple(column for names in named for column in ((names,) if isinstance(names, str) else names))


def resolve(expectations: Sequence[model.Expectation], tables: Mapping[str, DataFrame]) -> list[Declared]:
    """The expectations as objects of the library. Raises AuditError with every problem of them."""
    declared, problems = [], []
    for i, written in enumerate(expectations):
        place = f"quality.expectations[{i}]"
        try:
            declared.append(Declared(place, written, _resolved(written, tables)))
        except AuditError as found:
            problems.append(f"{place}: {found}")
    if problems:
        raise AuditError("\n".join(problems))
    return declared


def checks(declared: Sequence[Declared], tables: Mapping[str, DataFrame], on: Validation) -> list[Check]:
    """Their answers, in their order. Raises AuditError for those that cannot be computed."""
    found: dict[str, Check] = {}
    for table in dict.fromkeys(d.written.table for d in declared):
        about = [d for d in declared if d.written.table == table]
        # A user's expectation may take several looks, and each has its own.
        rows = tables[table].persist()
        try:
            results = on.validate(rows, [d.asked for d in about], validation.SUMMARY)
            _refuse_uncomputed(zip(about, results, strict=True))
            found |= {d.place: _check(d, result, rows, on) for d, result in zip(about, results, strict=True)}
        finally:
            rows.unpersist()
    return [found[d.place] for d in declared]


def _refuse_uncomputed(results: Iterable[tuple[Declared, ExpectationValidationResult]]) -> None:
    problems = [
        f"{d.place}: {d.name} cannot be computed: {why}"
        for d, result in results
        if (why := validation.problem(result)) is not None
    ]
    if problems:
        raise AuditError("\n".join(problems))


def _resolved(written: model.Expectation, tables: Mapping[str, DataFrame]) -> Expectation:
    if written.table not in tables:
        raise AuditError(f"asked for the table '{written.table}', {_instead(written.table, tables)}")
    types = [t for t in registry.list_registered_expectation_implementations() if t.islower() and t not in _OURS]
    if written.type not in types:
        raise AuditError(f"Great Expectations has no type '{written.type}'{_nearest(written.type, types)}")
    kind = registry.get_expectation_impl(written.type)
    arguments = [name for name in kind.__fields__ if name not in _NOT_FOR_USERS]
    for name in written.arguments:
        if name not in arguments:
            raise AuditError(f"{written.type} takes no argument '{name}', {_instead(name, arguments)}")
    asked = _made(kind, written)
    for problem in _unknown_columns(asked, written, tables[written.table]):
        raise AuditError(problem)
    return asked


def _made(kind: type[Expectation], written: model.Expectation) -> Expectation:
    try:
        return kind(**written.arguments)
    except pydantic.ValidationError as found:
        raise AuditError(f"{written.type}: {_told(found, written)}") from found
    except (GreatExpectationsError, ValueError, TypeError) as found:
        raise AuditError(f"{written.type}: {redaction.first_line(str(found))}") from found


def _told(found: pydantic.ValidationError, written: model.Expectation) -> str:
    """A message an argument; one about all of them together only if there is no other."""
    # An argument of several possible types has a message for each type: the first says enough.
    messages = {str(e["loc"][0]): str(e["msg"]) for e in reversed(found.errors())}
    together = messages.pop("__root__", "")
    given = {name: f"found {value!r}, " for name, value in written.arguments.items()}
    return "; ".join(f"{name}: {given.get(name, '')}{said}" for name, said in messages.items()) or together


def _unknown_columns(asked: Expectation, written: model.Expectation, rows: DataFrame) -> Iterator[str]:
    if isinstance(asked, ExpectRowsToSatisfy):
        try:
            rows.select(F.expr(asked.condition))
        except AnalysisException as found:
            yield f"{written.type}: condition: {redaction.first_line(str(found))}"
    if written.type == _ASKS_FOR_A_COLUMN:
        return
    for name in Declared("", written, asked).columns:
        if name not in rows.columns:
            yield f"{written.type}: {written.table} has no column '{name}', {_instead(name, rows.columns)}"


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def _instead(name: str, known: Iterable[str]) -> str:
    return f"only {', '.join(known)}{_nearest(name, known)}"


def _check(d: Declared, result: ExpectationValidationResult, rows: DataFrame, on: Validation) -> Check:
    found, table = result.result, d.written.table
    shown = redaction.may_show(table, d.columns)
    details = ""
    if isinstance(d.asked, UnexpectedRowsExpectation | ExpectRowsToSatisfy):
        unexpected = int(found.get("unexpected_count", found["observed_value"]))
        observed = f"{unexpected:,} rows"
        details = "" if result.success else _rows(d, rows, on)
    elif found.get("element_count") is not None:
        unexpected = int(found["unexpected_count"] or 0)  # Spark sums no values to null.
        observed = f"{unexpected:,} of {found['element_count']:,} values"
        details = "" if result.success else redaction.examples(found.get("partial_unexpected_list", ()), shown=shown)
    else:
        unexpected = None
        one = found.get("observed_value")
        # Some expectations find no value: a column is there or is not.
        told = "as expected" if result.success else "not as expected"
        observed = told if one is None else redaction.value(one, shown=shown)
    return Check(
        "pipeline", d.name, description(d.written), bool(result.success), observed, unexpected, details, table=table
    )


def _rows(d: Declared, rows: DataFrame, on: Validation) -> str:
    """Some of the rows that break a condition or come out of a query."""
    query = d.asked
    if isinstance(query, ExpectRowsToSatisfy):
        query = UnexpectedRowsExpectation(unexpected_rows_query=violating_rows("*", query.condition))
    result = on.validate(rows, [query], validation.COMPLETE)[0]
    selected = result.result["details"]["unexpected_rows"][: validation.EXAMPLES]
    return "\n".join(redaction.row(found, d.written.table) for found in selected)


def violating_rows(columns: str, condition: str) -> str:
    """The query of some rows that do not satisfy `condition`, as `UnexpectedRowsExpectation` takes it."""
    literal = condition.replace("{", "{{").replace("}", "}}")
    broken = f"NOT coalesce({literal}, false)"
    # A condition is SQL of the pipeline's author, to be run as it is.
    return f"SELECT {columns} FROM {{batch}} WHERE {broken} LIMIT {validation.EXAMPLES}"  # noqa: S608
