"""Declared expectations: the entries of `quality.expectations`, evaluated by Great Expectations on a staged table.

A type is the snake-case name of a class of the library, or `expect_rows_to_satisfy`. A wrong type, argument or column
is a mistake of the author. It raises an error before anything is computed, with the nearest known name.
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

# Arguments for the library's storage and execution, and `severity`: `on_failure` decides what a failure does.
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
# Expectations about measures and known results. No staged table has these.
_INTERNAL_TYPES = ("expect_invariant_to_hold", "expect_known_result")
_COLUMN_ARGUMENTS = ("column", "column_A", "column_B", "column_list")
_COLUMN_MUST_EXIST = "expect_column_to_exist"


@dataclass(frozen=True)
class Declared:
    """One declared expectation: its place in the file, its entry, and the object of the library."""

    place: str
    entry: model.Expectation
    expectation: Expectation

    @property
    def name(self) -> str:
        """The name of the check (see `name`)."""
        return name(self.entry)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that its arguments name."""
        return _columns(self.entry)


def name(entry: model.Expectation) -> str:
    """Return the name of a declared expectation: its type, table and columns."""
    return f"{entry.type}({'.'.join((entry.table, *_columns(entry)))})"


def description(entry: model.Expectation) -> str:
    """Return the author's description of a declared expectation, or its arguments."""
    text = entry.arguments.get("description")
    return str(text or ", ".join(f"{argument}={value!r}" for argument, value in entry.arguments.items()))


def _columns(entry: model.Expectation) -> tuple[str, ...]:
    values = (entry.arguments.get(argument) or () for argument in _COLUMN_ARGUMENTS)
    return tuple(column for names in values for column in ((names,) if isinstance(names, str) else names))


def resolve(expectations: Sequence[model.Expectation], tables: Mapping[str, DataFrame]) -> list[Declared]:
    """Return the expectations about staged tables as objects of the library.

    Raises AuditError that lists all problems.
    """
    declared, problems = [], []
    for i, entry in enumerate(expectations):
        if entry.quarantines:
            continue
        place = f"quality.expectations[{i}]"
        try:
            declared.append(Declared(place, entry, _resolved(entry, tables)))
        except AuditError as problem:
            problems.append(f"{place}: {problem}")
    if problems:
        raise AuditError("\n".join(problems))
    return declared


def checks(declared: Sequence[Declared], tables: Mapping[str, DataFrame], validator: Validation) -> list[Check]:
    """Return the checks of declared expectations, in their order.

    Raises AuditError for expectations that cannot be computed.
    """
    by_place: dict[str, Check] = {}
    for table in dict.fromkeys(d.entry.table for d in declared):
        of_table = [d for d in declared if d.entry.table == table]
        # The library may read the table several times for each expectation.
        rows = tables[table].persist()
        try:
            results = validator.validate(rows, [d.expectation for d in of_table], validation.SUMMARY)
            _refuse_uncomputed(zip(of_table, results, strict=True))
            for d, result in zip(of_table, results, strict=True):
                by_place[d.place] = _check(d, result, rows, validator)
        finally:
            rows.unpersist()
    return [by_place[d.place] for d in declared]


def _refuse_uncomputed(results: Iterable[tuple[Declared, ExpectationValidationResult]]) -> None:
    problems = [
        f"{d.place}: {d.name} cannot be computed: {problem}"
        for d, result in results
        if (problem := validation.problem(result)) is not None
    ]
    if problems:
        raise AuditError("\n".join(problems))


def _resolved(entry: model.Expectation, tables: Mapping[str, DataFrame]) -> Expectation:
    if entry.table not in tables:
        raise AuditError(f"no staged table '{entry.table}', {_alternatives(entry.table, tables)}")
    types = [
        t for t in registry.list_registered_expectation_implementations() if t.islower() and t not in _INTERNAL_TYPES
    ]
    if entry.type not in types:
        raise AuditError(f"Great Expectations has no type '{entry.type}'{_nearest(entry.type, types)}")
    kind = registry.get_expectation_impl(entry.type)
    arguments = [name for name in kind.__fields__ if name not in _NOT_FOR_USERS]
    for name in entry.arguments:
        if name not in arguments:
            raise AuditError(f"{entry.type} takes no argument '{name}', {_alternatives(name, arguments)}")
    expectation = _instance(kind, entry)
    for problem in _unknown_columns(expectation, entry, tables[entry.table]):
        raise AuditError(problem)
    return expectation


def _instance(kind: type[Expectation], entry: model.Expectation) -> Expectation:
    try:
        return kind(**entry.arguments)
    except pydantic.ValidationError as problem:
        raise AuditError(f"{entry.type}: {_argument_problems(problem, entry)}") from problem
    except (GreatExpectationsError, ValueError, TypeError) as problem:
        raise AuditError(f"{entry.type}: {redaction.first_line(str(problem))}") from problem


def _argument_problems(problem: pydantic.ValidationError, entry: model.Expectation) -> str:
    """Return one message for each wrong argument, or else the message about all arguments together."""
    # An argument with several possible types has a message for each type. Keep the first.
    messages = {str(e["loc"][0]): str(e["msg"]) for e in reversed(problem.errors())}
    together = messages.pop("__root__", "")
    values = {name: f"found {value!r}, " for name, value in entry.arguments.items()}
    return "; ".join(f"{name}: {values.get(name, '')}{message}" for name, message in messages.items()) or together


def _unknown_columns(expectation: Expectation, entry: model.Expectation, rows: DataFrame) -> Iterator[str]:
    if isinstance(expectation, ExpectRowsToSatisfy):
        try:
            rows.select(F.expr(expectation.condition))
        except AnalysisException as problem:
            yield f"{entry.type}: condition: {redaction.first_line(str(problem))}"
    if entry.type == _COLUMN_MUST_EXIST:
        return
    for name in Declared("", entry, expectation).columns:
        if name not in rows.columns:
            yield f"{entry.type}: {entry.table} has no column '{name}', {_alternatives(name, rows.columns)}"


def _nearest(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(names), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def _alternatives(name: str, names: Iterable[str]) -> str:
    return f"only {', '.join(names)}{_nearest(name, names)}"


def _check(d: Declared, result: ExpectationValidationResult, rows: DataFrame, validator: Validation) -> Check:
    values, table = result.result, d.entry.table
    visible = redaction.may_show(table, d.columns)
    details = ""
    if isinstance(d.expectation, UnexpectedRowsExpectation | ExpectRowsToSatisfy):
        unexpected = int(values.get("unexpected_count", values["observed_value"]))
        observed = f"{unexpected:,} rows"
        details = "" if result.success else _unexpected_rows(d, rows, validator)
    elif values.get("element_count") is not None:
        unexpected = int(values["unexpected_count"] or 0)  # Spark's sum over no values is null.
        observed = f"{unexpected:,} of {values['element_count']:,} values"
        if not result.success:
            details = redaction.examples(values.get("partial_unexpected_list", ()), visible=visible)
    else:
        unexpected = None
        value = values.get("observed_value")
        # Some expectations observe no value, for example whether a column exists.
        outcome = "as expected" if result.success else "not as expected"
        observed = outcome if value is None else redaction.value(value, visible=visible)
    return Check(
        "pipeline", d.name, description(d.entry), bool(result.success), observed, unexpected, details, table=table
    )


def _unexpected_rows(d: Declared, rows: DataFrame, validator: Validation) -> str:
    """Return some rows that violate a condition, or that a query returns."""
    query = d.expectation
    if isinstance(query, ExpectRowsToSatisfy):
        query = UnexpectedRowsExpectation(unexpected_rows_query=violating_rows("*", query.condition))
    result = validator.validate(rows, [query], validation.COMPLETE)[0]
    selected = result.result["details"]["unexpected_rows"][: validation.EXAMPLES]
    return "\n".join(redaction.row(row, d.entry.table) for row in selected)


def violating_rows(columns: str, condition: str) -> str:
    """Return a query for some rows that do not satisfy `condition`, in the form of `UnexpectedRowsExpectation`."""
    literal = condition.replace("{", "{{").replace("}", "}}")
    is_violated = f"NOT coalesce({literal}, false)"
    # The condition is SQL of the pipeline's author and runs unchanged.
    return f"SELECT {columns} FROM {{batch}} WHERE {is_violated} LIMIT {validation.EXAMPLES}"  # noqa: S608
